(* One view of type expressions; how the compilers differ stands in type_access. *)
open Types
open Type_access

type t =
  | Variable
  | Arrow of type_expr * type_expr
  | Tuple of (string * type_expr) list
  | Constr of Path.t * type_expr list
  | Object of (string * type_expr) list
  | Variant of { cases : (string * type_expr option) list; is_closed : bool }
  | Poly of type_expr
  | Package of Path.t * (string list * type_expr) list
  | Other

let id = get_id

let rec methods fields found =
  match get_desc fields with
  | Tfield (name, kind, e, rest) ->
    let is_there = field_kind_repr kind <> Fabsent in
    methods rest (if is_there then (name, e) :: found else found)
  | _ -> List.rev found

let case (name, field) =
  match row_field_repr field with
  | Rpresent e -> Some (name, e)
  | Rabsent -> None
  | either -> Some (name, argument either)

let view e =
  match get_desc e with
  | Tvar _ | Tunivar _ -> Variable
  | Tarrow (_, a, b, _) -> Arrow (a, b)
  | Ttuple l -> Tuple (tuple l)
  | Tconstr (path, l, _) -> Constr (path, l)
  | Tobject (fields, _) -> Object (methods fields [])
  | Tvariant row ->
    Variant { cases = List.filter_map case (row_fields row); is_closed = row_closed row }
  | Tpoly (e, _) -> Poly e
  | other -> ( match package other with Some (path, l) -> Package (path, l) | None -> Other)
