(* heapsnap-ocaml-names: source names for the fields of OCaml modules.

   Reads a request from standard input, lines of
     dir PATH        a tree to search, the best first
     slots UNIT N    the block of this unit has N fields
     map N           then N bytes: caml_globals_map of the program
     plugin N        then N bytes: caml_plugin_header of a plugin
   and writes a table to standard output, one line per field:
     unit <TAB> slot <TAB> name <TAB> file <TAB> line <TAB> interface digest
   and at its end comments, "#compiler VERSION" (of this program) and
   "#units wanted=... named=... partial=... stale=... missing=...":
     named    every field has a name
     partial  only the exported ones: no .cmt, or one of another build
     stale    files were found, but of another build or compiler
     missing  no file was found
   and of each of the last three, where there are any, "#partial UNIT..." with the largest of them.

   It is a program of its own because the formats are bound to the compiler's version, and because
   it may die on a damaged file without harm to who called it. One for each compiler may lie beside
   heapsnap, as heapsnap-ocaml-names-5.3 and so on. It builds with 4.13, 4.14 and 5.1 to 5.4. *)

type outcome = Named | Partial | Stale | Missing

let printable s = String.map (fun c -> if c < ' ' || c = '\127' then '?' else c) s

let print_slots (wanted : Wanted.unit_wanted) slots =
  let digest = Digest.to_hex wanted.interface in
  List.iteri
    (fun i (s : Slots.slot) ->
      let start = s.loc.loc_start in
      let is_known = start.pos_fname <> "" && start.pos_fname <> "_none_" && start.pos_lnum > 0 in
      Printf.printf "%s\t%d\t%s\t%s\t%s\t%s\n" (printable wanted.name) i (printable s.path)
        (if is_known then printable start.pos_fname else "")
        (if is_known then string_of_int start.pos_lnum else "")
        digest)
    slots;
  flush stdout

(* The fields' names, when there are as many as the unit's block has fields. *)
let slots_that_fit size signature structure =
  let slots = Slots.of_structure signature structure in
  let n = List.length slots in
  match size with
  | None -> Some slots
  | Some s when s = n -> Some slots
  | Some s when s = n + 1 && Slots.uses_methods structure ->
    Some (slots @ [ Slots.method_cache ])
  | Some _ -> None

let name_unit search slots_of (wanted : Wanted.unit_wanted) =
  let interfaces = Search.files search wanted.name ".cmi" in
  let size = Hashtbl.find_opt slots_of wanted.name in
  match Compiled.first_good (Compiled.read_interface wanted) interfaces with
  | None -> if interfaces = [] then Missing else Stale
  | Some signature -> (
    let read file =
      match Compiled.read_implementation wanted file with
      | Some structure -> slots_that_fit size signature structure
      | None -> None
    in
    match Compiled.first_good read (Search.files search wanted.name ".cmt") with
    | Some slots ->
      print_slots wanted slots;
      Named
    | None ->
      let exported = Slots.of_signature signature in
      let n = List.length exported in
      let may_be = match size with Some s -> n <= s | None -> true in
      if may_be then print_slots wanted exported;
      if not may_be then Stale else if size = Some n then Named else Partial)

(* A unit of types alone is in the list of the program, and has no block in it. *)
let units_with_blocks (request : Request.t) =
  let has_block (u : Wanted.unit_wanted) = Hashtbl.mem request.slots u.name in
  if Hashtbl.length request.slots = 0 then request.units
  else List.filter has_block request.units

let max_examples = 3

(* The largest units of an outcome. *)
let print_examples (request : Request.t) outcomes word outcome =
  let fields (u : Wanted.unit_wanted) =
    Option.value (Hashtbl.find_opt request.slots u.name) ~default:0
  in
  let largest a b = compare (fields b) (fields a) in
  let units = List.filter_map (fun (u, o) -> if o = outcome then Some u else None) outcomes in
  let chosen = List.filteri (fun i _ -> i < max_examples) (List.stable_sort largest units) in
  if chosen <> [] then
    Printf.printf "#%s %s\n" word
      (String.concat " " (List.map (fun (u : Wanted.unit_wanted) -> printable u.name) chosen))

let fail message =
  prerr_endline ("heapsnap-ocaml-names: " ^ message);
  exit 1

let () =
  let request =
    try Request.read (fun _ _ -> false) with Request.Malformed -> fail "malformed request"
  in
  let search = Compiled.search request in
  let outcome u = (u, name_unit search request.slots u) in
  let outcomes = List.map outcome (units_with_blocks request) in
  let count o = List.length (List.filter (fun (_, found) -> found = o) outcomes) in
  Printf.printf "#compiler %s\n" Sys.ocaml_version;
  Printf.printf "#units wanted=%d named=%d partial=%d stale=%d missing=%d\n"
    (List.length outcomes) (count Named) (count Partial) (count Stale) (count Missing);
  print_examples request outcomes "partial" Partial;
  print_examples request outcomes "stale" Stale;
  print_examples request outcomes "missing" Missing
