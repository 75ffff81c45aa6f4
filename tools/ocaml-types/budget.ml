(* How much may be done: whoever feeds us files may have made them to keep us busy. Everything that
   can go on for long asks here. *)

exception Over of string

let seconds = ref 8.
let started = Unix.gettimeofday ()
let heap_words = 320 lsl 20 / (Sys.word_size / 8) * 8 (* 2.5 GiB of 8-byte words *)
let asked = ref 0

(* Cheap enough for every step: the clock is looked at in one of 256. *)
let check () =
  incr asked;
  if !asked land 255 = 0 && Unix.gettimeofday () -. started > !seconds then raise (Over "time")

let check_now () = if Unix.gettimeofday () -. started > !seconds then raise (Over "time")

(* What is asked late has a little time of its own. How much is left. *)
let extend () =
  let elapsed = Unix.gettimeofday () -. started in
  let left = max (!seconds -. elapsed) (min !seconds 5.) in
  seconds := elapsed +. left;
  left

let is_over () = Unix.gettimeofday () -. started > !seconds

let check_memory () =
  if (Gc.quick_stat ()).heap_words > heap_words then raise (Over "memory")

(* Most of what is read lives as long as we do: to look it over again and again is half the time. *)
let collect_rarely () =
  Gc.set { (Gc.get ()) with Gc.minor_heap_size = 1 lsl 20; space_overhead = 400 }

let watch_memory () = ignore (Gc.create_alarm check_memory)
