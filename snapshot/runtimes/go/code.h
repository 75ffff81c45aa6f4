/* Types that code tells (private to snapshot/runtimes/go): which description it loads before it
 * asks the runtime for memory or for an entry of a map, and where it puts what it gets. So plain
 * pointers have types: package variables, words of frames, closures; in stripped programs, too.
 *
 *     lea  rax, [type main.store]          a value of OBJECT main.store
 *     call runtime.newobject
 *     mov  [main.registry], rax            fact: the word main.registry leads to a main.store
 *     mov  rdx, [main.registry]            a value: the WORD there
 *     mov  rbx, [rdx + 16]                 the word behind it
 *     lea  rax, [type map[int]*main.order]
 *     call runtime.mapaccess1_fast64       fact: that one is a map[int]*main.order
 *
 * A fact is a guess until the object fits: its size and its pointers must be those of the type
 * (typing.c). Each function is gone through once, in order of address. */
#ifndef HS_GO_CODE_H
#define HS_GO_CODE_H

#include "abi.h"
#include "goroutines.h"
#include "typing.h"

enum hs_go_value_kind {
    HS_GO_NOTHING,   /* of which nothing is known */
    HS_GO_CONSTANT,  /* `at` itself */
    HS_GO_OBJECT,    /* leads to values of the type `at`, held as `holding` */
    HS_GO_SMALL_MAP, /* leads to a map that the call at `at` makes */
    HS_GO_WORD,      /* the word at `at` */
    HS_GO_RESULT,    /* the first result of the function at `at` */
    HS_GO_ARGUMENT,  /* an argument of the function at `at`, number `holding` */
    HS_GO_CLOSURE,   /* a closure of the function at `at` */
    HS_GO_FRAME,     /* the address offsets[0] behind where the stack of the function `at` ends */
    HS_GO_IN_FRAME,  /* the word there, of which nothing else is known */
};
enum { HS_GO_STEPS_MAX = 3 };

struct hs_go_value {
    uint8_t kind;    /* enum hs_go_value_kind */
    uint8_t holding; /* enum hs_go_holding */
    uint8_t n_steps; /* from there to the word at an offset behind it, and so on */
    int32_t offsets[HS_GO_STEPS_MAX];
    hs_addr at;
};

/* A place, HS_GO_WORD or HS_GO_FRAME, whose word leads to what a value says; also one behind the
 * first argument of a function, HS_GO_ARGUMENT. */
struct hs_go_fact {
    struct hs_go_value place;
    struct hs_go_value value;
};

/* A variable, HS_GO_CONSTANT or HS_GO_FRAME, whose address a method is called with; of a frame also
 * a map's record. */
struct hs_go_variable {
    struct hs_go_value place;
    hs_addr method;
    uint16_t word; /* number + 1 of the method's receiver that leads to it; 0: it is the receiver */
    hs_addr type;  /* of its receiver, or the map's; 0: not known by its name */
};

struct hs_go_code {
    const struct hs_go_heap *heap;
    struct hs_go_fact *facts; /* owned: of words */
    size_t n_facts, facts_capacity;
    struct hs_go_fact *slots; /* owned: of frames; by function, distance */
    size_t n_slots, slots_capacity;
    struct hs_go_variable *variables; /* owned: by kind of place, then place */
    size_t n_variables, variables_capacity;
    struct hs_dict results;     /* function -> number of a value */
    struct hs_dict arguments;   /* function * 4 + number -> number of a value */
    struct hs_dict receivers;   /* function -> number of the first word that it is called with */
    struct hs_go_value *values; /* owned */
    size_t n_values, values_capacity;
    struct hs_dict closures;   /* function -> the type of its closures */
    struct hs_dict map_words;  /* function and word of its first argument -> type of that map */
    struct hs_dict small_maps; /* call -> the type of the map that it makes, by who uses it */
    struct hs_dict types;      /* by hash of its name: the address of a type; 0: of several */
    struct hs_dict effects;    /* function of the runtime -> what a call of it does */
    struct hs_dict on_stack;   /* functions whose frames are there */
};

void hs_go_code_fini(struct hs_go_code *code);
/* Goes through all functions. Some 10 ns an instruction. */
hs_status hs_go_read_code(const struct hs_go_heap *heap, const struct hs_go_goroutines *gs,
                          struct hs_go_code *ret, struct hs_error *err);
/* Finds the largest type of a package variable that begins at an address; 0: none is known. */
hs_addr hs_go_type_of_static(const struct hs_go_code *code, hs_addr at);
/* Finds a type that code has named, "runtime.hchan"; 0: there is none, or several. */
hs_addr hs_go_type_named(const struct hs_go_code *code, const char *name);
/* Finds what a value leads to, by results and arguments of functions. False: it is not known. */
bool hs_go_value_of(const struct hs_go_code *code, const struct hs_go_value *value, hs_addr *ret,
                    enum hs_go_holding *ret_holding);

#endif
