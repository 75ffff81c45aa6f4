(* How functions fill an existential constructor: `fun id v -> Dyn (tag, (id, v))` says what the
   payload is made of. Functions that are made by it have its type without saying so. *)

open Typedtree

type payload = Parameter of int | Tuple_of of int list

type seen = { where : Modules.context; result : Types.type_expr; arity : int; payload : payload }

let max_seen = 10_000
let all : seen Queue.t = Queue.create ()

let place_of parameters (e : expression) =
  match e.exp_desc with
  | Texp_ident (Pident id, _, _) ->
    let is_it (_, p) = match p with Some p -> Ident.same p id | None -> false in
    Option.map fst (List.find_opt is_it (List.mapi (fun i p -> (i, p)) parameters))
  | _ -> None

(* Labels of tuples differ between the compilers' trees; the walk over them does not. *)
let in_tuple (e : expression) =
  let parts = ref [] and default = Tast_iterator.default_iterator in
  default.expr { default with expr = (fun _ part -> parts := part :: !parts) } e;
  List.rev !parts

let payload_of parameters (e : expression) =
  match e.exp_desc with
  | Texp_tuple _ ->
    let places = List.map (place_of parameters) (in_tuple e) in
    if List.mem None places then None else Some (Tuple_of (List.filter_map Fun.id places))
  | _ -> Option.map (fun i -> Parameter i) (place_of parameters e)

(* One argument is made of parameters. The others are not, so the closure captured them. *)
let note where parameters (body : expression) =
  match body.exp_desc with
  | Texp_construct (_, { cstr_existentials = _ :: _; cstr_res; _ }, arguments) -> (
    match List.filter_map (payload_of parameters) arguments with
    | [ payload ] when Queue.length all < max_seen ->
      let arity = List.length parameters in
      Queue.push { where; result = cstr_res; arity; payload } all
    | _ -> ())
  | _ -> ()

let on_structure where (structure : structure) =
  let default = Tast_iterator.default_iterator in
  let expr it (e : expression) =
    (match e.exp_desc with
    | Texp_function _ -> (
      match Tree_view.parameters e with
      | (_ :: _ as parameters), body -> note where parameters body
      | [], _ -> ())
    | _ -> ());
    default.expr it e
  in
  let it = { default with expr } in
  try it.structure it structure with Stack_overflow -> ()

let by_result : (int * int, payload) Hashtbl.t Lazy.t =
  lazy
    (let table = Hashtbl.create 7 in
     let one s =
       let node = Nodes.eval (Nodes.env s.where []) Nodes.max_fuel s.result in
       if not (Nodes.is_untyped node) then Hashtbl.add table (node.id, s.arity) s.payload
     in
     Queue.iter one all;
     table)

(* What a function with these parameters puts into its result: as all that were seen do. A function
   of one parameter needs no witness of its own. *)
let payload (result : Nodes.t) (parameters : Nodes.t list) =
  let arity = List.length parameters in
  match (Hashtbl.find_all (Lazy.force by_result) (result.id, arity), parameters) with
  | [], [ only ] -> Some only
  | first :: rest, _ when List.for_all (( = ) first) rest -> (
    match first with
    | Parameter i -> Some (List.nth parameters i)
    | Tuple_of places ->
      let part place = (List.nth parameters place : Nodes.t).id in
      Some (Nodes.tuple (List.mapi (fun i _ -> string_of_int i) places) (List.map part places)))
  | _ -> None
