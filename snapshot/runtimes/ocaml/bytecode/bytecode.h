/* Bytecode programs of OCaml 4.13 and 4.14, which ocamlrun runs or which have it in themselves
 * (-custom): the heap is that of native programs, the roots are others.
 *
 *   caml_global_data -> | unit | unit | exception | ...      one block; the file says which is
 * which stack of a thread:  stack_low ... sp | values, return addresses | stack_high
 *
 * Return addresses lead into code in memory of malloc, which is no block. While the interpreter
 * runs, its stack pointer is in a register: then all that may be one counts, and the slots are
 * conservative. Sources: runtime/roots_byt.c, interp.c, startup_byt.c, stacks.c and
 * systhreads/st_stubs.c of 4.13.1 and 4.14.2. */
#ifndef HS_BYTECODE_BYTECODE_H
#define HS_BYTECODE_BYTECODE_H

#include "roots.h"

/* Names of globals by their number: "Stdlib__Hashtbl"; "" where there is none. */
struct hs_bytecode_names {
    hs_str *names; /* owned */
    size_t n, capacity;
};

/* Reads the table of symbols of the program's file, as that is found: SYMB, by its last bytes.
 * Without it globals have numbers. In both phases of a walk: the first copies its path. */
hs_status hs_bytecode_names(struct hs_root_walk *walk, struct hs_bytecode_names *ret);
/* Finds it in the bytes of a file. HS_FORMAT when these are none of a bytecode program. */
hs_status hs_bytecode_names_of(const uint8_t *bytes, size_t n_bytes, struct hs_strtab *strings,
                               struct hs_bytecode_names *ret, struct hs_error *err);

/* Walks the globals and the stacks of the interpreter; in both phases. */
hs_status hs_bytecode_walk_globals(struct hs_root_walk *walk);
hs_status hs_bytecode_walk_stacks(struct hs_root_walk *walk);

#endif
