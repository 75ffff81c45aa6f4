(* What a type expression says, in the same words for every version of the compiler. *)

type t =
  | Variable (* told apart by `id` *)
  | Arrow of Types.type_expr * Types.type_expr
  | Tuple of (string * Types.type_expr) list (* with labels (5.4), else "" *)
  | Constr of Path.t * Types.type_expr list
  | Object of (string * Types.type_expr) list
  | Variant of { cases : (string * Types.type_expr option) list; is_closed : bool }
  | Poly of Types.type_expr
  | Package of Path.t * (string list * Types.type_expr) list
  | Other

val view : Types.type_expr -> t

(* Two expressions with one id are one. *)
val id : Types.type_expr -> int
