(* The table of source names, line by line: what heapsnap-ocaml-names says, and the part of the
   answer of heapsnap-ocaml-types that stands for it. *)

type outcome = Named | Partial | Stale | Missing

let printable s = String.map (fun c -> if c < ' ' || c = '\127' then '?' else c) s

let lines_of_slots (wanted : Wanted.unit_wanted) slots =
  let digest = Digest.to_hex wanted.interface in
  List.mapi
    (fun i (s : Slots.slot) ->
      let start = s.loc.loc_start in
      let is_known = start.pos_fname <> "" && start.pos_fname <> "_none_" && start.pos_lnum > 0 in
      Printf.sprintf "%s\t%d\t%s\t%s\t%s\t%s" (printable wanted.name) i (printable s.path)
        (if is_known then printable start.pos_fname else "")
        (if is_known then string_of_int start.pos_lnum else "")
        digest)
    slots

(* Has the unit's block a field for each slot, or one more that is the cache of methods? *)
let is_block_of size structure n =
  match size with
  | None -> true
  | Some size -> n = size || (n + 1 = size && Slots.uses_methods structure)

(* The fields' names; `slots` have been found to be those of the block. *)
let of_implementation size slots =
  if size = Some (List.length slots + 1) then slots @ [ Slots.method_cache ] else slots

(* Where there is no implementation. *)
let of_interface size signature =
  let exported = Slots.of_signature signature in
  let n = List.length exported in
  match size with
  | Some s when n > s -> (Stale, [])
  | Some s when n = s -> (Named, exported)
  | _ -> (Partial, exported)

(* A unit of types alone is in the list of the program, and has no block in it. *)
let has_block (request : Request.t) (u : Wanted.unit_wanted) =
  Hashtbl.length request.slots = 0 || Hashtbl.mem request.slots u.name

let max_examples = 3

(* The largest units of an outcome. *)
let examples (request : Request.t) outcomes word outcome =
  let fields (u : Wanted.unit_wanted) =
    Option.value (Hashtbl.find_opt request.slots u.name) ~default:0
  in
  let largest a b = compare (fields b) (fields a) in
  let units = List.filter_map (fun (u, o) -> if o = outcome then Some u else None) outcomes in
  let chosen = List.filteri (fun i _ -> i < max_examples) (List.stable_sort largest units) in
  let name (u : Wanted.unit_wanted) = printable u.name in
  if chosen = [] then []
  else [ Printf.sprintf "#%s %s" word (String.concat " " (List.map name chosen)) ]

(* The end of the table. *)
let summary request outcomes =
  let count o = List.length (List.filter (fun (_, found) -> found = o) outcomes) in
  [ "#compiler " ^ Sys.ocaml_version;
    Printf.sprintf "#units wanted=%d named=%d partial=%d stale=%d missing=%d"
      (List.length outcomes) (count Named) (count Partial) (count Stale) (count Missing) ]
  @ examples request outcomes "partial" Partial
  @ examples request outcomes "stale" Stale
  @ examples request outcomes "missing" Missing
