(* The answer: lines of fields between tabs. Types get their numbers when they are first mentioned,
   and are described in that order, so whatever was said when we end early closes over itself but
   for the last types. *)

let max_text = 512
let max_bytes = 128 lsl 20
let max_types = 250_000
let bytes = ref 0
let rows = ref 0
let children = ref 0
let roots = ref 0
let described = ref 0
let numbers : (int, int) Hashtbl.t = Hashtbl.create 997
let waiting : Nodes.t Queue.t = Queue.create ()
let families : (int * int, int) Hashtbl.t = Hashtbl.create 7

(* Types with an existential that has a witness: node -> families *)
let witnessed : (int, int) Hashtbl.t = Hashtbl.create 7

let escape text =
  let b = Buffer.create (String.length text) in
  let one c =
    if c < ' ' || c = '\127' || c = '\\' then Printf.bprintf b "\\x%02X" (Char.code c)
    else Buffer.add_char b c
  in
  String.iter one text;
  if Buffer.length b <= max_text then Buffer.contents b
  else begin
    (* not in the middle of an escape or of a character *)
    let cut = ref (max_text - 3) in
    for back = 1 to 3 do
      if Buffer.nth b (max_text - 3 - back) = '\\' then cut := max_text - 3 - back
    done;
    while !cut > 0 && Char.code (Buffer.nth b !cut) land 0xC0 = 0x80 do decr cut done;
    Buffer.sub b 0 !cut ^ "..."
  end

let text t = if t = "" then "-" else escape t

let line fields =
  let l = String.concat "\t" fields in
  bytes := !bytes + String.length l + 1;
  if !bytes > max_bytes then raise (Budget.Over "bytes");
  print_string l;
  print_char '\n'

let number (node : Nodes.t) =
  match Hashtbl.find_opt numbers node.id with
  | Some n -> string_of_int n
  | None ->
    let n = Hashtbl.length numbers in
    if n >= max_types then "-"
    else begin
      Hashtbl.replace numbers node.id n;
      Queue.push node waiting;
      string_of_int n
    end

let reference (node : Nodes.t) = if Nodes.is_immediate node then "-" else number node

let family f =
  match Hashtbl.find_opt families f with
  | Some n -> n
  | None ->
    let n = Hashtbl.length families in
    Hashtbl.replace families f n;
    n

let child (node, label) =
  incr children;
  line [ "child"; reference node; text label ]

let content_name (content : Rows.content) =
  match content with
  | Nothing -> "leaf"
  | Fields _ -> "fields"
  | Each _ -> "all"
  | Extension -> "ext"
  | Hashed _ -> "hash"

let row (node : Nodes.t) number (r : Rows.row) =
  incr rows;
  let size = match r.size with Any -> "*" | Exactly n -> string_of_int n in
  line [ "row"; number; string_of_int r.tag; size; content_name r.content; text r.constructor ];
  (match r.content with
  | Nothing | Extension -> ()
  | Fields l -> List.iter child l
  | Each n -> child (n, "")
  | Hashed l ->
    let case (hash, name, n) =
      line [ "case"; string_of_int hash; text name; reference n ]
    in
    List.iter case l);
  let witness (w : Rows.witness) =
    let f = family w.family in
    Hashtbl.add witnessed node.id f;
    line [ "witness"; string_of_int w.field; string_of_int w.payload; string_of_int f ]
  in
  List.iter witness r.witnesses

let kind (node : Nodes.t) (r : Rows.t) =
  match (node.key, r) with
  | Untyped _, _ -> "unknown"
  | _, { is_abstract = true; _ } -> "abstract"
  | Leaf _, _ -> "leaf"
  | _ -> "block"

let describe (node : Nodes.t) =
  let r = Rows.of_node node in
  let n = Hashtbl.find numbers node.id in
  incr described;
  line [ "type"; kind node r; text (Nodes.head node); text (Nodes.display node) ];
  Option.iter (fun inner -> line [ "inner"; reference inner ]) r.inner;
  (match Nodes.unfold node with
  | Some other -> line [ "alias"; reference other ]
  | None -> ());
  List.iter (row node (string_of_int n)) r.rows

(* Describes every type that was mentioned, and those that they mention. *)
let close () =
  while not (Queue.is_empty waiting) do
    Budget.check ();
    describe (Queue.pop waiting)
  done;
  flush stdout

let finish stopped =
  if stopped <> "" then line [ "#stopped " ^ stopped ];
  Printf.printf "#end types=%d rows=%d children=%d roots=%d\n%!" !described !rows !children !roots
