/* The sizes of blocks that no type is known of, and which functions call the C that made them. */
#include <string.h>

#include "snapshot/notes.h"
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

void hs_suspect_put_c_calls(struct writer *w, const struct hs_view *view,
                            const struct hs_suspect *suspect)
{
    enum { CALLS_COLUMNS = 240 };
    static const char begin[] = HS_NOTE_CALLS_C;
    unsigned form =
        suspect->type == HS_UNTYPED ? HS_FORM_BYTES : hs_snap_type(view->snap, suspect->type)->form;

    for (size_t i = 0; form != HS_FORM_GO && i < view->facts->n_notes; i++) {
        const char *note = hs_view_string(view, view->facts->notes[i].text);
        if (strncmp(note, begin, strlen(begin)) != 0)
            continue;
        put(w, "It is memory of C, which Go calls in ");
        put_name(w, note + strlen(begin), CALLS_COLUMNS);
        put(w, ". ");
        return;
    }
}
