(* Finds the .cmi and .cmt files of wanted units in directory trees.

   One bounded walk over all trees; files are opened only when their name is wanted, by the program
   or, of an interface, by what it consists of. A file counts
   when it belongs to root or to us: a compiled interface is unmarshalled by the compiler's own
   reader, which trusts it, so nobody else may have put it there. *)

let max_depth = 16
let max_entries_of_tree = 400_000
let max_seconds_of_tree = 1.5

type t = {
  wanted : (string, unit) Hashtbl.t; (* base names without extension *)
  found : (string, string) Hashtbl.t; (* "stm.cmt" -> paths, the latest first *)
  seen : (int * int, unit) Hashtbl.t; (* directories by device and inode *)
  mutable entries : int; (* of the tree being walked *)
  mutable deadline : float;
}

let create units =
  let wanted = Hashtbl.create 997 in
  List.iter
    (fun name ->
      Hashtbl.replace wanted (String.uncapitalize_ascii name) ();
      Hashtbl.replace wanted name ())
    units;
  { wanted; found = Hashtbl.create 997; seen = Hashtbl.create 997; entries = 0;
    deadline = 0. }

let is_file_name name =
  let extensions =
    [ ".cmi"; ".cmt"; ".cmti"; ".cmx"; ".cmo"; ".cma"; ".cmxa"; ".cmxs"; ".ml"; ".mli"; ".o"; ".a";
      ".so"; ".h"; ".c"; ".v"; ".vo"; ".vos"; ".glob"; ".aux"; ".txt"; ".md" ]
  in
  List.mem (Filename.extension name) extensions

let note search directory name =
  let is_wanted () = Hashtbl.mem search.wanted (Filename.remove_extension name) in
  if Filename.check_suffix name ".cmi" || (Filename.check_suffix name ".cmt" && is_wanted ()) then
    Hashtbl.add search.found name (Filename.concat directory name)

let is_directory path =
  match Unix.lstat path with
  | { Unix.st_kind = S_DIR; _ } -> true
  | _ | (exception Unix.Unix_error _) -> false

(* A directory is read once, however it is reached. *)
let is_new search path =
  match Unix.stat path with
  | { Unix.st_kind = S_DIR; st_dev; st_ino; _ } when not (Hashtbl.mem search.seen (st_dev, st_ino))
    ->
    Hashtbl.replace search.seen (st_dev, st_ino) ();
    true
  | _ | (exception Unix.Unix_error _) -> false

let entries_of path =
  match Sys.readdir path with
  | names ->
    Array.sort compare names;
    names
  | exception Sys_error _ -> [||]

let may_go_on search depth =
  depth <= max_depth
  && search.entries < max_entries_of_tree
  && Unix.gettimeofday () < search.deadline

let rec walk search depth path =
  if may_go_on search depth && is_new search path then
    Array.iter
      (fun name ->
        search.entries <- search.entries + 1;
        if is_file_name name then note search path name
        else if search.entries < max_entries_of_tree && name <> ".git" then begin
          let inner = Filename.concat path name in
          if is_directory inner then walk search (depth + 1) inner
        end)
      (entries_of path)

let add_tree search path =
  search.entries <- 0;
  search.deadline <- Unix.gettimeofday () +. max_seconds_of_tree;
  walk search 0 path

let is_trusted path =
  match Unix.stat path with
  | { Unix.st_kind = S_REG; st_uid; _ } -> st_uid = 0 || st_uid = Unix.geteuid ()
  | _ | (exception Unix.Unix_error _) -> false

(* Files of a unit, those of the trees that were added first in front. *)
let files search unit_name extension =
  let of_base base = List.rev (Hashtbl.find_all search.found (base ^ extension)) in
  let lower = String.uncapitalize_ascii unit_name in
  let bases = if lower = unit_name then [ lower ] else [ lower; unit_name ] in
  List.filter is_trusted (List.concat_map of_base bases)
