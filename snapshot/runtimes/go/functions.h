/* The table of functions of a Go program, which no strip takes away: names, files and lines, sizes
 * of frames, which words of them are pointers (private to snapshot/runtimes/go): symtab.go,
 * runtime2.go (_func), stkframe.go, stack.go. */
#ifndef HS_GO_FUNCTIONS_H
#define HS_GO_FUNCTIONS_H

#include "base/table.h"
#include "heap.h"

enum { HS_GO_NAME_BYTES = 512 };

struct hs_go_function {
    hs_addr entry;
    hs_addr record; /* its _func */
    int32_t name;   /* offset of its name */
    uint32_t pcsp, pcfile, pcln, n_pcdata, file_table;
    uint8_t id; /* funcID: of functions that the runtime treats in a way of their own */
    uint8_t n_funcdata;
};

/* Finds the function that an address is in. O(log n). */
bool hs_go_function_at(const struct hs_go_heap *heap, hs_addr pc, struct hs_go_function *ret);
/* "main.stuck", "net/http.(*conn).serve", cut at n bytes. False: it has none. */
bool hs_go_function_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                         char *text, size_t n);
/* Finds the source file and the line of an instruction; false: they are not known. */
bool hs_go_line(const struct hs_go_heap *heap, const struct hs_go_function *function, hs_addr pc,
                char *file, size_t n, uint32_t *ret_line);
/* Reads the table at `offset`, by address: the value at pc. False: it has none. The result of a
 * damaged table is a value, never a read beyond. */
bool hs_go_pc_value(const struct hs_go_heap *heap, const struct hs_go_function *function,
                    uint32_t offset, hs_addr pc, int32_t *ret);
/* Names the outermost of the calls that were inlined at an instruction of the function. False:
 * there is none. */
bool hs_go_inlined_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                        hs_addr pc, char *text, size_t n);
/* Names the innermost of them, or the function itself. False: it has no name. */
bool hs_go_innermost_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                          hs_addr pc, char *text, size_t n);
/* Goes from an instruction of an inlined call to that which the call stands for, one level out.
 * False: it is of no inlined call. */
bool hs_go_step_out(const struct hs_go_heap *heap, const struct hs_go_function *function,
                    hs_addr *pc);
/* Visits the direct calls of some functions, by their first bytes -> a value: from which function,
 * and the address of the call. In order of address; each function's code is read once. */
hs_status hs_go_each_call(const struct hs_go_heap *heap, const struct hs_dict *functions,
                          hs_status (*visit)(void *context, const struct hs_go_function *caller,
                                             hs_addr at, uint64_t value, struct hs_error *err),
                          void *context, struct hs_error *err);
/* Visits all functions that have a name. */
hs_status hs_go_each_function(const struct hs_go_heap *heap,
                              hs_status (*visit)(void *context, hs_addr entry, const char *name,
                                                 struct hs_error *err),
                              void *context, struct hs_error *err);
/* The offset of table `which` of those by address; 0: none. And the address of one of the whole
 * function; 0: none. */
uint32_t hs_go_pcdata(const struct hs_go_heap *heap, const struct hs_go_function *function,
                      uint32_t which);
hs_addr hs_go_funcdata(const struct hs_go_heap *heap, const struct hs_go_function *function,
                       uint32_t which);

#endif
