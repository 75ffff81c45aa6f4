(* What function bodies tell: the variables in scope at a call, and those that a closure captures.

   Both are asked for by lines of the request:
     frame FILE LINE FIRST LAST      a call, as the frame tables say where it stands
     closure UNIT FUNCTION N         a closure's code, "name_123", and how many values it captured;
                                     FUNCTION and N may be "*"
     lambda UNIT FUNCTION FILE LINE FIRST LAST
                                     the same of a function without a name, by a place in it
     held UNIT SLOT IN FUNCTION      the closure of FUNCTION of the unit IN that a module's variable
                                     holds, whose type says what the function's own type leaves
                                     open: of `let memo f = let table = ... in fun x -> ...` and
                                     `let area = memo slow_area` the types in `table`
   A variable in scope need not be live at the call, so its type is only probable. *)

open Typedtree

type frame = { file : string; line : int; first_char : int; last_char : int }

(* `is_inner`: of a module within the unit, and not of a function. *)
type variable = { id : Ident.t; expr : Types.type_expr; is_inner : bool }

let max_variables = 64
let max_answers = 20_000
let frames : (string * int, frame) Hashtbl.t = Hashtbl.create 97
let closures : (string, string * int option) Hashtbl.t = Hashtbl.create 97

(* Answers wait until the units are evaluated. *)
type answer = {
  where : Modules.context;
  head : string list;
  variables : variable list;
  instance : (Types.type_expr * Roots.variable) option; (* the function's own type, who holds it *)
}

type lambda = { place : frame; of_unit : string; name : string }

let lambdas : (string * int, lambda) Hashtbl.t = Hashtbl.create 97

let answers : answer Queue.t = Queue.create ()

(* Who holds closures of a function, by its unit and name. *)
let holders : (string * string, string * int) Hashtbl.t = Hashtbl.create 97

(* Which lines are asked about at all, by their last bits: almost every expression is on none of
   them, and to look it up would cost more than all the rest. *)
let line_bits = 0x3FFF
let new_lines () = Bytes.make (line_bits + 1) '\000'
let mark lines line = Bytes.set lines (line land line_bits) '\001'
let is_marked lines line = Bytes.get lines (line land line_bits) <> '\000'
let frame_lines = new_lines ()
let lambda_lines : (string, Bytes.t) Hashtbl.t = Hashtbl.create 7 (* by unit *)

let answer a = if Queue.length answers < max_answers then Queue.push a answers

let place_of words =
  match List.rev words with
  | last :: first :: line :: (_ :: _ as file) -> (
    let file = String.concat " " (List.rev file) in
    match (int_of_string_opt line, int_of_string_opt first, int_of_string_opt last) with
    | Some line, Some first_char, Some last_char -> Some { file; line; first_char; last_char }
    | _ -> None)
  | _ -> None

let ask_frame text =
  match place_of (String.split_on_char ' ' text) with
  | Some f ->
    Hashtbl.add frames (f.file, f.line) f;
    mark frame_lines f.line;
    true
  | None -> false

let lines_of unit_name =
  match Hashtbl.find_opt lambda_lines unit_name with
  | Some lines -> lines
  | None ->
    let lines = new_lines () in
    Hashtbl.replace lambda_lines unit_name lines;
    lines

let ask_lambda text =
  match String.split_on_char ' ' text with
  | of_unit :: name :: words -> (
    match place_of words with
    | Some place ->
      Hashtbl.add lambdas (place.file, place.line) { place; of_unit; name };
      mark (lines_of of_unit) place.line;
      true
    | None -> false)
  | _ -> false

let ask_closure text =
  match String.split_on_char ' ' text with
  | [ unit_name; f; n ] when n = "*" || int_of_string_opt n <> None ->
    Hashtbl.add closures unit_name (f, int_of_string_opt n);
    true
  | _ -> false

let ask_held text =
  match String.split_on_char ' ' text with
  | [ unit_name; slot; of_unit; f ] -> (
    match int_of_string_opt slot with
    | Some slot ->
      Hashtbl.add holders (of_unit, f) (unit_name, slot);
      true
    | None -> false)
  | _ -> false

(* ---- scopes *)

(* Since 5.2 the end counts from the beginning of its own line; before, neither has room for what is
   far to the right (emitaux.ml). *)
let ends_on_own_line =
  match List.map int_of_string_opt (String.split_on_char '.' Sys.ocaml_version) with
  | Some major :: Some minor :: _ -> (major, minor) >= (5, 2)
  | _ -> false

(* A place as frame tables say it. *)
let start_of (loc : Location.t) =
  let at = loc.loc_start and ending = loc.loc_end in
  let first = at.pos_cnum - at.pos_bol in
  let first, last =
    if ends_on_own_line then (min first 0xFFFF, min (ending.pos_cnum - ending.pos_bol) 0xFFFF)
    else (min first 0xFF, min (ending.pos_cnum - at.pos_bol) 0x3FF)
  in
  (at.pos_fname, at.pos_lnum, first, last)

let rec first_of n = function x :: rest when n > 0 -> x :: first_of (n - 1) rest | _ -> []

let is_at first last f = f.first_char = first && f.last_char = last

let note_call where scope (e : expression) =
  let line = e.exp_loc.loc_start.pos_lnum in
  if is_marked frame_lines line then begin
    let file, line, first, last = start_of e.exp_loc in
    let is_it = is_at first last in
    if List.exists is_it (Hashtbl.find_all frames (file, line)) then
      answer
        { where; variables = first_of max_variables (List.filter (fun v -> not v.is_inner) scope);
          instance = None;
          head = "scope" :: file :: List.map string_of_int [ line; first; last ] }
  end

(* ---- closures *)

let used_in expressions =
  let used = Ident.Tbl.create 16 in
  let default = Tast_iterator.default_iterator in
  let expr (it : Tast_iterator.iterator) (e : expression) =
    (match e.exp_desc with
    | Texp_ident (Pident id, _, _) -> Ident.Tbl.replace used id ()
    | _ -> ());
    default.expr it e
  in
  let it = { default with expr } in
  List.iter (it.expr it) expressions;
  used

(* A function whose parameters have defaults is split in two by the closure conversion, outer ones
   first, and the inner one's parameters get new stamps: they come after all others
   (Simplif.split_default_wrapper). By unique name: the order in which that happens. *)
let remade : (string, int) Hashtbl.t = Hashtbl.create 97

let note_remade e =
  let parameters = Tree_view.with_defaults e in
  let one id =
    let name = Ident.unique_name id in
    if not (Hashtbl.mem remade name) then Hashtbl.replace remade name (Hashtbl.length remade)
  in
  match List.find_opt snd parameters with
  | Some (Some _, _) -> List.iter (fun (id, _) -> Option.iter one id) parameters
  | _ -> () (* none, or one that is no variable: it is not split *)

let compare_places a b =
  let place v = Hashtbl.find_opt remade (Ident.unique_name v.id) in
  match (place a, place b) with
  | None, None -> Ident.compare a.id b.id
  | a, b -> compare a b

let in_order variables = List.sort_uniq compare_places variables

(* Variables of a module within the unit may be fields of the unit's block, which nothing captures,
   or the closure's own: how many it has says which. *)
let say_captured where unit_name name of_type counts free =
  let one variables =
    let n = List.length variables in
    let held (holder, slot) =
      match Hashtbl.find_opt Roots.functions (holder, slot) with
      | Some variable ->
        answer
          { where; variables; instance = Some (of_type, variable);
            head = [ "held"; holder; string_of_int slot; unit_name; name; string_of_int n ] }
      | None -> ()
    in
    if n > 0 && counts n then begin
      answer
        { where; variables; instance = None;
          head = [ "captured"; unit_name; name; string_of_int n ] };
      List.iter held (Hashtbl.find_all holders (unit_name, name))
    end
  in
  let local = List.filter (fun v -> not v.is_inner) free in
  one local;
  if List.compare_lengths local free <> 0 then one free

let is_function (vb : value_binding) =
  match vb.vb_expr.exp_desc with Texp_function _ -> true | _ -> false

(* Functions that are defined together share one closure: it holds what any of them uses. In the
   order of their stamps, as the closure conversion stores them. *)
let note_functions where unit_name wanted scope (bindings : value_binding list) =
  let own = if wanted = [] || scope = [] then [] else Tree_view.bound bindings in
  let is_of (f, _) (id, _) = f = "*" || f = Ident.unique_name id in
  let is_any id = List.exists (fun w -> is_of w id) wanted in
  if List.exists is_any own && List.for_all is_function bindings then begin
    let used = used_in (List.map (fun vb -> vb.vb_expr) bindings) in
    let is_own v = List.exists (fun (id, _) -> Ident.same id v.id) own in
    let is_free v = Ident.Tbl.mem used v.id && not (is_own v) in
    let free = in_order (List.filter is_free scope) in
    let one (id, e) =
      let counts n =
        let counts = function None -> true | Some c -> c = n in
        List.exists (fun (f, count) -> is_of (f, count) (id, e) && counts count) wanted
      in
      say_captured where unit_name (Ident.unique_name id) e counts free
    in
    List.iter one own
  end

(* A function without a name, and what was in scope before it. *)
type within = { lambda : expression; outer_scope : variable list; is_named : bool }

let note_place where unit_name (w : within) (e : expression) =
  if not (w.is_named || e.exp_loc.loc_ghost || w.outer_scope = []) then begin
    let file, line, first, last = start_of e.exp_loc in
    let is_it l = l.of_unit = unit_name && is_at first last l.place in
    match List.find_opt is_it (Hashtbl.find_all lambdas (file, line)) with
    | None -> ()
    | Some l ->
      let used = used_in [ w.lambda ] in
      let is_free v = Ident.Tbl.mem used v.id in
      let free = in_order (List.filter is_free w.outer_scope) in
      say_captured where unit_name l.name w.lambda.exp_type (fun _ -> true) free
  end

(* Of bindings of a module within the unit, what no closure captures: constants, and functions that
   capture nothing themselves. *)
let are_static scope (bindings : value_binding list) =
  let is_constant (vb : value_binding) =
    match vb.vb_expr.exp_desc with
    | Texp_constant _ | Texp_construct (_, _, []) -> true
    | _ -> false
  in
  let capture_nothing () =
    let used = used_in (List.map (fun vb -> vb.vb_expr) bindings) in
    not (List.exists (fun v -> Ident.Tbl.mem used v.id) scope)
  in
  List.for_all is_constant bindings || (List.for_all is_function bindings && capture_nothing ())

(* Patterns are visited before the expressions that see their variables. *)
let walk where unit_name structure =
  let default = Tast_iterator.default_iterator in
  let scope = ref [] and depth = ref 0 and nesting = ref 0 in
  let within = ref None and named = ref [] in
  let wanted = Hashtbl.find_all closures unit_name and lines = lines_of unit_name in
  let enter (e : expression) =
    match (e.exp_desc, !within) with
    | Texp_function _, Some w when Tree_view.is_body w.lambda e -> ()
    | Texp_function _, _ ->
      note_remade e;
      within := Some { lambda = e; outer_scope = !scope; is_named = List.memq e !named }
    | _ -> ()
  in
  let name (bindings : value_binding list) =
    named := List.rev_append (List.map (fun vb -> vb.vb_expr) bindings) !named
  in
  let add (id, expr) = scope := { id; expr; is_inner = !depth = 0 } :: !scope in
  let pat (type k) _ (p : k general_pattern) =
    if !depth > 0 || !nesting > 0 then List.iter add (Tree_view.of_pattern p)
  in
  let expr (it : Tast_iterator.iterator) (e : expression) =
    let outer = !within and outer_names = !named and outer_scope = !scope in
    incr depth;
    enter e;
    (match !within with
    | Some w when is_marked lines e.exp_loc.loc_start.pos_lnum -> note_place where unit_name w e
    | _ -> ());
    (match e.exp_desc with
    | Texp_apply _ -> note_call where !scope e
    | Texp_let (_, bindings, _) ->
      name bindings;
      note_functions where unit_name wanted !scope bindings
    | _ -> ());
    default.expr it e;
    decr depth;
    scope := outer_scope;
    within := outer;
    named := outer_names
  in
  let case (type k) (it : Tast_iterator.iterator) (c : k case) =
    let outer_scope = !scope in
    default.case it c;
    scope := outer_scope
  in
  let module_expr (it : Tast_iterator.iterator) (m : module_expr) =
    let outer_scope = !scope in
    let is_structure = match m.mod_desc with Tmod_structure _ -> 1 | _ -> 0 in
    nesting := !nesting + is_structure;
    default.module_expr it m;
    nesting := !nesting - is_structure;
    scope := outer_scope
  in
  let structure_item (it : Tast_iterator.iterator) (item : structure_item) =
    match item.str_desc with
    | Tstr_value (_, bindings) when !nesting > 0 ->
      let outer_scope = !scope in
      name bindings;
      note_functions where unit_name wanted outer_scope bindings;
      default.structure_item it item;
      if are_static outer_scope bindings then scope := outer_scope
    | _ -> default.structure_item it item
  in
  let it = { default with expr; pat; case; module_expr; structure_item } in
  it.structure it structure

let on_structure where unit_name (structure : structure) =
  if Hashtbl.length frames + Hashtbl.length lambdas > 0 || Hashtbl.mem closures unit_name then
    Hashtbl.reset remade;
    try walk where unit_name structure with Stack_overflow -> ()

(* Binds the variables of a function's own type to what they are in the type of who holds it. *)
let rec bind_function fuel bound e ((context, held) : Roots.variable) =
  match (Type_view.view e, Type_view.view held) with
  | Arrow (a, r), Arrow (a', r') when fuel > 0 ->
    let argument = Nodes.eval (Nodes.env context []) Nodes.max_fuel a' in
    bind_function (fuel - 1) (Nodes.bind 20 bound a argument) r (context, r')
  | Poly e, _ when fuel > 0 -> bind_function (fuel - 1) bound e (context, held)
  | _, Poly held when fuel > 0 -> bind_function (fuel - 1) bound e (context, held)
  | _ -> Nodes.bind 20 bound e (Nodes.eval (Nodes.env context []) Nodes.max_fuel held)

(* After the roots: what was found since it was last said, with the types of the variables. *)
let say () =
  let variable env v =
    Answer.child (Nodes.eval env Nodes.max_fuel v.expr, Ident.name v.id)
  in
  let one a =
    Budget.check ();
    Answer.line (List.map Answer.text a.head);
    let bound =
      match a.instance with Some (e, holder) -> bind_function 20 [] e holder | None -> []
    in
    let env = Nodes.env a.where bound in
    List.iter (variable env) a.variables
  in
  Queue.iter one answers;
  Queue.clear answers;
  Answer.close ()
