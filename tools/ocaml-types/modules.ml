(* Modules as they are at run time, from the typed trees of their implementations.

   Nothing is type-checked: a module is a table of names. An interface that seals a module hides
   nothing here (its types stay those of the implementation), but it decides which fields the
   module's block has, and in which order. A functor is a function, remembered by its argument, so
   that `Map.Make (Key).t` is one type wherever it is written. *)

type name = { head : string; shown : string } (* "Map.Make(_)", "Map.Make(Key)" *)

type t = Known of structure | Functor of func | Unknown

and func = { number : int; depth : int; apply : t -> t }

and structure = {
  identity : int; (* kept by a coercion *)
  block : int; (* of these fields: a coercion makes another *)
  name : name;
  level : int; (* of nested functor applications *)
  types : (string, declaration) Hashtbl.t;
  values : (string, value) Hashtbl.t;
  modules : (string, t Lazy.t) Hashtbl.t;
  module_types : (string, module_type) Hashtbl.t;
  constructors : (string, constructor) Hashtbl.t;
  fields : (string * field) list Lazy.t; (* of its block *)
  of_unit : unit_block option;
}

(* A unit's own block: what it does not export comes behind the fields. Aliases lead to it. *)
and unit_block = { exported : (string * field) list Lazy.t; size : int }

and field = Value of value | Module of t Lazy.t | Constructor of constructor | Opaque

and value = { expr : Types.type_expr; of_context : context }

and declaration = {
  uid : int;
  called : name;
  decl : Types.type_declaration;
  where : context;
  fixed : int option; (* number of a type: `with type t = ...` of a package *)
}

and constructor = { label : string; ext : Types.extension_constructor; ext_context : context }

and module_type = { mty_uid : int; mty_context : context; mty : Types.module_type option }

and bound =
  | Bound_value of value
  | Bound_type of declaration
  | Bound_module of t Lazy.t
  | Bound_module_type of module_type
  | Bound_constructor of constructor

(* What an identifier stands for; a functor's application has its own. *)
and context = { bindings : bound Ident.Tbl.t; outer : context option; context_level : int }

let max_level = 24
let fresh = let last = ref 0 in fun () -> incr last; !last

(* Set by Units: the module of a compilation unit. *)
let load_unit : (string -> t) ref = ref (fun _ -> Unknown)

let new_context level =
  { bindings = Ident.Tbl.create 16; outer = None; context_level = level }

let inside context level =
  { bindings = Ident.Tbl.create 8; outer = Some context; context_level = level }

let rec look context id =
  match Ident.Tbl.find_opt context.bindings id with
  | Some _ as found -> found
  | None -> ( match context.outer with Some outer -> look outer id | None -> None)

let force m = try Lazy.force m with Lazy.Undefined -> Unknown

let make context name fields =
  { identity = fresh (); block = fresh (); name; level = context.context_level;
    types = Hashtbl.create 8; values = Hashtbl.create 8; modules = Hashtbl.create 8;
    module_types = Hashtbl.create 4; constructors = Hashtbl.create 4; fields;
    of_unit = None }

let within name last =
  let join prefix = if prefix = "" then last else prefix ^ "." ^ last in
  { head = join name.head; shown = join name.shown }

(* A definition that hides one of the same name is another: "t/2". *)
let rec distinct table last n =
  let name = if n = 1 then last else Printf.sprintf "%s/%d" last n in
  if n < 1000 && Hashtbl.mem table name then distinct table last (n + 1) else name

let bind context id b = Ident.Tbl.replace context.bindings id b

let put_type s context id d =
  bind context id (Bound_type d);
  Hashtbl.replace s.types (Ident.name id) d

let add_type s context id decl =
  let last = Ident.name id in
  let unique = distinct s.types last 1 in
  let called = within s.name unique in
  let d = { uid = fresh (); called; decl; where = context; fixed = None } in
  if unique <> last then Hashtbl.replace s.types unique d;
  put_type s context id d

let put_value s context id v =
  bind context id (Bound_value v);
  Hashtbl.replace s.values (Ident.name id) v

let put_module s context id m =
  bind context id (Bound_module m);
  Hashtbl.replace s.modules (Ident.name id) m

let put_module_type s context id m =
  bind context id (Bound_module_type m);
  Hashtbl.replace s.module_types (Ident.name id) m

let put_constructor s context id c =
  bind context id (Bound_constructor c);
  Hashtbl.replace s.constructors (Ident.name id) c

let new_module_type context mty = { mty_uid = fresh (); mty_context = context; mty }

let new_constructor context id ext = { label = Ident.name id; ext; ext_context = context }

let level = function Known s -> s.level | Functor f -> f.depth | Unknown -> 0

let applied : (int * int, t) Hashtbl.t = Hashtbl.create 97

let apply f argument =
  match f with
  | Functor g -> (
    Budget.check ();
    let identity =
      match argument with Known s -> s.identity | Functor a -> a.number | Unknown -> 0
    in
    match Hashtbl.find_opt applied (g.number, identity) with
    | Some result when identity <> 0 -> result
    | _ ->
      let result = g.apply argument in
      Hashtbl.replace applied (g.number, identity) result;
      result)
  | Known _ | Unknown -> Unknown

(* ---- paths *)

let rec find_module context (path : Path.t) =
  match path with
  | Pident id -> (
    match look context id with
    | Some (Bound_module m) -> force m
    | _ -> if Ident.persistent id then !load_unit (Ident.name id) else Unknown)
  | Pdot (p, name) -> (
    match find_module context p with
    | Known s -> (
      match Hashtbl.find_opt s.modules name with Some m -> force m | None -> Unknown)
    | Functor _ | Unknown -> Unknown)
  | Papply (f, a) -> apply (find_module context f) (find_module context a)
  | _ -> Unknown [@@warning "-11"]

let find context (path : Path.t) bound table =
  match path with
  | Pident id -> Option.bind (look context id) bound
  | Pdot (p, name) -> (
    match find_module context p with
    | Known s -> Hashtbl.find_opt (table s) name
    | Functor _ | Unknown -> None)
  | _ -> None

let find_type context path =
  find context path (function Bound_type d -> Some d | _ -> None) (fun s -> s.types)

let find_module_type context path =
  find context path (function Bound_module_type m -> Some m | _ -> None) (fun s -> s.module_types)

(* ---- coercions *)

(* Module `m` with the fields that `interface` has. *)
let rec coerce m interface =
  match m with
  | Known s ->
    let its table name =
      match force interface with Known i -> Hashtbl.find_opt (table i) name | _ -> None
    in
    let modules = Hashtbl.create (Hashtbl.length s.modules) in
    Hashtbl.iter
      (fun name m ->
        let coerced =
          lazy
            (match its (fun i -> i.modules) name with
            | Some i -> coerce (force m) i
            | None -> force m)
        in
        Hashtbl.replace modules name coerced)
      s.modules;
    let fields = lazy (coerced_fields { s with modules } interface) in
    Known { s with block = fresh (); modules; fields }
  | Functor f ->
    let apply_coerced a = coerce (apply m a) (lazy (apply (force interface) a)) in
    Functor { number = fresh (); depth = f.depth; apply = apply_coerced }
  | Unknown -> force interface

and coerced_fields s interface =
  let field (name, of_interface) =
    let or_else wrap found = match found with Some x -> wrap x | None -> of_interface in
    let own =
      match of_interface with
      | Value _ -> or_else (fun v -> Value v) (Hashtbl.find_opt s.values name)
      | Module _ -> or_else (fun m -> Module m) (Hashtbl.find_opt s.modules name)
      | Constructor _ -> or_else (fun c -> Constructor c) (Hashtbl.find_opt s.constructors name)
      | Opaque -> Opaque
    in
    (name, own)
  in
  match force interface with
  | Known i -> List.map field (Lazy.force i.fields)
  | Functor _ | Unknown -> Lazy.force s.fields

(* ---- signatures *)

let own_fields context signature =
  let item : Types.signature_item -> _ = function
    | Sig_value (id, { val_kind = Val_reg; val_type; _ }, _) ->
      let value =
        match look context id with
        | Some (Bound_value v) -> v
        | _ -> { expr = val_type; of_context = context }
      in
      Some (Ident.name id, Value value)
    | Sig_typext (id, ext, _, _) ->
      let constructor =
        match look context id with
        | Some (Bound_constructor c) -> c
        | _ -> new_constructor context id ext
      in
      Some (Ident.name id, Constructor constructor)
    | Sig_module (id, Mp_present, _, _, _) ->
      let m = match look context id with Some (Bound_module m) -> m | _ -> lazy Unknown in
      Some (Ident.name id, Module m)
    | Sig_class (id, _, _, _) -> Some (Ident.name id, Opaque)
    | _ -> None
  in
  List.filter_map item signature

let rec of_module_type context name (mty : Types.module_type) =
  match mty with
  | Mty_signature signature ->
    let inner = inside context context.context_level in
    Known (of_signature inner name signature)
  | Mty_ident path -> (
    match find_module_type context path with
    | Some { mty_context; mty = Some mty; _ } -> of_module_type mty_context name mty
    | _ -> Unknown)
  | Mty_alias path -> find_module context path
  | Mty_functor (parameter, result) ->
    let id = match parameter with Types.Named (id, _) -> id | Types.Unit -> None in
    func context name id (fun inner name -> of_module_type inner name result) (fun a -> a)

(* A function from modules to modules; `see` is how its body sees the argument. *)
and func context name id body see =
  let apply argument =
    let depth = 1 + max context.context_level (level argument) in
    if depth > max_level then Unknown
    else begin
      let inner = inside context depth in
      let argument = see argument in
      Option.iter (fun id -> bind inner id (Bound_module (lazy argument))) id;
      body inner (applied_name name argument)
    end
  in
  Functor { number = fresh (); depth = context.context_level; apply }

and applied_name name argument =
  let of_argument =
    match argument with
    | Known a when a.name.shown <> "" && String.length a.name.shown < 80 -> a.name.shown
    | _ -> "_"
  in
  { head = name.head ^ "(_)"; shown = Printf.sprintf "%s(%s)" name.shown of_argument }

and of_signature context name signature =
  let s = make context name (lazy (own_fields context signature)) in
  List.iter (add_signature_item s context) signature;
  s

and add_signature_item s context (item : Types.signature_item) =
  match item with
  | Sig_value (id, v, _) ->
    put_value s context id { expr = v.val_type; of_context = context }
  | Sig_type (id, decl, _, _) -> add_type s context id decl
  | Sig_typext (id, ext, _, _) -> put_constructor s context id (new_constructor context id ext)
  | Sig_module (id, _, md, _, _) ->
    let name = within s.name (Ident.name id) in
    put_module s context id (lazy (of_module_type context name md.md_type))
  | Sig_modtype (id, m, _) -> put_module_type s context id (new_module_type context m.mtd_type)
  | _ -> ()

(* ---- structures *)

(* What `m` has, under the identifiers of `signature`: include and open. *)
let bring s context m signature =
  let from table name = match m with Known i -> Hashtbl.find_opt (table i) name | _ -> None in
  let item (it : Types.signature_item) =
    let is_put found put = match found with Some x -> put x; true | None -> false in
    let done_ =
      match it with
      | Sig_value (id, _, _) ->
        is_put (from (fun i -> i.values) (Ident.name id)) (put_value s context id)
      | Sig_type (id, _, _, _) ->
        is_put (from (fun i -> i.types) (Ident.name id)) (put_type s context id)
      | Sig_module (id, _, _, _, _) ->
        is_put (from (fun i -> i.modules) (Ident.name id)) (put_module s context id)
      | Sig_modtype (id, _, _) ->
        is_put (from (fun i -> i.module_types) (Ident.name id)) (put_module_type s context id)
      | Sig_typext (id, _, _, _) ->
        is_put (from (fun i -> i.constructors) (Ident.name id)) (put_constructor s context id)
      | _ -> true
    in
    if not done_ then add_signature_item s context it
  in
  List.iter item signature

let rec of_items context name items signature =
  let s = make context name (lazy (own_fields context signature)) in
  List.iter (add_item s context) items;
  s

and add_item s context (item : Source.item) =
  Budget.check ();
  match item with
  | Values l ->
    List.iter (fun (id, expr) -> put_value s context id { expr; of_context = context }) l
  | Types l -> List.iter (fun (id, decl) -> add_type s context id decl) l
  | Constructors l ->
    List.iter (fun (id, ext) -> put_constructor s context id (new_constructor context id ext)) l
  | Modules l ->
    List.iter
      (fun { Source.id; expr } ->
        let name = within s.name (Ident.name id) in
        put_module s context id (lazy (of_expr context name expr)))
      l
  | Module_type (id, mty) -> put_module_type s context id (new_module_type context mty)
  | Bring (expr, signature) -> bring s context (of_expr context s.name expr) signature

and of_expr context name (e : Source.expr) =
  let sealed () = of_module_type context name e.mty in
  let or_sealed = function Unknown -> sealed () | m -> m in
  match e.desc with
  | Path path -> or_sealed (find_module context path)
  | Structure (items, signature) -> Known (of_items context name items signature)
  | Functor ((id, mty), body) ->
    let see argument =
      match mty with
      | Some mty -> coerce argument (lazy (of_module_type context { head = ""; shown = "" } mty))
      | None -> argument
    in
    func context name id (fun inner name -> of_expr inner name body) see
  | Apply (f, a) ->
    let argument = of_expr context { head = ""; shown = "" } a in
    or_sealed (apply (of_expr context name f) argument)
  | Apply_unit f -> or_sealed (apply (of_expr context name f) Unknown)
  | Constraint inner -> coerce (of_expr context name inner) (lazy (sealed ()))
  | Unpack -> sealed ()
