(* Type nodes: what a type expression is in its context, each once.

   An abbreviation is unfolded unless its expansion meets itself; then it is a name of its own, and
   is unfolded only when its blocks are described. Nothing is substituted in the compiler's types:
   an expression is evaluated in a context of modules with nodes for its variables. *)

open Types

type key =
  | Untyped of string (* why nothing is known *)
  | Leaf of string (* int, string, float, closure, ... *)
  | Exception
  | Tuple of string list * int list
  | Array of int
  | List of int
  | Option of int
  | Lazy of int
  | Cell of int (* Atomic.t of OCaml 5 *)
  | Declared of int * int list
  | Abstract of int * int list
  | Variant of (string * int option) list * bool
  | Methods of (string * int) list (* of an object: it matters as an argument of types *)
  | Block of int (* of a module *)

type t = { id : int; key : key; depth : int }

let max_depth = 12
let max_fuel = 60
let max_nodes = 300_000
let table : (key, t) Hashtbl.t = Hashtbl.create 9973
let all = ref (Array.make 1024 { id = 0; key = Untyped ""; depth = 0 })
let count = ref 0
let declarations : (int, Modules.declaration) Hashtbl.t = Hashtbl.create 997
let blocks : (int, Modules.structure) Hashtbl.t = Hashtbl.create 97
let get id = !all.(id)

let add key depth =
  let node = { id = !count; key; depth } in
  if !count = Array.length !all then all := Array.append !all (Array.make !count node);
  !all.(!count) <- node;
  incr count;
  Hashtbl.replace table key node;
  node

let untyped why =
  let key = Untyped why in
  match Hashtbl.find_opt table key with Some n -> n | None -> add key 0

let depth_of ids = List.fold_left (fun d id -> max d (1 + (get id).depth)) 0 ids

let make key inner =
  match Hashtbl.find_opt table key with
  | Some n -> n
  | None ->
    Budget.check ();
    let depth = depth_of inner in
    if depth > max_depth then untyped "nested too deeply"
    else if !count >= max_nodes then untyped "too many types"
    else add key depth

let leaf name = make (Leaf name) []
let is_immediate n = match n.key with Leaf ("int" | "char" | "bool" | "unit") -> true | _ -> false
let is_untyped n = match n.key with Untyped _ -> true | _ -> false

let tuple labels (parts : int list) = make (Tuple (labels, parts)) parts

(* An expression's environment: one for each instance of a declaration. *)
type env = {
  context : Modules.context;
  variables : (int * t) list;
  known : (int, t option) Hashtbl.t; (* None: being evaluated *)
}

let env context variables = { context; variables; known = Hashtbl.create 7 }
let declared (d : Modules.declaration) args =
  Hashtbl.replace declarations d.uid d;
  make (Declared (d.uid, args)) args

let predefined name args =
  match (name, args) with
  | "list", [ a ] -> make (List a) args
  | "option", [ a ] -> make (Option a) args
  | ("array" | "iarray"), [ a ] -> make (Array a) args
  | "lazy_t", [ a ] -> make (Lazy a) args
  | ("int" | "char" | "bool" | "unit" | "string" | "bytes" | "float"), [] -> leaf name
  | ("nativeint" | "int32" | "int64" | "floatarray" | "extension_constructor"), [] -> leaf name
  | "exn", [] -> make Exception []
  | "continuation", _ -> leaf name
  | "atomic_loc", _ -> untyped name
  | "eff", _ -> untyped "effect"
  | _ -> untyped name

(* Types that the library declares as abstract, and whose blocks are known all the same. *)
let library (d : Modules.declaration) args =
  match (d.called.head, args) with
  | ("Stdlib.Obj.t" | "Stdlib.Obj.raw_data"), [] -> Some (untyped "Obj.t")
  | "Stdlib.Lazy.t", [ a ] | "CamlinternalLazy.t", [ a ] -> Some (make (Lazy a) args)
  | "Stdlib.Atomic.t", [ a ] -> Some (make (Cell a) args)
  | ("Stdlib.in_channel" | "Stdlib.out_channel"), [] -> Some (leaf "channel")
  | ("Stdlib.Mutex.t" | "Stdlib.Condition.t"), [] -> Some (leaf "custom")
  | "Stdlib.Bigarray.Genarray.t", _ -> Some (leaf "bigarray")
  | "Stdlib.Effect.continuation", _ -> Some (leaf "continuation")
  | "Z.t", [] -> None
  | _ -> None

let recursive : (int, unit) Hashtbl.t = Hashtbl.create 7
let unfolding : (int * int list, unit) Hashtbl.t = Hashtbl.create 7
let packages : (int * (string list * int) list, Modules.t) Hashtbl.t = Hashtbl.create 7
let is_variable e = match Type_view.view e with Variable -> true | _ -> false

let block (s : Modules.structure) =
  Hashtbl.replace blocks s.block s;
  make (Block s.block) []

let rec eval env fuel e =
  let id = Type_view.id e in
  match Hashtbl.find_opt env.known id with
  | Some (Some node) -> node
  | Some None -> untyped "cyclic type"
  | None ->
    if fuel = 0 then untyped "nested too deeply"
    else begin
      Hashtbl.replace env.known id None;
      let node = eval_view env (fuel - 1) id (Type_view.view e) in
      Hashtbl.replace env.known id (Some node);
      node
    end

and eval_view env fuel id (view : Type_view.t) =
  let inner e = (eval env fuel e).id in
  match view with
  | Variable -> (
    match List.assoc_opt id env.variables with Some n -> n | None -> untyped "type variable")
  | Arrow _ -> leaf "closure"
  | Tuple l ->
    let labels = List.mapi (fun i (l, _) -> if l = "" then string_of_int i else l) l in
    let ids = List.map (fun (_, e) -> inner e) l in
    tuple labels ids
  | Poly e -> eval env fuel e
  | Object [] -> leaf "object"
  | Object l ->
    let l = List.sort compare (List.map (fun (n, e) -> (n, inner e)) l) in
    make (Methods l) (List.map snd l)
  | Variant { cases; is_closed } ->
    let cases = List.map (fun (n, e) -> (n, Option.map inner e)) cases in
    let cases = List.sort compare cases in
    make (Variant (cases, is_closed)) (List.filter_map snd cases)
  | Package (path, constraints) ->
    package env path (List.map (fun (n, e) -> (n, inner e)) constraints)
  | Constr (path, args) -> constr env fuel path (List.map inner args)
  | Other -> untyped "odd type"

and constr env fuel path args =
  match path with
  | Path.Pident id when Ident.is_predef id -> predefined (Ident.name id) args
  | _ -> (
    match Modules.find_type env.context path with
    | Some d -> of_declaration fuel d args
    | None -> untyped ("no declaration of " ^ Path.name path))

and of_declaration fuel (d : Modules.declaration) args =
  match (d.fixed, d.decl.type_kind, d.decl.type_manifest) with
  | Some n, _, _ -> get n
  | None, Type_abstract _, Some manifest -> abbreviation fuel d args manifest
  | None, Type_abstract _, None -> (
    match library d args with
    | Some n -> n
    | None ->
      Hashtbl.replace declarations d.uid d;
      make (Abstract (d.uid, args)) args)
  | None, _, Some manifest -> (
    (* declared again: `type t = M.t = A | B` *)
    let n = unfold_to fuel d args manifest in
    match n.key with Declared _ | List _ | Option _ | Lazy _ -> n | _ -> declared d args)
  | None, _, None -> declared d args

(* An abbreviation that meets itself becomes a type with a name. *)
and abbreviation fuel d args manifest =
  if Hashtbl.mem recursive d.uid then declared d args
  else if Hashtbl.mem unfolding (d.uid, args) then begin
    Hashtbl.replace recursive d.uid ();
    declared d args
  end
  else begin
    let n = unfold_to fuel d args manifest in
    if Hashtbl.mem recursive d.uid then declared d args else n
  end

and unfold_to fuel d args manifest =
  let key = (d.uid, args) in
  if fuel = 0 then untyped "nested too deeply"
  else if Hashtbl.mem unfolding key then declared d args
  else begin
    Hashtbl.replace unfolding key ();
    let finish () = Hashtbl.remove unfolding key in
    Fun.protect ~finally:finish (fun () -> eval (instance d args) (fuel - 1) manifest)
  end

and instance (d : Modules.declaration) args =
  env d.where (bind_all [] d.decl.type_params args)

(* Binds the variables of parameters to the parts of arguments. *)
and bind_all bound parameters args =
  if List.compare_lengths parameters args = 0 then
    List.fold_left2 (fun bound p a -> bind 20 bound p (get a)) bound parameters args
  else bound

and bind fuel bound parameter argument =
  if fuel = 0 then bound
  else
    match (Type_view.view parameter, argument.key) with
    | Variable, _ ->
      let id = Type_view.id parameter in
      if List.mem_assoc id bound then bound else (id, argument) :: bound
    | Poly e, _ -> bind (fuel - 1) bound e argument
    | Tuple l, Tuple (_, args) -> bind_parts fuel bound (List.map snd l) args
    | Constr (_, l), (Declared (_, args) | Abstract (_, args)) when List.compare_lengths l args = 0
      ->
      bind_parts fuel bound l args
    | Constr (_, [ e ]), (Array a | List a | Option a | Lazy a | Cell a) ->
      bind (fuel - 1) bound e (get a)
    | Object l, Methods methods ->
      let one bound (name, e) =
        match List.assoc_opt name methods with
        | Some m -> bind (fuel - 1) bound e (get m)
        | None -> bound
      in
      List.fold_left one bound l
    | (Tuple _ | Object _), Declared _ -> (
      match unfold argument with
      | Some inner -> bind (fuel - 1) bound parameter inner
      | None -> bound)
    | _ -> bound

and bind_parts fuel bound parameters args =
  if List.compare_lengths parameters args = 0 then
    List.fold_left2 (fun bound p a -> bind (fuel - 1) bound p (get a)) bound parameters args
  else bound

(* What a name stands for at run time: the content of an unboxed type, the expansion of a name. *)
and unfold node =
  match node.key with
  | Declared (uid, args) -> (
    let d = Hashtbl.find declarations uid in
    let content e = Some (eval (instance d args) max_fuel e) in
    match (d.decl.type_kind, d.decl.type_manifest) with
    | Type_record ([ l ], Record_unboxed _), _ -> content l.ld_type
    | Type_variant ([ c ], Variant_unboxed), _ -> (
      match c.cd_args with
      | Cstr_tuple (e :: _) | Cstr_record ({ ld_type = e; _ } :: _) ->
        Some (eval (of_result d args c.cd_res) max_fuel e)
      | Cstr_tuple [] | Cstr_record [] -> None)
    | Type_abstract _, Some manifest -> content manifest
    | _ -> None)
  | _ -> None

(* The environment of a constructor: a GADT's binds by its result type. *)
and of_result d args = function
  | None -> instance d args
  | Some result -> (
    match Type_view.view result with
    | Constr (_, parameters) -> env d.where (bind_all [] parameters args)
    | _ -> env d.where [])

and package env path constraints =
  match Modules.find_module_type env.context path with
  | None -> untyped ("no module type " ^ Path.name path)
  | Some m -> (
    let key = (m.mty_uid, constraints) in
    let found =
      match Hashtbl.find_opt packages key with
      | Some found -> found
      | None ->
        let name = { Modules.head = Path.name path; shown = Path.name path } in
        let made = Modules.of_module_type env.context name (Mty_ident path) in
        Hashtbl.replace packages key made;
        List.iter (constrain made) constraints;
        made
    in
    match found with
    | Known s -> block s
    | Functor _ -> leaf "closure"
    | Unknown -> untyped "package")

(* `with type t = ...`: its signature's declaration stands for that type. *)
and constrain m (names, node) =
  match (m, names) with
  | Modules.Known s, [ name ] -> (
    match Hashtbl.find_opt s.types name with
    | Some d ->
      let d' = { d with fixed = Some node } in
      Hashtbl.replace s.types name d';
      let replace id = function
        | Modules.Bound_type b when b.uid = d.uid -> Some (Modules.Bound_type d')
        | b -> ignore id; Some b
      in
      Ident.Tbl.filter_map_inplace replace d.where.bindings
    | None -> ())
  | Known s, first :: rest -> (
    match Hashtbl.find_opt s.modules first with
    | Some inner -> constrain (Modules.force inner) (rest, node)
    | None -> ())
  | _ -> ()

let rec unfold_fully fuel node =
  if fuel = 0 then untyped "cyclic type"
  else match unfold node with Some inner -> unfold_fully (fuel - 1) inner | None -> node

(* ---- names *)

let head node =
  match node.key with
  | Untyped why -> why
  | Leaf name -> name
  | Exception -> "exn"
  | Tuple (_, l) -> "(" ^ String.concat " * " (List.map (fun _ -> "_") l) ^ ")"
  | Array _ -> "array"
  | List _ -> "list"
  | Option _ -> "option"
  | Lazy _ -> "lazy_t"
  | Cell _ -> "Stdlib.Atomic.t"
  | Declared (uid, _) | Abstract (uid, _) -> (Hashtbl.find declarations uid).called.head
  | Variant (cases, _) -> "[" ^ String.concat "|" (List.map (fun (n, _) -> "`" ^ n) cases) ^ "]"
  | Methods l -> "<" ^ String.concat "; " (List.map fst l) ^ ">"
  | Block id -> "module " ^ (Hashtbl.find blocks id).name.head

let postfix args name =
  match args with
  | [] -> name
  | [ a ] -> a ^ " " ^ name
  | l -> "(" ^ String.concat ", " l ^ ") " ^ name

(* As it would be written, so many levels deep. *)
let rec show levels node =
  let inner id =
    let node = get id in
    if levels > 0 || node.depth = 0 then show (levels - 1) node else "_"
  in
  match node.key with
  | Untyped _ -> "_"
  | Tuple (_, l) -> "(" ^ String.concat " * " (List.map inner l) ^ ")"
  | Array a -> postfix [ inner a ] "array"
  | List a -> postfix [ inner a ] "list"
  | Option a -> postfix [ inner a ] "option"
  | Lazy a -> postfix [ inner a ] "lazy_t"
  | Cell a -> postfix [ inner a ] "Atomic.t"
  | Declared (uid, args) | Abstract (uid, args) ->
    let name = (Hashtbl.find declarations uid).called.shown in
    postfix (List.map inner args) name
  | Variant (cases, _) ->
    let one (n, e) = match e with None -> "`" ^ n | Some e -> "`" ^ n ^ " of " ^ inner e in
    "[" ^ String.concat " | " (List.map one cases) ^ "]"
  | Methods l ->
    "<" ^ String.concat "; " (List.map (fun (n, id) -> n ^ " : " ^ inner id) l) ^ ">"
  | Block id -> "module " ^ (Hashtbl.find blocks id).name.shown
  | Leaf _ | Exception -> head node

let display node = match node.key with Untyped why -> why | _ -> show 3 node
