(* OCaml 4.13: type expressions are records. *)
open Types

let get_id e = (Btype.repr e).id
let get_desc e = (Btype.repr e).desc
let field_kind_repr = Btype.field_kind_repr
let row_field_repr = Btype.row_field_repr
let row_fields row = (Btype.row_repr row).row_fields
let row_closed row = (Btype.row_repr row).row_closed
let argument = function Reither (false, e :: _, _, _) -> Some e | _ -> None
let tuple l = List.map (fun e -> ("", e)) l
let package = function
  | Tpackage (path, l) -> Some (path, List.map (fun (n, e) -> (Longident.flatten n, e)) l)
  | _ -> None
