/* The sizes of blocks that no type is known of. */
#include "suspect_writer.h"

bool hs_suspect_put_sizes(struct writer *w, const struct hs_view *view,
                          const struct hs_suspect *suspect)
{
    enum { MANY_ALIKE = 8 };
    const struct hs_accumulation *at = &suspect->at;
    const uint64_t half = at->steps[at->members].own_words / 2;
    uint64_t n_told = 0, words = 0, n_others = suspect->count;
    if (has_type(view, suspect->type) || at->sizes[0].n >= suspect->count)
        return false;
    for (; n_told < HS_MEMBER_SIZES && at->sizes[n_told].n >= MANY_ALIKE && words <= half; n_told++)
        words += at->sizes[n_told].n * at->sizes[n_told].words;
    if (words <= half)
        return false;
    for (uint64_t i = 0; i < n_told; i++) {
        put(w, "%s%lu of ",
            i != 0        ? ", "
            : n_told == 1 ? ", mostly "
                          : ": ",
            (unsigned long)at->sizes[i].n);
        put_bytes(w, view, at->sizes[i].words);
        n_others -= at->sizes[i].n < n_others ? at->sizes[i].n : n_others;
    }
    if (n_told == 1)
        put(w, " each");
    else if (n_others != 0)
        put(w, " and %lu others", (unsigned long)n_others);
    return true;
}
