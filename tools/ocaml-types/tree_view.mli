(* What differs between the typed trees of the compilers. *)

val bound : Typedtree.value_binding list -> (Ident.t * Types.type_expr) list
val of_pattern : 'k Typedtree.general_pattern -> (Ident.t * Types.type_expr) list

(* The functor of `F ()`; before 5.1 that is an application to an empty structure. *)
val applied_to_unit : Typedtree.module_expr -> Typedtree.module_expr option

(* A function's parameters (those that a pattern takes apart have no name), and its body. *)
val parameters : Typedtree.expression -> Ident.t option list * Typedtree.expression

(* Likewise, and which of them are optional with a default. *)
val with_defaults : Typedtree.expression -> (Ident.t option * bool) list

(* Is the second the body of the first, so that both are one function to the compiler? *)
val is_body : Typedtree.expression -> Typedtree.expression -> bool
