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
let many_words = ref (128 lsl 20) (* 1 GiB *)
let is_tight = ref false
let when_tight = ref (fun () -> ())

let collect_rarely () =
  Gc.set
    { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 20; space_overhead = 6000;
      max_overhead = 1_000_000 }

let look_at_memory () =
  let words = (Gc.quick_stat ()).heap_words in
  if words > heap_words then raise (Over "memory");
  if (not !is_tight) && words > !many_words then begin
    is_tight := true;
    !when_tight ();
    Gc.set { (Gc.get ()) with Gc.space_overhead = 200; max_overhead = 500 };
    Gc.compact ()
  end

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
