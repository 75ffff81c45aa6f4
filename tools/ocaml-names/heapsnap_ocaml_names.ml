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

let print_lines lines =
  List.iter (fun line -> print_string line; print_char '\n') lines;
  flush stdout

let print_slots wanted slots = print_lines (Names_table.lines_of_slots wanted slots)

let name_unit search slots_of (wanted : Wanted.unit_wanted) =
  let interfaces = Search.files search wanted.name ".cmi" in
  let size = Hashtbl.find_opt slots_of wanted.name in
  match Compiled.first_good (Compiled.read_interface wanted) interfaces with
  | None -> if interfaces = [] then Names_table.Missing else Stale
  | Some signature -> (
    let read file =
      match Compiled.read_implementation wanted file with
      | Some structure ->
        let slots = Slots.of_structure signature structure in
        if Names_table.is_block_of size structure (List.length slots) then Some slots else None
      | None -> None
    in
    match Compiled.first_good read (Search.files search wanted.name ".cmt") with
    | Some slots ->
      print_slots wanted (Names_table.of_implementation size slots);
      Named
    | None ->
      let outcome, slots = Names_table.of_interface size signature in
      print_slots wanted slots;
      outcome)

let fail message =
  prerr_endline ("heapsnap-ocaml-names: " ^ message);
  exit 1

let () =
  let request =
    try Request.read (fun _ _ -> false) with Request.Malformed -> fail "malformed request"
  in
  let search = Compiled.search request in
  let outcome u = (u, name_unit search request.slots u) in
  let units = List.filter (Names_table.has_block request) request.units in
  print_lines (Names_table.summary request (List.map outcome units))
