(* What heapsnap asks, on standard input: lines of
     dir PATH        a tree to search, the best first
     slots UNIT N    the block of this unit has N fields
     map N           then N bytes: caml_globals_map of the program
     plugin N        then N bytes: caml_plugin_header of a plugin
   A program may know more verbs. *)

type t = {
  mutable dirs : string list;
  mutable units : Wanted.unit_wanted list;
  slots : (string, int) Hashtbl.t;
}

exception Malformed

let max_bytes = 64 lsl 20

let read_marshalled request parse count =
  match int_of_string_opt count with
  | Some n when n >= 0 && n <= max_bytes -> (
    let bytes = try really_input_string stdin n with End_of_file -> raise Malformed in
    match parse bytes with
    | units -> request.units <- List.rev_append units request.units
    | exception Wanted.Malformed -> prerr_endline "an unreadable unit list")
  | _ -> raise Malformed

let read_slots request text =
  match String.split_on_char ' ' text with
  | [ name; n ] when int_of_string_opt n <> None ->
    Hashtbl.replace request.slots name (int_of_string n)
  | _ -> raise Malformed

let read_line_of request other line =
  match String.index_opt line ' ' with
  | None -> raise Malformed
  | Some at -> (
    let rest = String.sub line (at + 1) (String.length line - at - 1) in
    match String.sub line 0 at with
    | "dir" -> request.dirs <- rest :: request.dirs
    | "map" -> read_marshalled request Wanted.of_globals_map rest
    | "plugin" -> read_marshalled request Wanted.of_plugin_header rest
    | "slots" -> read_slots request rest
    | verb -> if not (other verb rest) then raise Malformed)

(* `other` reads verbs of its own, and says whether it knew one. *)
let read other =
  let request = { dirs = []; units = []; slots = Hashtbl.create 997 } in
  set_binary_mode_in stdin true;
  (try
     while true do
       read_line_of request other (input_line stdin)
     done
   with End_of_file -> ());
  request.dirs <- List.rev request.dirs;
  request.units <- List.sort_uniq compare request.units;
  request
