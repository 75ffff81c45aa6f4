(* How much may be done: whoever feeds us files may have made them to keep us busy. Everything that
   can go on for long asks here. *)

exception Over of string

let seconds = ref 8.
let started = Unix.gettimeofday ()
let heap_words = 320 lsl 20 / (Sys.word_size / 8) * 8 (* 2.5 GiB of 8-byte words *)
let asked = ref 0

(* Nine tenths of what is read is garbage at once, in pieces that nothing that is read later fits
   into: to collect it and to compact what is left took more than half of the time. So it stays,
   unless there is very much of it: then what was only kept to be read once (when_tight) goes. *)
let many_words = ref max_int
let is_tight = ref false
let when_tight = ref (fun () -> ())

(* Before OCaml 5 the collector asks the system for that share more whenever something does not fit:
   what is read must fit into what is reserved at the start. Of that memory is taken as it is used.
*)
let reserved_words = 160 lsl 20
let most_words = 128 lsl 20
let large_file_bytes = 16 lsl 20
let rarely = 1_000_000

let collect_rarely () =
  let settings = { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 20; max_overhead = rarely } in
  if Sys.ocaml_version < "5" then begin
    Gc.set { settings with major_heap_increment = reserved_words; space_overhead = 200 };
    try ignore (Sys.opaque_identity (Bytes.create (8 lsl 20))) with Out_of_memory -> ()
  end;
  let has_room = (Gc.quick_stat ()).heap_words >= reserved_words in
  let space_overhead = if has_room || Sys.ocaml_version >= "5" then rarely else 200 in
  Gc.set { settings with space_overhead }

let collect_now () =
  is_tight := true;
  !when_tight ();
  Gc.set { (Gc.get ()) with Gc.space_overhead = 200; max_overhead = 500 };
  Gc.compact ()

let look_at_memory () =
  let stat = Gc.quick_stat () in
  if stat.heap_words > heap_words then raise (Over "memory");
  if (not !is_tight) && stat.major_words > float_of_int (min !many_words most_words) then
    collect_now ()

(* Before a file is read. *)
let make_room file =
  match Unix.stat file with
  | { st_size; _ } -> if st_size > large_file_bytes && not !is_tight then collect_now ()
  | exception Unix.Unix_error _ -> ()

let check_now () =
  look_at_memory ();
  if Unix.gettimeofday () -. started > !seconds then raise (Over "time")

(* Cheap enough for every step: clock and memory are looked at in one of 256. *)
let check () =
  incr asked;
  if !asked land 255 = 0 then check_now ()

(* What is asked late has a little time of its own. How much is left. *)
let extend () =
  let elapsed = Unix.gettimeofday () -. started in
  let left = max (!seconds -. elapsed) (min !seconds 5.) in
  seconds := elapsed +. left;
  left

let is_over () = Unix.gettimeofday () -. started > !seconds

let check_memory () =
  if (Gc.quick_stat ()).heap_words > heap_words then raise (Over "memory")

let watch_memory () = ignore (Gc.create_alarm check_memory)
