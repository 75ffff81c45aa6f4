(* OCaml 4.14 to 5.3: type expressions are abstract. *)
open Types

let argument = function Reither (false, e :: _, _) -> Some e | _ -> None
let tuple l = List.map (fun e -> ("", e)) l
let package = function
  | Tpackage (path, l) -> Some (path, List.map (fun (n, e) -> (Longident.flatten n, e)) l)
  | _ -> None
