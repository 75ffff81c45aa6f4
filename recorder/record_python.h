/* Frames of CPython's code in the backtraces of its allocations: 3.11 to 3.14, read as its headers
 * lay them out. Nothing of Python's is called but the question which thread state is current,
 * which neither allocates nor waits.
 *
 * All that is read may be anything (a build that is not as its version says, a thread without the
 * interpreter's lock): no word is read before its page was found to be mapped, objects count only
 * when their type is the one expected, and walks end. What does not fit has no frames of Python. */
#ifndef HS_RECORD_PYTHON_H
#define HS_RECORD_PYTHON_H

#include "record_table.h"
#include "record_unwind.h"
#include <heapsnap/python_layout.h>

/* The interpreter of this process; `thread` is NULL without one that is known. */
struct hs_record_python {
    const struct hs_python_layout *layout;
    void *(*thread)(void); /* the state of the calling thread while it has the lock; else NULL */
    uint64_t code_type, str_type, bytes_type;
    void (*after_sample)(void); /* of a thread that runs Python; NULL: nothing is to be done */
};
extern struct hs_record_python hs_record_python __attribute__((visibility("hidden")));

/* Looks for it among the modules that are loaded. Only where there is a loader. */
void hs_record_python_find(void);
/* Returns the layout of that version; NULL: unknown. */
const struct hs_python_layout *hs_record_python_layout(unsigned minor);

/* A section for functions that stand before the interpreter's allocators: their code lies together,
 * so that return addresses into it can be told. */
#define HS_RECORD_POOL __attribute__((section("hs_record_pools")))
/* Takes what lies beneath them out of a backtrace: the block was asked of them. */
void hs_record_python_cut(struct hs_record_backtrace *backtrace);

/* Puts places of scripts into a backtrace of the calling thread, each where the interpreter's loop
 * ran it and in place of the loop's own frame; `sp` means nothing afterwards. True when there are
 * any. Under the recorder's lock. */
bool hs_record_python_mix(struct hs_record_table *table, struct hs_record_backtrace *backtrace);

/* ---- record_script.c: places */
/* Returns n bytes at an address, if all of them may be read; else NULL. Holds until
 * hs_record_script_begin. */
const uint8_t *hs_record_script_bytes(uint64_t at, uint64_t n_bytes);
/* Reads a word; 0 when it cannot be read. */
uint64_t hs_record_script_word(uint64_t at);
/* Begins another sample: pages may have gone. */
void hs_record_script_begin(void);
/* Finds the place of an instruction (its address) of a code object, as a frame: HS_RECORD_SCRIPT
 * and where it is kept; 0 when it has no name, or no room. */
uint64_t hs_record_script_place(struct hs_record_table *table, uint64_t code, uint64_t instruction);
/* Keeps a place whose texts lie from words[1] on, the file's first, and returns it as a frame; 0
 * without room. */
uint64_t hs_record_script_keep(struct hs_record_table *table, uint64_t words[HS_RECORD_FRAMES_MAX],
                               size_t n_file, size_t n_function, uint32_t line);
/* Forgets what is kept: the table begins anew. */
void hs_record_script_forget(void);

#endif
