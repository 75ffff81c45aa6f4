(* OCaml 5.2 to 5.4. *)
let plain (id, _, e, _) = (id, e)
let bound bindings = List.map plain (Typedtree.let_bound_idents_full bindings)
let of_pattern pattern = List.map plain (Typedtree.pat_bound_idents_full pattern)

let applied_to_unit (e : Typedtree.module_expr) =
  match e.mod_desc with Tmod_apply_unit f -> Some f | _ -> None

let rec parameters (e : Typedtree.expression) =
  match e.exp_desc with
  | Texp_function (l, Tfunction_body body) ->
    let name (p : Typedtree.function_param) =
      match p.fp_kind with
      | Tparam_pat { pat_desc = Tpat_var (id, _, _); _ } -> Some id
      | _ -> None
    in
    let rest, body = parameters body in
    (List.map name l @ rest, body)
  | _ -> ([], e)

let with_defaults (e : Typedtree.expression) =
  let name (p : Typedtree.pattern) =
    match p.pat_desc with Tpat_var (id, _, _) -> Some id | _ -> None
  in
  let one (p : Typedtree.function_param) =
    match p.fp_kind with
    | Tparam_pat p -> (name p, false)
    | Tparam_optional_default (p, _) -> (name p, true)
  in
  match e.exp_desc with Texp_function (l, _) -> List.map one l | _ -> []

let is_body _ _ = false (* `fun x -> (fun y -> ...)` is two functions since 5.2 *)
