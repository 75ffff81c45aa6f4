(* What of an implementation's typed tree matters here: its definitions, without the bodies of
   functions, so that the rest of a .cmt (most of it) is garbage as soon as it was read. *)

open Typedtree

type item =
  | Values of (Ident.t * Types.type_expr) list
  | Types of (Ident.t * Types.type_declaration) list
  | Constructors of (Ident.t * Types.extension_constructor) list
  | Modules of binding list
  | Module_type of Ident.t * Types.module_type option
  | Bring of expr * Types.signature (* include, open: what they bring in, under new identifiers *)

and binding = { id : Ident.t; expr : expr }

(* `mty`: what the compiler says of it, for when it cannot be evaluated. *)
and expr = { desc : desc; mty : Types.module_type }

and desc =
  | Path of Path.t
  | Structure of item list * Types.signature
  | Functor of (Ident.t option * Types.module_type option) * expr
  | Apply of expr * expr
  | Apply_unit of expr
  | Constraint of expr
  | Unpack

(* The type of a class's objects is declared in the signature only. *)
let object_types signature ids =
  let is_one id = List.exists (Ident.same id) ids in
  let declared : Types.signature_item -> _ = function
    | Sig_type (id, decl, _, _) when is_one id -> Some (id, decl)
    | _ -> None
  in
  Types (List.filter_map declared signature)

let rec items (s : structure) = List.filter_map (item s.str_type) s.str_items

and item signature it =
  match it.str_desc with
  | Tstr_value (_, bindings) -> Some (Values (Tree_view.bound bindings))
  | Tstr_primitive v -> Some (Values [ (v.val_id, v.val_val.val_type) ])
  | Tstr_type (_, l) -> Some (Types (List.map (fun d -> (d.typ_id, d.typ_type)) l))
  | Tstr_typext t ->
    Some (Constructors (List.map (fun e -> (e.ext_id, e.ext_type)) t.tyext_constructors))
  | Tstr_exception { tyexn_constructor = e; _ } -> Some (Constructors [ (e.ext_id, e.ext_type) ])
  | Tstr_module b -> Some (Modules (Option.to_list (binding b)))
  | Tstr_recmodule l -> Some (Modules (List.filter_map binding l))
  | Tstr_modtype m ->
    Some (Module_type (m.mtd_id, Option.map (fun t -> t.mty_type) m.mtd_type))
  | Tstr_open { open_bound_items = []; _ } -> None
  | Tstr_open o -> Some (Bring (expr o.open_expr, o.open_bound_items))
  | Tstr_include i -> Some (Bring (expr i.incl_mod, i.incl_type))
  | Tstr_class l -> Some (object_types signature (List.map (fun (c, _) -> c.ci_id_object) l))
  | Tstr_class_type l ->
    Some (object_types signature (List.map (fun (_, _, c) -> c.ci_id_object) l))
  | _ -> None

and binding b = Option.map (fun id -> { id; expr = expr b.mb_expr }) b.mb_id

and expr e =
  let desc =
    match e.mod_desc with
    | Tmod_ident (path, _) -> Path path
    | Tmod_structure s -> Structure (items s, s.str_type)
    | Tmod_functor (Named (id, _, mty), body) -> Functor ((id, Some mty.mty_type), expr body)
    | Tmod_functor (Unit, body) -> Functor ((None, None), expr body)
    | Tmod_apply (f, a, _) -> Apply (expr f, expr a)
    | Tmod_constraint (inner, _, _, _) -> Constraint (expr inner)
    | Tmod_unpack _ -> Unpack
    | _ -> (
      match Tree_view.applied_to_unit e with
      | Some f -> Apply_unit (expr f)
      | None -> Unpack)
  in
  { desc; mty = e.mod_type }
