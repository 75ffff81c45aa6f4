(* heapsnap-ocaml-names: source names for the fields of OCaml modules.

   Reads a request from standard input, lines of
     dir PATH        a tree to search, the best first
     slots UNIT N    the block of this unit has N fields
     map N           then N bytes: caml_globals_map of the program
     plugin N        then N bytes: caml_plugin_header of a plugin
   and writes a table to standard output, one line per field:
     unit <TAB> slot <TAB> name <TAB> file <TAB> line <TAB> interface digest
   and at its end two comments, "#compiler VERSION" (of this program) and
   "#units wanted=... named=... partial=... stale=... missing=...":
     named    every field has a name
     partial  only the exported ones: no .cmt, or one of another build
     stale    files were found, but of another build or compiler
     missing  no file was found

   It is a program of its own because the formats are bound to the compiler's version, and because
   it may die on a damaged file without harm to who called it. One for each compiler may lie beside
   heapsnap, as heapsnap-ocaml-names-5.3 and so on. It builds with 4.13, 4.14 and 5.1 to 5.4. *)

let fail message =
  prerr_endline ("heapsnap-ocaml-names: " ^ message);
  exit 1

type request = {
  mutable dirs : string list;
  mutable units : Wanted.unit_wanted list;
  slots : (string, int) Hashtbl.t;
}

let max_bytes = 64 lsl 20

let read_marshalled request parse count =
  match int_of_string_opt count with
  | Some n when n >= 0 && n <= max_bytes -> (
    let bytes = really_input_string stdin n in
    match parse bytes with
    | units -> request.units <- List.rev_append units request.units
    | exception Wanted.Malformed -> prerr_endline "heapsnap-ocaml-names: an unreadable unit list")
  | _ -> fail "malformed request"

let read_line_of request line =
  match String.index_opt line ' ' with
  | None -> fail "malformed request"
  | Some at -> (
    let rest = String.sub line (at + 1) (String.length line - at - 1) in
    match String.sub line 0 at with
    | "dir" -> request.dirs <- rest :: request.dirs
    | "map" -> read_marshalled request Wanted.of_globals_map rest
    | "plugin" -> read_marshalled request Wanted.of_plugin_header rest
    | "slots" -> (
      match String.split_on_char ' ' rest with
      | [ name; n ] when int_of_string_opt n <> None ->
        Hashtbl.replace request.slots name (int_of_string n)
      | _ -> fail "malformed request")
    | _ -> fail "malformed request")

let read_request () =
  let request = { dirs = []; units = []; slots = Hashtbl.create 997 } in
  (try
     while true do
       read_line_of request (input_line stdin)
     done
   with End_of_file -> ());
  request.dirs <- List.rev request.dirs;
  request.units <- List.sort_uniq compare request.units;
  request

(* findlib's directories and the compiler's own, as they were when this was built, and those of the
   environment. *)
let system_dirs () =
  let of_environment =
    match Sys.getenv_opt "OCAMLPATH" with
    | Some path -> String.split_on_char ':' path
    | None -> []
  in
  List.filter (fun d -> d <> "") (of_environment @ Build_paths.findlib)
  @ [ Config.standard_library ]

(* The first file that its reader accepts and that is of the wanted build. *)
let first_good read files =
  let rec go = function
    | [] -> None
    | file :: rest -> (
      match read file with
      | Some _ as found -> found
      | None -> go rest
      | exception (Out_of_memory | Stack_overflow) -> go rest
      | exception _ -> go rest)
  in
  go files

let interface_is (wanted : Wanted.unit_wanted) imports =
  List.exists (fun (name, crc) -> name = wanted.name && crc = Some wanted.interface) imports

let read_interface (wanted : Wanted.unit_wanted) file =
  let cmi = Cmi_format.read_cmi file in
  if cmi.cmi_name = wanted.name && interface_is wanted cmi.cmi_crcs then Some cmi.cmi_sign
  else None

let read_implementation (wanted : Wanted.unit_wanted) file =
  let cmt = Cmt_format.read_cmt file in
  let is_of_build =
    cmt.cmt_interface_digest = Some wanted.interface || interface_is wanted cmt.cmt_imports
  in
  match cmt.cmt_annots with
  | Implementation structure when cmt.cmt_modname = wanted.name && is_of_build -> Some structure
  | _ -> None

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

let name_unit search slots_of (wanted : Wanted.unit_wanted) =
  let interfaces = Search.files search wanted.name ".cmi" in
  let size = Hashtbl.find_opt slots_of wanted.name in
  let fits n = match size with Some s -> n = s | None -> true in
  match first_good (read_interface wanted) interfaces with
  | None -> if interfaces = [] then Missing else Stale
  | Some signature -> (
    let read file =
      match read_implementation wanted file with
      | Some structure ->
        let slots = Slots.of_structure signature structure in
        if fits (List.length slots) then Some slots else None
      | None -> None
    in
    match first_good read (Search.files search wanted.name ".cmt") with
    | Some slots ->
      print_slots wanted slots;
      Named
    | None ->
      let exported = Slots.of_signature signature in
      let n = List.length exported in
      let may_be = match size with Some s -> n <= s | None -> true in
      if may_be then print_slots wanted exported;
      if not may_be then Stale else if size = Some n then Named else Partial)

let () =
  set_binary_mode_in stdin true;
  let request = read_request () in
  let search =
    Search.create (List.map (fun (u : Wanted.unit_wanted) -> u.name) request.units)
  in
  List.iter (Search.add_tree search) (request.dirs @ system_dirs ());
  let outcomes = List.map (name_unit search request.slots) request.units in
  let count o = List.length (List.filter (( = ) o) outcomes) in
  Printf.printf "#compiler %s\n" Sys.ocaml_version;
  Printf.printf "#units wanted=%d named=%d partial=%d stale=%d missing=%d\n"
    (List.length outcomes) (count Named) (count Partial) (count Stale) (count Missing)
