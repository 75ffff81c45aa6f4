#include "series_sets.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/key_file.h"
#include "base/alloc.h"

enum { MOST_SETS = 512 };

/* The roots that a set is called by. */
struct members {
    hs_str ids[HS_KEY_SET_NAMES];
    unsigned n;
};

struct pair {
    double score;
    uint32_t old, new;
};

struct pairing {
    struct hs_strtab names;
    struct members *old, *new; /* owned */
    struct pair *pairs;        /* owned */
    size_t n_pairs, capacity;
    uint8_t *is_taken, *has_row; /* owned: of the old, of the new */
};

static hs_status members_of(struct hs_strtab *names, const char *name, struct members *ret,
                            struct hs_error *err)
{
    struct members members = {0};
    for (const char *at = name; *at != '\0' && members.n < HS_KEY_SET_NAMES;) {
        const char *comma = strstr(at, ", "), *rest = strstr(at, " and ");
        size_t n = comma != NULL ? (size_t)(comma - at) : strlen(at);
        if (comma == NULL && rest != NULL)
            n = (size_t)(rest - at);
        HS_TRY(hs_strtab_add_n(names, at, n, &members.ids[members.n++], err));
        at = comma != NULL ? comma + 2 : "";
    }
    *ret = members;
    return HS_OK;
}

static unsigned n_common(const struct members *a, const struct members *b)
{
    unsigned n = 0;
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned k = 0; k < b->n; k++)
            if (a->ids[i] == b->ids[k]) {
                n++;
                break;
            }
    return n;
}

static hs_status list_pairs(struct pairing *p, const struct series_set *old, size_t n_old,
                            const struct series_set *new, size_t n_new, struct hs_error *err)
{
    for (uint32_t i = 0; i < n_old; i++)
        for (uint32_t k = 0; k < n_new; k++) {
            const struct members *a = &p->old[i], *b = &p->new[k];
            unsigned most = a->n > b->n ? a->n : b->n, n = n_common(a, b);
            uint64_t larger = old[i].words > new[k].words ? old[i].words : new[k].words;
            uint64_t less = old[i].words + new[k].words - larger;
            if (2 * n <= most)
                continue;
            HS_TRY(HS_GROW(&p->pairs, &p->capacity, p->n_pairs + 1, err));
            double near = larger == 0 ? 1 : (double)less / (double)larger;
            p->pairs[p->n_pairs++] = (struct pair){.score = near * n / most, .old = i, .new = k};
        }
    return HS_OK;
}

static int best_first(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->old != b->old)
        return a->old < b->old ? -1 : 1;
    return a->new < b->new ? -1 : a->new > b->new;
}

static hs_status prepare(struct pairing *p, const struct series_set *old, size_t n_old,
                         const struct series_set *new, size_t n_new, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&p->old, n_old, err));
    HS_TRY(HS_ALLOC(&p->new, n_new, err));
    HS_TRY(HS_ALLOC(&p->is_taken, n_old, err));
    HS_TRY(HS_ALLOC(&p->has_row, n_new, err));
    for (size_t i = 0; i < n_old; i++)
        HS_TRY(members_of(&p->names, old[i].name, &p->old[i], err));
    for (size_t i = 0; i < n_new; i++)
        HS_TRY(members_of(&p->names, new[i].name, &p->new[i], err));
    return list_pairs(p, old, n_old, new, n_new, err);
}

hs_status series_sets_pair(const struct series_set *old, size_t n_old, struct series_set *new,
                           size_t n_new, struct hs_error *err)
{
    struct pairing p = {0};
    n_old = n_old < MOST_SETS ? n_old : MOST_SETS;
    n_new = n_new < MOST_SETS ? n_new : MOST_SETS;
    hs_status status = n_old == 0 || n_new == 0 ? HS_OK : prepare(&p, old, n_old, new, n_new, err);
    if (status == HS_OK && p.n_pairs > 1)
        qsort(p.pairs, p.n_pairs, sizeof *p.pairs, best_first);
    for (size_t i = 0; i < p.n_pairs && status == HS_OK; i++) {
        const struct pair *pair = &p.pairs[i];
        if (p.is_taken[pair->old] || p.has_row[pair->new])
            continue;
        p.is_taken[pair->old] = p.has_row[pair->new] = 1;
        new[pair->new].row = old[pair->old].row;
    }
    hs_strtab_fini(&p.names);
    hs_free(p.old);
    hs_free(p.new);
    hs_free(p.pairs);
    hs_free(p.is_taken);
    hs_free(p.has_row);
    return status;
}
