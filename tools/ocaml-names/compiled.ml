(* Reads the compiler's files of a unit, of the wanted build only. *)

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

let search (request : Request.t) =
  let names = List.map (fun (u : Wanted.unit_wanted) -> u.name) request.units in
  let search = Search.create names in
  List.iter (Search.add_tree search) (request.dirs @ system_dirs ());
  search

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

(* What the files that were accepted import: units of types alone may be in no list of a program.
*)
let imports : (string * Digest.t option) list list ref = ref []

let imported name =
  let of_file list = match List.assoc_opt name list with Some crc -> crc | None -> None in
  Option.map (fun interface -> { Wanted.name; interface }) (List.find_map of_file !imports)

let accept list =
  imports := list :: !imports;
  true

let read_interface (wanted : Wanted.unit_wanted) file =
  let cmi = Cmi_format.read_cmi file in
  let is_it = cmi.cmi_name = wanted.name && interface_is wanted cmi.cmi_crcs in
  if is_it && accept cmi.cmi_crcs then Some cmi.cmi_sign else None

let read_implementation (wanted : Wanted.unit_wanted) file =
  let cmt = Cmt_format.read_cmt file in
  let is_of_build =
    cmt.cmt_interface_digest = Some wanted.interface || interface_is wanted cmt.cmt_imports
  in
  match cmt.cmt_annots with
  | Implementation structure
    when cmt.cmt_modname = wanted.name && is_of_build && accept cmt.cmt_imports -> Some structure
  | _ -> None
