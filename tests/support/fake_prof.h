/* jemalloc's profiler in a process made by fake_jemalloc.h: backtraces, their counters, and blocks
 * that are samples of them. All of it lies behind the root, in the data. */
#ifndef HS_TESTS_FAKE_PROF_H
#define HS_TESTS_FAKE_PROF_H

#include "fake_jemalloc.h"

#define FAKE_PROF_CODE_AT ((hs_addr)0x560000000000)
#define FAKE_PROF_CODE_END (FAKE_PROF_CODE_AT + 0x10000)
#define FAKE_PROF_STACK_AT ((hs_addr)0x7fff00000000)

enum { FAKE_PROF_STACK_BYTES = 8192, FAKE_PROF_MAPPINGS = 6 };

/* Offsets, written by jemalloc's headers and not by the reader's table. */
struct fake_prof {
    struct fake_jemalloc *fake;
    struct hs_mapping mappings[FAKE_PROF_MAPPINGS]; /* those of fake, code, a first stack */
    uint8_t stack[FAKE_PROF_STACK_BYTES];
    unsigned n_contexts;
};

/* After fake_jemalloc_init. The stack has `environment` (may be NULL) near its end. */
void fake_prof_init(struct fake_prof *prof, struct fake_jemalloc *fake, const char *environment);

/* A backtrace of n_frames (at most 8) in code, and a tctx with counters of zero; its number. */
unsigned fake_prof_context(struct fake_prof *prof, unsigned n_frames);
hs_addr fake_prof_tctx_at(const struct fake_prof *prof, unsigned context);
hs_addr fake_prof_gctx_at(const struct fake_prof *prof, unsigned context);
/* The bytes at an address of one of the two, to be damaged. */
uint8_t *fake_prof_bytes(struct fake_prof *prof, hs_addr address);

/* A live block of class szind (of usable_bytes) that is a sample of the context, which counts it as
 * one of so many samples a byte. Returns its extent. */
unsigned fake_prof_sample(struct fake_prof *prof, unsigned context, unsigned szind,
                          uint64_t usable_bytes, unsigned lg_period);

#endif
