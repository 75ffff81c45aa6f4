(* Which variable lives in which field of a compilation unit's block, for the closure compiler.

   The rule is that of build_ident_map in lambda/translmod.ml (4.13, 4.14, 5.1 to 5.4):
     1. what the interface exports and has a value at run time, in the interface's order;
     2. the other identifiers that the implementation defines at its top level, in source order;
     3. the identifiers of nested structures, outer before inner, in source order.
   1 needs the .cmi only, 2 and 3 the .cmt. OCaml 5 counts `include struct ... end` as a nested
   structure, OCaml 4 only with a constraint. *)

open Typedtree

(* Names are unique per kind: an exception and a module may share one. *)
type kind = Value | Extension | Module | Class

(* `id`: of the implementation where that defines it, so that a definition that hides another of the
   same name is told from it. *)
type slot = { path : string; loc : Location.t; kind : kind; id : Ident.t; is_exported : bool }

type definition = { kind : kind; id : Ident.t; prefix : string; at : Location.t }

let exported_items signature =
  let item : Types.signature_item -> _ = function
    | Sig_value (id, { val_kind = Val_reg; val_loc; _ }, _) -> Some (Value, id, val_loc)
    | Sig_typext (id, ext, _, _) -> Some (Extension, id, ext.Types.ext_loc)
    | Sig_module (id, Mp_present, md, _, _) -> Some (Module, id, md.Types.md_loc)
    | Sig_class (id, c, _, _) -> Some (Class, id, c.Types.cty_loc)
    | _ -> None
  in
  List.filter_map item signature

(* Items that come by include or open stand where the include stands. *)
let bound prefix at signature =
  List.map (fun (kind, id, _) -> { kind; id; prefix; at }) (exported_items signature)

let plain_structure_of expr = match expr.mod_desc with Tmod_structure s -> Some s | _ -> None

let constrained_structure_of expr =
  match expr.mod_desc with
  | Tmod_constraint (inner, _, _, _) -> plain_structure_of inner
  | _ -> None

let structure_of expr =
  match plain_structure_of expr with Some s -> Some s | None -> constrained_structure_of expr

(* What one item defines by itself (defined_idents). *)
let defined prefix item =
  let one kind at id = { kind; id; prefix; at } in
  match item.str_desc with
  | Tstr_value (_, bindings) ->
    List.concat_map
      (fun vb -> List.map (one Value vb.vb_pat.pat_loc) (let_bound_idents [ vb ]))
      bindings
  | Tstr_typext t -> List.map (fun e -> one Extension e.ext_loc e.ext_id) t.tyext_constructors
  | Tstr_exception e -> [ one Extension e.tyexn_loc e.tyexn_constructor.ext_id ]
  | Tstr_module { mb_id = Some id; mb_presence = Mp_present; mb_loc; _ } ->
    [ one Module mb_loc id ]
  | Tstr_recmodule l ->
    List.filter_map (fun mb -> Option.map (one Module mb.mb_loc) mb.mb_id) l
  | Tstr_open o -> bound prefix o.open_loc o.open_bound_items
  | Tstr_class l -> List.map (fun (c, _) -> one Class c.ci_loc c.ci_id_class) l
  | Tstr_include i -> bound prefix i.incl_loc i.incl_type
  | _ -> []

let counts_plain_includes = Sys.ocaml_version >= "5"

let included_structure_of expr =
  if counts_plain_includes then structure_of expr else constrained_structure_of expr

let inner_prefix prefix = function
  | Some id -> prefix ^ Ident.name id ^ "."
  | None -> prefix ^ "_."

(* The structure nested in an item, and the prefix of its names. At the top level a module without a
   name counts, too (more_idents against all_idents). *)
let nested ~top prefix item =
  let within prefix structure = Option.map (fun s -> (prefix, s.str_items)) structure in
  match item.str_desc with
  | Tstr_open o -> within prefix (plain_structure_of o.open_expr)
  | Tstr_include i -> within prefix (included_structure_of i.incl_mod)
  | Tstr_module { mb_id; mb_presence = Mp_present; mb_expr; _ } when top || mb_id <> None ->
    within (inner_prefix prefix mb_id) (structure_of mb_expr)
  | _ -> None

(* all_idents: what an item defines, then all that is nested in it. Depth is that of the source. *)
let rec all_defined prefix items =
  List.concat_map
    (fun item ->
      let inner =
        match nested ~top:false prefix item with
        | Some (prefix, items) -> all_defined prefix items
        | None -> []
      in
      defined prefix item @ inner)
    items

let more_defined items =
  List.concat_map
    (fun item ->
      match nested ~top:true "" item with
      | Some (prefix, items) -> all_defined prefix items
      | None -> [])
    items

let slot ~is_exported d =
  { path = d.prefix ^ Ident.name d.id; loc = d.at; kind = d.kind; id = d.id; is_exported }

let of_interface (kind, id, loc) = { path = Ident.name id; loc; kind; id; is_exported = true }

(* From the interface alone: part 1. *)
let of_signature signature = List.map of_interface (exported_items signature)

(* A unit that calls methods keeps a cache of them in one more field, its last (translobj.ml,
   transl_store_label_init); which calls need it is not told, so that it may or may not be there. *)
let uses_methods (structure : structure) =
  let found = ref false in
  let expr (iterator : Tast_iterator.iterator) (e : expression) =
    (match e.exp_desc with Texp_send _ | Texp_new _ | Texp_object _ -> found := true | _ -> ());
    if not !found then Tast_iterator.default_iterator.expr iterator e
  in
  let class_declaration _ _ = found := true in
  let iterator = { Tast_iterator.default_iterator with expr; class_declaration } in
  iterator.structure iterator structure;
  !found

let method_cache =
  let name = "(method cache)" in
  { path = name; loc = Location.none; kind = Value; id = Ident.create_local name;
    is_exported = false }

let of_structure signature structure =
  let own = List.concat_map (defined "") structure.str_items in
  let last = Hashtbl.create 97 in
  List.iter (fun d -> Hashtbl.replace last (d.kind, Ident.name d.id) d) own;
  let exported = exported_items signature in
  let taken = Hashtbl.create 97 in
  let export (kind, id, loc) =
    match Hashtbl.find_opt last (kind, Ident.name id) with
    | Some d ->
      Hashtbl.replace taken (Ident.unique_name d.id) ();
      slot ~is_exported:true d
    | None -> of_interface (kind, id, loc) (* a primitive or alias, exported as a value *)
  in
  let first = List.map export exported in
  let rest = List.filter (fun d -> not (Hashtbl.mem taken (Ident.unique_name d.id))) own in
  let own = List.map (slot ~is_exported:false) in
  first @ own rest @ own (more_defined structure.str_items)
