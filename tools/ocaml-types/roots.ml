(* The types of variables: the fields of units' blocks. *)

(* What may be a witness of an existential type: a value of `'a tag`, or a function to a type with
   such an existential, whose closure captured the tag: its parameters say which type. *)
type candidate = { unit_name : string; slot : int; of_type : Nodes.t option Lazy.t }

let tags : (int * int, candidate) Hashtbl.t = Hashtbl.create 97
let makers : (int, candidate) Hashtbl.t = Hashtbl.create 97 (* by the result's node *)

(* The type of a module's variable, where it is evaluated. *)
type variable = Modules.context * Types.type_expr

(* Variables that are functions, by unit and field: what their closures captured may have a type
   that only the variable's says. *)
let functions : (string * int, variable) Hashtbl.t = Hashtbl.create 997

let rec note_function unit_name slot context e =
  match Type_view.view e with
  | Poly e -> note_function unit_name slot context e
  | Arrow _ -> Hashtbl.replace functions (unit_name, slot) (context, e)
  | _ -> ()

let rec parts_of fuel parameters e =
  match Type_view.view e with
  | Arrow (a, r) when fuel > 0 -> parts_of (fuel - 1) (a :: parameters) r
  | Poly e when fuel > 0 -> parts_of (fuel - 1) parameters e
  | _ -> (List.rev parameters, e)

let rec note_candidates unit_name slot (env : Nodes.env) e =
  match Type_view.view e with
  | Poly e -> note_candidates unit_name slot env e
  | Constr (path, args) -> (
    match Modules.find_type env.context path with
    | Some d ->
      let one place arg =
        let of_type = Nodes.eval env Nodes.max_fuel arg in
        if not (Nodes.is_untyped of_type) then
          Hashtbl.add tags (d.uid, place) { unit_name; slot; of_type = lazy (Some of_type) }
      in
      List.iteri one args
    | None -> ())
  | Arrow _ ->
    let eval = Nodes.eval env Nodes.max_fuel in
    let parameters, result = parts_of 20 [] e in
    let result = eval result in
    if not (Nodes.is_untyped result) then
      let of_type = lazy (Makers.payload result (List.map eval parameters)) in
      Hashtbl.add makers result.id { unit_name; slot; of_type }
  | _ -> ()

let say unit_name slot node =
  incr Answer.roots;
  Answer.line [ "root"; unit_name; string_of_int slot; Answer.reference node ]

(* A variable that holds a key of domains' local storage, whatever files of the library there are:
   what is held by it has the key's argument for a type. *)
let is_key_path path =
  let name = Path.name path and last = "Domain.DLS.key" in
  let n = String.length name and n_last = String.length last in
  n >= n_last && String.sub name (n - n_last) n_last = last

let rec say_key unit_name slot (env : Nodes.env) e =
  match Type_view.view e with
  | Poly e -> say_key unit_name slot env e
  | Constr (path, [ held ]) when is_key_path path ->
    let node = Nodes.eval env Nodes.max_fuel held in
    Answer.line [ "key"; unit_name; string_of_int slot; Answer.reference node ]
  | _ -> ()

let of_value unit_name slot (v : Modules.value) =
  let env = Nodes.env v.of_context [] in
  let node = Nodes.eval env Nodes.max_fuel v.expr in
  note_candidates unit_name slot env v.expr;
  note_function unit_name slot v.of_context v.expr;
  say_key unit_name slot env v.expr;
  if not (Nodes.is_immediate node) then say unit_name slot node

let of_module unit_name slot m =
  match Modules.force m with
  | Modules.Known s -> say unit_name slot (Nodes.block s)
  | Functor _ -> say unit_name slot (Nodes.leaf "closure")
  | Unknown -> ()

let of_constructor unit_name slot (c : Modules.constructor) =
  say unit_name slot (Nodes.leaf "extension_constructor");
  Answer.line [ "ext"; unit_name; string_of_int slot; Answer.text c.label ];
  List.iter Answer.child (Rows.of_extension c)

let rec force_all fuel m =
  match m with
  | Modules.Known s when fuel > 0 ->
    Budget.check ();
    let inner = Hashtbl.fold (fun _ m all -> m :: all) s.modules [] in
    List.iter (fun m -> if not (Lazy.is_val m) then force_all (fuel - 1) (Modules.force m)) inner
  | _ -> ()

let of_slot unit_name (u : Units.t) at (slot : Slots.slot) =
  let exported =
    match u.whole with Known s when slot.is_exported -> Some s | _ -> None
  in
  let in_exported table =
    match exported with Some s -> Hashtbl.find_opt (table s) slot.path | None -> None
  in
  match (slot.kind, Modules.look u.context slot.id) with
  | Value, Some (Bound_value v) -> of_value unit_name at v
  | Value, None ->
    Option.iter (of_value unit_name at) (in_exported (fun (s : Modules.structure) -> s.values))
  | Extension, Some (Bound_constructor c) -> of_constructor unit_name at c
  | Module, found -> (
    match (in_exported (fun s -> s.modules), found) with
    | Some m, _ | None, Some (Bound_module m) -> of_module unit_name at m
    | None, _ -> ())
  | _ -> ()

let state_name (u : Units.t) =
  match u.state with
  | Typed -> "typed"
  | No_implementation -> "no_cmt"
  | Stale -> "stale"
  | No_file -> "no_file"

let of_unit unit_name (u : Units.t) =
  Answer.line
    [ "unit"; unit_name; state_name u; Answer.text u.path ];
  force_all 8 u.whole;
  Array.iteri (of_slot unit_name u) u.slots;
  Answer.close ()

(* ---- witnesses *)

let say_known f how c =
  match Lazy.force c.of_type with
  | Some node when not (Nodes.is_immediate node || Nodes.is_untyped node) ->
    Answer.line
      [ "known"; string_of_int f; Answer.number node; c.unit_name; string_of_int c.slot; how ]
  | _ -> ()

let said : (int * string * int * string, unit) Hashtbl.t = Hashtbl.create 97

(* New types may have new existentials. *)
let say_witnesses () =
  let once key f = if not (Hashtbl.mem said key) then begin Hashtbl.replace said key (); f () end in
  let rec go n =
    let before = Hashtbl.length said in
    let of_family key f =
      List.iter
        (fun c -> once (f, c.unit_name, c.slot, "value") (fun () -> say_known f "value" c))
        (Hashtbl.find_all tags key)
    in
    Hashtbl.iter of_family (Hashtbl.copy Answer.families);
    let of_node node f =
      List.iter
        (fun c -> once (f, c.unit_name, c.slot, "captured") (fun () -> say_known f "captured" c))
        (Hashtbl.find_all makers node)
    in
    Hashtbl.iter of_node (Hashtbl.copy Answer.witnessed);
    Answer.close ();
    if n > 0 && Hashtbl.length said > before then go (n - 1)
  in
  go 8
