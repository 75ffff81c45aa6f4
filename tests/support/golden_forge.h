/* What the sources of the golden files share: a sound file with one thing wrong and its checksums
 * right. */
#ifndef HS_TEST_GOLDEN_FORGE_H
#define HS_TEST_GOLDEN_FORGE_H

#include "golden_files.h"
#include "graph_builder.h"
#include "snap_forge.h"

struct hs_golden_forged {
    const char *name;
    void (*edit)(struct hs_forge *forge);
    unsigned verdict;
    const char *message;
    bool is_packed;
};

#define OPEN HS_GOLDEN_FAILS_OPEN
#define CHECK HS_GOLDEN_FAILS_CHECK

void hs_golden_string(struct hs_graph_builder *b, const char *text, hs_str *ret);
void hs_golden_set(struct hs_forge *f, enum hs_section_kind kind, size_t at, uint8_t value);
/* Value at `row` of the `column`-th of n_rows one-byte columns behind a one-byte count. */
void hs_golden_set_cell(struct hs_forge *f, enum hs_section_kind kind, size_t n_rows, size_t column,
                        size_t row, uint8_t value);

/* A C program: variables of several slots, types with members, where the memory was. */
void hs_golden_native(struct hs_graph_builder *b);
enum { HS_N_GOLDEN_FORGED_NATIVE = 27 };
extern const struct hs_golden_forged hs_golden_forged_native[HS_N_GOLDEN_FORGED_NATIVE];

/* Samples of three samplers, with the backtraces of their allocations. */
void hs_golden_samples(struct hs_graph_builder *b);
enum { HS_N_GOLDEN_FORGED_SAMPLES = 18 };
extern const struct hs_golden_forged hs_golden_forged_samples[HS_N_GOLDEN_FORGED_SAMPLES];

#endif
