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

(* `?(x = e)` is a parameter *opt*, which a `let` takes apart. *)
let one_parameter (pattern : Typedtree.pattern) (rhs : Typedtree.expression) =
  let name (p : Typedtree.pattern) =
    match p.pat_desc with Tpat_var (id, _) -> Some id | _ -> None
  in
  match (name pattern, rhs.exp_desc) with
  | Some opt, Texp_let (Nonrecursive, [ { vb_pat; _ } ], body) when Ident.name opt = "*opt*" ->
    ((name vb_pat, true), body)
  | id, _ -> ((id, false), rhs)

let rec with_defaults (e : Typedtree.expression) =
  match e.exp_desc with
  | Texp_function { cases = [ { c_lhs; c_guard = None; c_rhs } ]; _ } ->
    let parameter, rest = one_parameter c_lhs c_rhs in
    parameter :: with_defaults rest
  | _ -> []

let rec is_body (f : Typedtree.expression) body =
  match f.exp_desc with
  | Texp_function { cases = [ { c_lhs; c_guard = None; c_rhs } ]; _ } ->
    let _, rest = one_parameter c_lhs c_rhs in
    rest == body || is_body rest body
  | _ -> false
