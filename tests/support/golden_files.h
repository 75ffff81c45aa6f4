/* The golden files of tests/golden: what each is called, how it is made, what a reader says to it.
 * make_golden writes them; golden_test makes them again and compares. */
#ifndef HS_TEST_GOLDEN_FILES_H
#define HS_TEST_GOLDEN_FILES_H

#include "base/types.h"

enum hs_golden_verdict {
    HS_GOLDEN_OPENS,       /* opens and passes the deep check */
    HS_GOLDEN_FAILS_OPEN,  /* must be rejected when opened */
    HS_GOLDEN_FAILS_CHECK, /* opens, and the deep check must reject it */
    HS_N_GOLDEN_VERDICTS
};
const char *hs_golden_verdict_name(unsigned verdict);

struct hs_golden_file {
    char name[48]; /* "example.snap" */
    unsigned verdict;
    char message[80]; /* must occur in the error */
    bool is_packed;   /* made with zstd: its bytes may differ between versions of zstd */
    bool is_kept;     /* of an older version: nothing makes it any more, `bytes` is NULL */
    void *bytes;      /* owned */
    size_t n_bytes;
};

size_t hs_golden_count(void);
/* at < hs_golden_count() */
void hs_golden_make(size_t at, struct hs_golden_file *ret);
void hs_golden_fini(struct hs_golden_file *file);

#endif
