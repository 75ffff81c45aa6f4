/* Samples of the heap of an OCaml runtime in the process, drawn by the runtime's own sampler
 * (Gc.Memprof: runtime/memprof.c), which is given callbacks of ours. Blocks move: the runtime keeps
 * the number of each sample beside the block, and the table has the sample by that number.
 *
 * record_ocaml.c reads the backtraces that the runtime makes, record_core.c enters samples, and
 * record_ocaml_start.c, in the preloaded library alone, finds the runtime and begins. */
#ifndef HS_RECORD_OCAML_H
#define HS_RECORD_OCAML_H

#include "record_table.h"

#define HS_RECORD_OCAML_FRAMES 64U /* that the runtime is asked for */

enum hs_record_ocaml_source { HS_RECORD_MINOR, HS_RECORD_MAJOR, HS_RECORD_OUTSIDE };

struct hs_record_ocaml_sample {
    uint64_t n_words;   /* without the header */
    uint64_t n_samples; /* words of it that were drawn */
    enum hs_record_ocaml_source source;
    const uint64_t *frames; /* as the runtime has them, the innermost first; at most
                               HS_RECORD_OCAML_FRAMES */
    unsigned n_frames;
};

/* Puts the backtrace into frames that the table and the trace know, and returns how many: places
 * of source, inlined functions each on its own, and return addresses of code that has none. Under
 * the recorder's lock. Whatever a word is, nothing is read that is not mapped. */
unsigned hs_record_ocaml_frames(struct hs_record_table *table,
                                const struct hs_record_ocaml_sample *sample,
                                uint64_t ret[HS_RECORD_FRAMES_MAX]);
/* Tells which packing places of source have: that since OCaml 5.2. */
void hs_record_ocaml_is_new(bool is_new);
/* Forgets what is known of places: the table begins anew, or code was unloaded. */
void hs_record_ocaml_forget(void);

/* ---- record_core.c */
/* Enters a sample; *ret_number is what the runtime is to keep. False: it is not to be followed. */
bool hs_record_ocaml_allocated(const struct hs_record_ocaml_sample *sample, uint64_t *ret_number);
/* Enters that it came into the major heap; false when it is not to be followed any more. */
bool hs_record_ocaml_promoted(uint64_t number);
void hs_record_ocaml_freed(uint64_t number);
/* Tells readers what became of it. Samples that are not to be followed any more are forgotten. */
void hs_record_ocaml_became(enum hs_record_ocaml what);
/* Tells whether this process records, and whether OCaml's heap is wanted. */
bool hs_record_ocaml_may_begin(bool *ret_is_wanted);

#endif
