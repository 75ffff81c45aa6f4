(* OCaml 4.13 and 4.14. *)
let plain (id, _, e) = (id, e)
let bound bindings = List.map plain (Typedtree.let_bound_idents_full bindings)
let of_pattern pattern = List.map plain (Typedtree.pat_bound_idents_full pattern)
let applied_to_unit _ = None

let rec parameters (e : Typedtree.expression) =
  match e.exp_desc with
  | Texp_function { cases = [ { c_lhs; c_guard = None; c_rhs } ]; _ } ->
    let name =
      match c_lhs.pat_desc with Tpat_var (id, _) -> Some id | _ -> None
    in
    let rest, body = parameters c_rhs in
    (name :: rest, body)
  | _ -> ([], e)

let is_body (f : Typedtree.expression) body =
  match f.exp_desc with
  | Texp_function { cases = [ { c_guard = None; c_rhs; _ } ]; _ } -> c_rhs == body
  | _ -> false
