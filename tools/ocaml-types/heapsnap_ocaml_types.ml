(* heapsnap-ocaml-types: the source types of OCaml blocks, as a finite automaton, from .cmt files.

   Reads the request that heapsnap-ocaml-names reads (Request), and besides
     seconds N       how long it may take
     memory N        from how many MiB on it collects what it has no use for (1024)
     frame, closure, lambda  what function bodies are asked for (Bodies)
     names 1         the answer begins with the table of heapsnap-ocaml-names, between lines of
                     #names and #types, when it is whole
     later 1         more of these come where the answer goes, once the heap is known: standard
                     output is a socket then. Lines of
                       look UNIT   the bodies of this unit are to be read for frames
                       frame, closure, lambda, held
   and writes the answer that docs/runtimes.md describes.

   The work is done in a child: reading a damaged file may kill it, and then another child goes on
   without that file. Whatever was said when time or memory is over is the answer. *)

let fail message =
  prerr_endline ("heapsnap-ocaml-types: " ^ message);
  exit 1

let max_attempts = 6

let later = ref false
let names = ref false
let looked_at : (string, unit) Hashtbl.t = Hashtbl.create 97
let max_lines = 100_000

let other_verb verb rest =
  match (verb, float_of_string_opt rest) with
  | "later", _ ->
    later := true;
    true
  | "names", _ ->
    names := true;
    true
  | "seconds", Some s when s > 0. && s < 86400. ->
    Budget.seconds := s;
    true
  | "memory", Some mib when mib >= 0. && mib < 65536. ->
    Budget.many_words := int_of_float mib lsl 20 / (Sys.word_size / 8);
    true
  | "frame", _ -> Bodies.ask_frame rest
  | "closure", _ -> Bodies.ask_closure rest
  | "lambda", _ -> Bodies.ask_lambda rest
  | _ -> false

let on_structure where unit_name structure =
  Bodies.on_structure where unit_name structure;
  Makers.on_structure where structure

let later_verb line =
  match String.index_opt line ' ' with
  | None -> ()
  | Some at -> (
    let rest = String.sub line (at + 1) (String.length line - at - 1) in
    match String.sub line 0 at with
    | "look" -> Hashtbl.replace looked_at rest ()
    | "frame" -> ignore (Bodies.ask_frame rest)
    | "lambda" ->
      if Bodies.ask_lambda rest then
        Hashtbl.replace looked_at (List.hd (String.split_on_char ' ' rest)) ()
    | "held" -> ignore (Bodies.ask_held rest)
    | "closure" ->
      if Bodies.ask_closure rest then
        Hashtbl.replace looked_at (List.hd (String.split_on_char ' ' rest)) ()
    | _ -> ())

let timer seconds =
  ignore (Unix.setitimer ITIMER_REAL { it_interval = 0.; it_value = seconds })

(* The clock of a search does not end what waits. *)
let read_later talk =
  flush stdout;
  timer 0.;
  let channel = Unix.in_channel_of_descr talk in
  (try
     for _ = 1 to max_lines do
       later_verb (input_line channel)
     done
   with End_of_file | Sys_error _ -> ());
  timer (Budget.extend () +. 0.5)

let answer_later source talk =
  read_later talk;
  let look unit_name () =
    Budget.check_now ();
    Units.look_again source unit_name Bodies.on_structure
  in
  Hashtbl.iter look looked_at;
  Bodies.say ();
  Roots.say_witnesses ()

(* For the parent, who tells them from the other lines. *)
let say_name line = Printf.printf "#name %s\n" line

let say_names (u : Wanted.unit_wanted) (found : Units.t) named =
  let outcome, slots = found.named in
  List.iter say_name (Names_table.lines_of_slots u slots);
  (u, outcome) :: named

let say_summary request named =
  List.iter say_name (Names_table.summary request (List.rev named));
  print_string "#named\n"

let run (request : Request.t) search unreadable talk =
  let wanted = Hashtbl.create 997 in
  List.iter (fun (u : Wanted.unit_wanted) -> Hashtbl.replace wanted u.name u) request.units;
  let source =
    { Units.search; sizes = request.slots; wanted; unreadable;
      on_structure }
  in
  Units.start source;
  Budget.watch_memory ();
  let named = ref [] in
  let of_unit (u : Wanted.unit_wanted) =
    let found = Units.load source u.name in
    Roots.of_unit u.name found;
    if !names && Names_table.has_block request u then named := say_names u found !named
  in
  let stopped =
    match
      List.iter of_unit request.units;
      if !names then say_summary request !named;
      Roots.say_witnesses ();
      Bodies.say ();
      Roots.say_witnesses ();
      if !later then answer_later source talk
    with
    | () -> ""
    | exception Budget.Over what -> what
    | exception Out_of_memory -> "memory"
    | exception Stack_overflow -> "depth"
  in
  Answer.finish stopped

type attempt = {
  said : Buffer.t;
  names_said : Buffer.t;
  mutable has_names : bool; (* all of them *)
  mutable last_read : string option;
  mutable is_whole : bool;
  mutable is_of_time : bool; (* ended by the clock *)
}

let after prefix line =
  let n = String.length prefix in
  if String.length line >= n && String.sub line 0 n = prefix then
    Some (String.sub line n (String.length line - n))
  else None

(* Its lines, without those that are for us. *)
let listen attempt channel =
  try
    while true do
      let line = input_line channel in
      match (after "#reading " line, after "#name " line) with
      | Some file, _ -> attempt.last_read <- Some file
      | _, Some name -> Buffer.add_string attempt.names_said (name ^ "\n")
      | _ when line = "#named" -> attempt.has_names <- true
      | _ ->
        if String.length line > 4 && String.sub line 0 4 = "#end" then attempt.is_whole <- true;
        Buffer.add_string attempt.said line;
        Buffer.add_char attempt.said '\n'
    done
  with End_of_file -> ()

let child request search unreadable output =
  let talk = Unix.dup ~cloexec:true Unix.stdout in
  Unix.dup2 output Unix.stdout;
  Unix.close output;
  (* A child that no longer asks for the time ends all the same. *)
  timer (!Budget.seconds +. 0.5);
  run request search unreadable talk;
  exit 0

let attempt request search unreadable =
  let input, output = Unix.pipe ~cloexec:true () in
  flush stdout;
  match Unix.fork () with
  | 0 ->
    Unix.close input;
    child request search unreadable output
  | pid ->
    Unix.close output;
    let channel = Unix.in_channel_of_descr input in
    let a =
      { said = Buffer.create 65536; names_said = Buffer.create 65536; has_names = false;
        last_read = None; is_whole = false; is_of_time = false }
    in
    listen a channel;
    close_in channel;
    (match Unix.waitpid [] pid with
    | _, WSIGNALED s -> a.is_of_time <- s = Sys.sigalrm
    | _ -> ());
    a

(* The file that was read last is the one that is to blame, as a rule. *)
let rec attempts request search unreadable n =
  let a = attempt request search unreadable in
  match a.last_read with
  | Some file when not (a.is_whole || a.is_of_time || n = 1 || Budget.is_over ()) ->
    let b = attempts request search (file :: unreadable) (n - 1) in
    if b.is_whole || Buffer.length b.said > Buffer.length a.said then b else a
  | _ -> a

let starts_group line =
  match String.index_opt line '\t' with
  | Some at ->
    let details = [ "row"; "child"; "case"; "witness"; "inner"; "alias" ] in
    not (List.mem (String.sub line 0 at) details)
  | None -> false

(* Of a child that died, the last type may be half of one. *)
let whole_lines a =
  let text = Buffer.contents a.said in
  let rec cut last =
    if last <= 0 then ""
    else
      match String.rindex_from_opt text (last - 1) '\n' with
      | None -> ""
      | Some at ->
        if starts_group (String.sub text (at + 1) (last - at)) then String.sub text 0 (at + 1)
        else cut at
  in
  if a.is_whole || text = "" then text else cut (String.length text - 1)

let () =
  Budget.collect_rarely ();
  let request =
    try Request.read other_verb with Request.Malformed -> fail "malformed request"
  in
  Printf.printf "#heapsnap-ocaml-types 1\n#compiler %s\n%!" Sys.ocaml_version;
  let a = attempts request (Compiled.search request) [] max_attempts in
  if a.has_names then begin
    print_string "#names\n";
    Buffer.output_buffer stdout a.names_said;
    print_string "#types\n"
  end;
  print_string (whole_lines a);
  if not a.is_whole then print_string "#stopped early\n"
