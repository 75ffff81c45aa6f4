(* Which compilation units a program consists of, and which interface each was compiled against.

   The linker leaves this in every native program and plugin as a marshalled string
   (asmcomp/cmm_helpers.ml: caml_globals_map, caml_plugin_header). The bytes come from the memory of
   a stranger, so Marshal is not used: it trusts its input. This reads the few codes that such a
   value is made of (runtime/caml/intext.h) and refuses everything else. *)

exception Malformed

type value =
  | Int of int
  | String of string
  | Block of int * value array

type reader = { bytes : string; mutable at : int; limit : int }

let byte r =
  if r.at >= r.limit then raise Malformed;
  let b = Char.code r.bytes.[r.at] in
  r.at <- r.at + 1;
  b

let rec big_endian r n acc =
  if n = 0 then acc else big_endian r (n - 1) ((acc lsl 8) lor byte r)

let signed r n =
  let bits = 8 * n in
  let v = big_endian r n 0 in
  if bits < Sys.int_size && v lsr (bits - 1) = 1 then v - (1 lsl bits) else v

let text r n =
  if n < 0 || n > r.limit - r.at then raise Malformed;
  let s = String.sub r.bytes r.at n in
  r.at <- r.at + n;
  s

(* What comes next: a finished value, or a block whose fields follow. *)
type item =
  | Whole of value
  | Again of int (* the n-th object before *)
  | Fields of int * int (* tag, size > 0 *)

let block tag size = if size = 0 then Whole (Block (tag, [||])) else Fields (tag, size)

let item r =
  match byte r with
  | c when c >= 0x80 -> block (c land 0xf) ((c lsr 4) land 7)
  | c when c >= 0x40 -> Whole (Int (c land 0x3f))
  | c when c >= 0x20 -> Whole (String (text r (c land 0x1f)))
  | 0x00 -> Whole (Int (signed r 1))
  | 0x01 -> Whole (Int (signed r 2))
  | 0x02 -> Whole (Int (signed r 4))
  | 0x03 -> Whole (Int (signed r 8))
  | 0x04 -> Again (big_endian r 1 0)
  | 0x05 -> Again (big_endian r 2 0)
  | 0x06 -> Again (big_endian r 4 0)
  | 0x08 ->
    let header = big_endian r 4 0 in
    block (header land 0xff) (header lsr 10)
  | 0x09 -> Whole (String (text r (big_endian r 1 0)))
  | 0x0a -> Whole (String (text r (big_endian r 4 0)))
  | _ -> raise Malformed

(* Objects are numbered as they begin. No recursion: a list nests once per element. *)
let read_value r =
  let objects = ref (Array.make 64 (Int 0)) and n_objects = ref 0 in
  let remember v =
    if !n_objects = Array.length !objects then
      objects := Array.append !objects (Array.make !n_objects (Int 0));
    !objects.(!n_objects) <- v;
    incr n_objects;
    v
  in
  let result = [| Int 0 |] in
  let open_blocks = Stack.create () in
  Stack.push (result, ref 0) open_blocks;
  while not (Stack.is_empty open_blocks) do
    let fields, next = Stack.top open_blocks in
    if !next = Array.length fields then ignore (Stack.pop open_blocks)
    else begin
      let at = !next in
      incr next;
      match item r with
      | Whole (String _ as v) -> fields.(at) <- remember v
      | Whole v -> fields.(at) <- v
      | Again n ->
        if n < 1 || n > !n_objects then raise Malformed;
        fields.(at) <- !objects.(!n_objects - n)
      | Fields (tag, size) ->
        if size > r.limit - r.at then raise Malformed;
        let inner = Array.make size (Int 0) in
        fields.(at) <- remember (Block (tag, inner));
        Stack.push (inner, ref 0) open_blocks
    end
  done;
  result.(0)

let unmarshal bytes =
  let r = { bytes; at = 0; limit = String.length bytes } in
  let length =
    match big_endian r 4 0 with
    | 0x8495A6BE ->
      let n = big_endian r 4 0 in
      r.at <- 20;
      n
    | 0x8495A6BF ->
      r.at <- 8;
      let n = big_endian r 8 0 in
      r.at <- 32;
      n
    | _ -> raise Malformed
  in
  if r.at > r.limit || length < 0 || length > r.limit - r.at then raise Malformed;
  read_value { r with limit = r.at + length }

type unit_wanted = { name : string; interface : string (* digest, 16 bytes *) }

(* A value may be shared in a circle; a list longer than its bytes cannot be. *)
let to_list limit v =
  let rec go n acc = function
    | Int 0 -> List.rev acc
    | Block (0, [| head; tail |]) when n < limit -> go (n + 1) (head :: acc) tail
    | _ -> raise Malformed
  in
  go 0 [] v

let to_digest = function
  | Block (0, [| String d |]) when String.length d = 16 -> Some d
  | _ -> None

(* (unit, interface digest option, implementation digest option, symbols) list *)
let of_globals_map bytes =
  let one = function
    | Block (0, fields) when Array.length fields >= 2 -> (
      match (fields.(0), to_digest fields.(1)) with
      | String name, Some interface -> Some { name; interface }
      | _ -> None)
    | _ -> raise Malformed
  in
  List.filter_map one (to_list (String.length bytes) (unmarshal bytes))

(* {magic; units}, a unit being {name; crc; imports of interfaces; ...}; its own is among them. *)
let of_plugin_header bytes =
  let limit = String.length bytes in
  let own name = function
    | Block (0, [| String n; digest |]) when n = name -> to_digest digest
    | _ -> None
  in
  let one = function
    | Block (0, fields) when Array.length fields >= 3 -> (
      match fields.(0) with
      | String name -> (
        match List.filter_map (own name) (to_list limit fields.(2)) with
        | interface :: _ -> Some { name; interface }
        | [] -> None)
      | _ -> raise Malformed)
    | _ -> raise Malformed
  in
  match unmarshal bytes with
  | Block (0, [| String _; units |]) -> List.filter_map one (to_list limit units)
  | _ -> raise Malformed
