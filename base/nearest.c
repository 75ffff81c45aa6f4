#include "base/nearest.h"

#include <string.h>

/* Computes the distance by one row. */
unsigned hs_edit_distance(const char *a, const char *b)
{
    unsigned row[HS_EDIT_LONGEST + 1];
    size_t n_a = strlen(a), n_b = strlen(b);
    if (n_a > HS_EDIT_LONGEST || n_b > HS_EDIT_LONGEST)
        return HS_EDIT_LONGEST;
    for (unsigned j = 0; j <= n_b; j++)
        row[j] = j;
    for (unsigned i = 1; i <= n_a; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= n_b; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            unsigned best = row[j] + 1 < row[j - 1] + 1 ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < best ? change : best;
        }
    }
    return row[n_b];
}

const char *hs_nearest(const char *word, const char *(*name_of)(const void *, size_t),
                       const void *context, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    for (size_t i = 0; i < n; i++) {
        const char *name = name_of(context, i);
        if (name == NULL)
            continue;
        unsigned distance = hs_edit_distance(word, name);
        /* A word that shares nothing with the name is not "near" it however short both are. */
        if (distance < best_distance && distance < strlen(name)) {
            best = name;
            best_distance = distance;
        }
    }
    return best;
}
