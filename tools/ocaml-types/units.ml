(* Compilation units: their files, their modules, and which variable each field of their block
   is. *)

type state =
  | Typed
  | No_implementation (* an interface, but no .cmt *)
  | Stale (* files of another build or compiler *)
  | No_file

type t = {
  state : state;
  path : string; (* of the file that was read, or of one that could not be used *)
  whole : Modules.t; (* with the fields that the interface has *)
  context : Modules.context;
  slots : Slots.slot array; (* empty unless Typed *)
  named : Names_table.outcome * Slots.slot list; (* what the table of names says of it *)
  interface : Modules.structure option;
}

type source = {
  search : Search.t;
  sizes : (string, int) Hashtbl.t;
  wanted : (string, Wanted.unit_wanted) Hashtbl.t;
  unreadable : string list; (* files that killed an earlier attempt *)
  on_structure : Modules.context -> string -> Typedtree.structure -> unit;
}

let loaded : (string, t Lazy.t) Hashtbl.t = Hashtbl.create 997

(* What was read, until memory is short: some of it is looked at once more. *)
let kept : (string, Typedtree.structure) Hashtbl.t = Hashtbl.create 997
let () = Budget.when_tight := fun () -> Hashtbl.reset kept

(* The parent learns which file it was that killed us. *)
let guarded source read file =
  if List.mem file source.unreadable then None
  else begin
    Budget.check_now ();
    Budget.make_room file;
    Printf.printf "#reading %s\n%!" file;
    try read file with Budget.Over _ as e -> raise e | _ -> None
  end

let rec first read = function
  | [] -> None
  | file :: rest -> (
    match read file with Some found -> Some (file, found) | None -> first read rest)

(* "Stdlib__Map" is Stdlib.Map, and Map for short. *)
let name_of unit_name =
  let n = String.length unit_name in
  let rec dotted i =
    if i >= n then ""
    else if i > 0 && i + 2 < n && unit_name.[i] = '_' && unit_name.[i + 1] = '_' then
      "." ^ dotted (i + 2)
    else String.make 1 unit_name.[i] ^ dotted (i + 1)
  in
  let whole = dotted 0 in
  let without prefix name =
    let p = String.length prefix in
    if String.length name > p && String.sub name 0 p = prefix then
      String.sub name p (String.length name - p)
    else name
  in
  if whole = "Stdlib" then { Modules.head = whole; shown = "" }
  else { Modules.head = whole; shown = without "Dune.exe." (without "Stdlib." whole) }

type implementation = {
  items : Source.item list;
  signature : Types.signature;
  its_slots : Slots.slot array;
  its_context : Modules.context;
}

let read_implementation source (wanted : Wanted.unit_wanted) interface file =
  match Compiled.read_implementation wanted file with
  | None -> None
  | Some structure ->
    let slots = Array.of_list (Slots.of_structure interface structure) in
    let size = Hashtbl.find_opt source.sizes wanted.name in
    if not (Names_table.is_block_of size structure (Array.length slots)) then None
    else begin
      let its_context = Modules.new_context 0 in
      if not !Budget.is_tight then Hashtbl.replace kept wanted.name structure;
      source.on_structure its_context wanted.name structure;
      let signature = structure.str_type in
      Some { items = Source.items structure; signature; its_slots = slots; its_context }
    end

let nothing state path named =
  { state; path; whole = Modules.Unknown; context = Modules.new_context 0; slots = [||]; named;
    interface = None }

let with_interface source (wanted : Wanted.unit_wanted) cmi signature =
  let name = name_of wanted.name and size = Hashtbl.find_opt source.sizes wanted.name in
  let interface = Modules.of_signature (Modules.new_context 0) name signature in
  let files = Search.files source.search wanted.name ".cmt" in
  match first (guarded source (read_implementation source wanted signature)) files with
  | Some (path, i) ->
    let own = Modules.of_items i.its_context name i.items i.signature in
    let whole =
      match Modules.coerce (Known own) (lazy (Modules.Known interface)) with
      | Known s ->
        let size = Option.value size ~default:(Array.length i.its_slots) in
        Modules.Known { s with of_unit = Some { exported = s.fields; size } }
      | m -> m
    in
    let all_slots = Names_table.of_implementation size (Array.to_list i.its_slots) in
    let named = (Names_table.Named, all_slots) in
    { state = Typed; path; whole; context = i.its_context; slots = i.its_slots; named;
      interface = Some interface }
  | None ->
    let state = if files = [] then No_implementation else Stale in
    let path = match files with f :: _ -> f | [] -> cmi in
    let named = Names_table.of_interface size signature in
    { (nothing state path named) with whole = Known interface; interface = Some interface }

(* Of the program, or with types for what is of it. *)
let find_wanted source name =
  match Hashtbl.find_opt source.wanted name with
  | Some _ as wanted -> wanted
  | None -> Compiled.imported name

let read source name =
  match find_wanted source name with
  | None -> nothing No_file "" (Missing, [])
  | Some wanted -> (
    let files = Search.files source.search name ".cmi" in
    match first (guarded source (Compiled.read_interface wanted)) files with
    | Some (cmi, signature) -> with_interface source wanted cmi signature
    | None ->
      let path = match files with f :: _ -> f | [] -> "" in
      if files = [] then nothing No_file path (Missing, []) else nothing Stale path (Stale, []))

(* Each once; one that meets itself while it is read (only a lie can) is unknown. *)
let load source name =
  match Hashtbl.find_opt loaded name with
  | Some l -> ( try Lazy.force l with Lazy.Undefined -> nothing Stale "" (Stale, []))
  | None ->
    let l = lazy (read source name) in
    Hashtbl.replace loaded name l;
    Lazy.force l

(* An implementation once more. Where it was not kept it is read again: its identifiers are the
   same. *)
let look_again source name f =
  match (Hashtbl.find_opt loaded name, Hashtbl.find_opt source.wanted name) with
  | Some l, Some wanted when Lazy.is_val l -> (
    match (Lazy.force l, Hashtbl.find_opt kept name) with
    | { state = Typed; context; _ }, Some structure -> f context name structure
    | { state = Typed; path; context; _ }, None ->
      let read file =
        Option.iter (f context name) (Compiled.read_implementation wanted file);
        None
      in
      ignore (guarded source read path)
    | _ -> ())
  | _ -> ()

let () = ignore Modules.load_unit

let start source = Modules.load_unit := fun name -> (load source name).whole
