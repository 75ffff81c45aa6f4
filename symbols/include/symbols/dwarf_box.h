/* The box: a process of its own in which libdwarf reads debug information.
 *
 * A hostile or damaged file may crash libdwarf, hold it for ever or have it eat memory. All of this
 * happens to the program heapsnap-dwarf, which has no files, no privileges, little memory and a
 * bounded time; this process sends it descriptors of ELF files and takes answers, each of which is
 * checked as if it came from an enemy. A file that breaks the box is given up, the box is started
 * anew and goes on with the others; what is then missing is told by notes.
 *
 * Starts with the first file that is opened in it. An answer costs some 15 microseconds, callers
 * keep what they have asked for. A box ends with hs_dwarf_box_free, or when its parent does. One
 * thread at a time. */
#ifndef HS_SYMBOLS_DWARF_BOX_H
#define HS_SYMBOLS_DWARF_BOX_H

#include "base/alloc.h"

/* Zero and NULL stand for what is said behind each. */
struct hs_dwarf_box_options {
    const char *program;   /* borrowed: heapsnap-dwarf beside this very program */
    uint64_t memory_bytes; /* address space of the box: 2 GiB */
    uint32_t answer_ms;    /* processor time of one answer: 30 s; four times as long by the clock */
};

struct hs_dwarf_box;

/* Makes a box. `options` may be NULL. Starts nothing yet. Fails with HS_LIMIT. */
hs_status hs_dwarf_box_new(const struct hs_dwarf_box_options *options, struct hs_dwarf_box **ret,
                           struct hs_error *err);

/* Ends the process. What was opened in the box must be closed before; NULL is nothing. */
void hs_dwarf_box_free(struct hs_dwarf_box *box);
HS_DEFINE_AUTO(hs_dwarf_box, free)

/* The notes about what is missing and why, a sentence each: files that broke the box, a box that
 * cannot be started. Texts last as long as the box. NULL has no notes. */
size_t hs_dwarf_box_n_notes(const struct hs_dwarf_box *box);
const char *hs_dwarf_box_note(const struct hs_dwarf_box *box, size_t number);

/* Writes how the process is confined, in words, by its last answer; "" before the first one. `text`
 * has HS_DWARF_BOX_HOW_BYTES. */
#define HS_DWARF_BOX_HOW_BYTES 128
void hs_dwarf_box_how(const struct hs_dwarf_box *box, char *text);

#endif
