/* What the reader of PostgreSQL's memory contexts says of a made backend, compared with what the
 * fake says that it made: every block with its size, state, owner and name, the bytes of each row
 * of the ledger, proofs and notes. Asserts with cmocka. */
#ifndef HS_TESTS_CHECK_POSTGRES_H
#define HS_TESTS_CHECK_POSTGRES_H

#include "fake_postgres.h"

extern struct fake_postgres backend;
extern struct hs_heaps backend_heaps; /* of the last read */

/* Of contexts, by number, and what is counted beyond them. */
struct backend_expected {
    unsigned unread, unmet; /* sets of contexts: damaged; led to by nobody */
    unsigned n_torn;        /* lists that are broken */
};
#define BACKEND_BIT(context) (1U << (context))

/* Reads the backend, in which all must be as it was made but for what is expected, and closes it.
 */
void backend_check(const struct backend_expected *e);
/* Nothing of it is read: all is malloc's. Is it told why? */
void backend_check_none(bool is_told);

/* ---- after a read */

/* The note that has these words; "" when there is none. */
const char *backend_note(const char *words, bool *ret_is_gap);
/* A row of the ledger; all 0 when there is none. Sums are there once the ledger is closed. */
struct hs_memory_row backend_row(const char *owner, enum hs_memory_state state);
void backend_check_notes(uint64_t n_others, uint64_t n_torn, uint64_t n_overlaps);

#define EACH_RELEASE(release) \
    for (unsigned release = 0; release < FAKE_POSTGRES_RELEASES; release++)

#endif
