(* Which blocks a type has: tag, number of fields, and what each field is. *)

open Types

type size = Any | Exactly of int

type content =
  | Nothing (* no field is followed *)
  | Fields of (Nodes.t * string) list
  | Each of Nodes.t (* all fields alike *)
  | Extension (* field 0 leads to the constructor's own block *)
  | Hashed of (int * string * Nodes.t) list (* field 0 is the hash of a case *)

(* The field `field` says which type the existential of field `payload` is; `family`: the
   declaration of its type, and which of its parameters. *)
type witness = { field : int; payload : int; family : int * int }

type row = {
  tag : int;
  size : size;
  content : content;
  constructor : string;
  witnesses : witness list;
}

type t = {
  rows : row list;
  inner : Nodes.t option; (* what a value is that fits no row: a lazy one that was forced *)
  is_abstract : bool;
}

let string_tag = 252
let float_tag = 253
let float_array_tag = 254
let custom_tag = 255
let abstract_tag = 251
let closure_tag = 247
let infix_tag = 249
let object_tag = 248
let forward_tag = 250
let lazy_tag = 246
let continuation_tag = 245 (* OCaml 5 *)
let forcing_tag = 244 (* OCaml 5.1 and later *)

let row ?(constructor = "") ?(witnesses = []) tag size content =
  { tag; size; content; constructor; witnesses }

let fields ?constructor ?witnesses tag l =
  row ?constructor ?witnesses tag (Exactly (List.length l)) (Fields l)

let blocks rows = { rows; inner = None; is_abstract = false }
let abstract = { rows = []; inner = None; is_abstract = true }
let only tag = row tag Any Nothing

(* The one block without fields: an empty array. *)
let empty = row 0 (Exactly 0) Nothing

let of_leaf name =
  blocks
    (match name with
    | "string" | "bytes" -> [ only string_tag ]
    | "float" -> [ only float_tag ]
    | "closure" -> [ only closure_tag; only infix_tag ]
    | "extension_constructor" | "object" -> [ only object_tag ]
    | "floatarray" -> [ only float_array_tag; empty ]
    | "nativeint" | "int32" | "int64" | "channel" | "custom" | "bigarray" -> [ only custom_tag ]
    | "continuation" -> [ only continuation_tag ]
    | _ -> [])

let places l = List.mapi (fun i n -> (n, string_of_int i)) l

(* Elements that may be floats make an array whose kind only its tag says. *)
let of_array element =
  match (Nodes.unfold_fully 8 element).key with
  | Leaf "float" -> [ only float_array_tag; empty ]
  | Untyped _ | Abstract _ -> [ row 0 Any (Each element); only float_array_tag ]
  | _ -> [ row 0 Any (Each element) ]

let labelled env labels =
  List.map
    (fun l -> (Nodes.eval env Nodes.max_fuel l.ld_type, Ident.name l.ld_id))
    labels

(* ---- constructors *)

let variables_of arguments =
  List.mapi
    (fun i e ->
      match Type_view.view e with Variable -> Some (i, Type_view.id e) | _ -> None)
    arguments
  |> List.filter_map Fun.id

(* Existentials: variables that the result does not bind, beside an argument whose type has them as
   a parameter. *)
let witnesses (env : Nodes.env) arguments =
  let payloads =
    List.filter (fun (_, id) -> not (List.mem_assoc id env.variables)) (variables_of arguments)
  in
  let of_payload (payload, variable) =
    let of_argument field e =
      match Type_view.view e with
      | Constr (path, parameters) when field <> payload -> (
        let at = List.mapi (fun i p -> (i, p)) parameters in
        let is_it (_, p) =
          match Type_view.view p with Variable -> Type_view.id p = variable | _ -> false
        in
        match (List.find_opt is_it at, Modules.find_type env.context path) with
        | Some (place, _), Some d -> Some { field; payload; family = (d.uid, place) }
        | _ -> None)
      | _ -> None
    in
    List.filter_map Fun.id (List.mapi of_argument arguments)
  in
  List.concat_map of_payload payloads

let existential env e =
  let node = Nodes.eval env Nodes.max_fuel e in
  match node.key with Untyped "type variable" -> Nodes.untyped "existential type" | _ -> node

let of_constructor d args tag (c : constructor_declaration) =
  let env = Nodes.of_result d args c.cd_res in
  let constructor = Ident.name c.cd_id in
  let value e = if c.cd_res = None then Nodes.eval env Nodes.max_fuel e else existential env e in
  match c.cd_args with
  | Cstr_tuple l ->
    let witnesses = if c.cd_res = None then [] else witnesses env l in
    fields ~constructor ~witnesses tag (places (List.map value l))
  | Cstr_record labels ->
    let l = List.map (fun l -> (value l.ld_type, Ident.name l.ld_id)) labels in
    let types = List.map (fun l -> l.ld_type) labels in
    let witnesses = if c.cd_res = None then [] else witnesses env types in
    fields ~constructor ~witnesses tag l

let has_arguments c =
  match c.cd_args with Cstr_tuple [] -> false | Cstr_tuple _ | Cstr_record _ -> true

let of_declaration (d : Modules.declaration) args =
  match d.decl.type_kind with
  | Type_record (labels, Record_regular) ->
    blocks [ fields 0 (labelled (Nodes.instance d args) labels) ]
  | Type_record (labels, Record_float) ->
    blocks [ row float_array_tag (Exactly (List.length labels)) Nothing ]
  | Type_variant (constructors, _) ->
    blocks (List.mapi (of_constructor d args) (List.filter has_arguments constructors))
  | Type_open -> blocks [ only object_tag; row 0 Any Extension ]
  | _ -> abstract

let of_cases cases is_closed =
  let hashed =
    List.filter_map
      (fun (name, e) -> Option.map (fun id -> (Btype.hash_variant name, name, Nodes.get id)) e)
      cases
  in
  match hashed with
  | [] when is_closed -> blocks []
  | _ -> blocks [ row 0 (Exactly 2) (Hashed hashed) ]

let max_hidden = 10_000

let of_module (s : Modules.structure) =
  let field (label, (f : Modules.field)) =
    let node =
      match f with
      | Value v -> Nodes.eval (Nodes.env v.of_context []) Nodes.max_fuel v.expr
      | Constructor _ -> Nodes.leaf "extension_constructor"
      | Opaque -> Nodes.untyped "class"
      | Module m -> (
        match Modules.force m with
        | Known inner -> Nodes.block inner
        | Functor _ -> Nodes.leaf "closure"
        | Unknown -> Nodes.untyped "module")
    in
    (node, label)
  in
  let as_fields l = List.map field (Lazy.force l) in
  let own = as_fields s.fields in
  (* What an alias of a unit leads to has the unit's hidden definitions at its end. *)
  let of_unit ({ exported; size } : Modules.unit_block) =
    let exported = as_fields exported in
    let n = size - List.length exported in
    if n <= 0 || n > max_hidden || size = List.length own then None
    else Some (fields 0 (exported @ List.init n (fun _ -> (Nodes.untyped "hidden", ""))))
  in
  blocks (fields 0 own :: Option.to_list (Option.bind s.of_unit of_unit))

let of_lazy content =
  let value = Nodes.get content in
  { rows =
      [ row lazy_tag Any Nothing; row forcing_tag Any Nothing;
        fields forward_tag [ (value, "") ] ];
    inner = Some value; is_abstract = false }

let rec of_node fuel (node : Nodes.t) =
  match node.key with
  | Untyped _ | Abstract _ -> abstract
  | Leaf name -> of_leaf name
  | Exception -> blocks [ only object_tag; row 0 Any Extension ]
  | Tuple (labels, l) -> blocks [ fields 0 (List.combine (List.map Nodes.get l) labels) ]
  | Array a -> blocks (of_array (Nodes.get a))
  | List a -> blocks [ fields ~constructor:"::" 0 [ (Nodes.get a, "0"); (node, "1") ] ]
  | Option a -> blocks [ fields ~constructor:"Some" 0 [ (Nodes.get a, "0") ] ]
  | Lazy a -> of_lazy a
  | Cell a -> blocks [ fields 0 [ (Nodes.get a, "v") ] ]
  | Variant (cases, is_closed) -> of_cases cases is_closed
  | Methods _ -> of_leaf "object"
  | Block id -> of_module (Hashtbl.find Nodes.blocks id)
  | Declared (uid, args) -> (
    match Nodes.unfold node with
    | Some inner -> if fuel = 0 then abstract else of_node (fuel - 1) inner
    | None -> of_declaration (Hashtbl.find Nodes.declarations uid) args)

let of_node node = of_node 8 node

(* The arguments of an exception or another extension constructor: fields 1 to n of its blocks. *)
let of_extension (c : Modules.constructor) =
  let env = Nodes.env c.ext_context [] in
  match c.ext.ext_args with
  | Cstr_tuple l -> places (List.map (Nodes.eval env Nodes.max_fuel) l)
  | Cstr_record labels -> labelled env labels
