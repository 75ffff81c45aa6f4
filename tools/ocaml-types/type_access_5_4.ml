(* OCaml 5.4: tuples have labels, and packages are records. *)
open Types

let argument = function Reither (false, e :: _, _) -> Some e | _ -> None
let tuple l = List.map (fun (n, e) -> (Option.value n ~default:"", e)) l
let package = function Tpackage p -> Some (p.pack_path, p.pack_cstrs) | _ -> None
