/* Puts what a sentence adds where letting go of the suspect may not free all of its figure. */
#include <stdio.h>
#include <string.h>

#include "suspect_text.h"
#include "suspect_writer.h"

/* Returns the sentence about what only a runtime or a running call keeps. That nothing else leads
 * to it is not known: a pointer to a library's variable leads to what that has, and so does a link
 * of the program's in a library's list. */
static const char *who_keeps_it(const struct hs_view *view, const struct hs_suspect *suspect)
{
    bool by_call = false, by_library = false;

    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        unsigned kind = hs_snap_root(view->snap, suspect->roots[i])->kind;
        bool is_call = kind == HS_ROOT_STACK || kind == HS_ROOT_REGISTER;
        by_call |= is_call;
        by_library |= !is_call;
    }
    if (by_library)
        return by_call ? "Only a library or runtime and calls that run keep it. "
                       : "Only a library or runtime keeps it. ";
    return suspect->n_roots == 1 ? "Only a call that runs keeps it. "
                                 : "Only calls that run keep it. ";
}

/* "That it owns this is Python's convention: other objects refer to it, too, by 8600 references,
 * such as main() local channel._closed._waiters. " */
static void put_aliases(struct writer *w, const struct hs_suspect *suspect)
{
    put(w, "That it owns this is Python's convention: %s to it, too",
        suspect->n_aliases == 1 ? "another object refers" : "other objects refer");
    if (suspect->n_aliases > 1)
        put(w, ", by %lu references", (unsigned long)suspect->n_aliases);
    if (suspect->alias != NULL) {
        put(w, suspect->n_aliases == 1 ? ", " : ", such as ");
        put_name(w, suspect->alias, HOLDER_COLUMNS);
    }
    put(w, ". ");
}

/* Finds the class of the program's own that leads to such a type by a plain pointer and of which no
 * rule says whether it owns, as the dump noted it; false: there is none. */
static bool unruled_class(const struct hs_view *view, const char *type, char *ret, size_t n_bytes)
{
    static const char of[] = HS_NOTE_WRAPPER_OF;
    size_t n_begin = strlen(HS_NOTE_WRAPPER);

    for (size_t i = 0; i < view->facts->n_notes; i++) {
        const char *note = hs_view_string(view, view->facts->notes[i].text);
        const char *at = strncmp(note, HS_NOTE_WRAPPER, n_begin) == 0 ? strstr(note, of) : NULL;
        if (at == NULL || strcmp(at + strlen(of), type) != 0)
            continue;
        int n =
            snprintf(ret, n_bytes, "%.*s", (int)(at - note - (ptrdiff_t)n_begin), note + n_begin);
        return n > 0 && (size_t)n < n_bytes;
    }
    return false;
}

/* Puts the line of a file of rules that would settle it. */
static void put_rule(struct writer *w, const struct hs_view *view, const struct hs_suspect *suspect)
{
    char pattern[HOLDER_COLUMNS + 1]; /* whole, or it would not be a rule */

    if (suspect->type == HS_UNTYPED ||
        !unruled_class(view, hs_view_string(view, hs_snap_type(view->snap, suspect->type)->name),
                       pattern, sizeof pattern))
        return;
    put(w, "If ");
    put_name(w, pattern, HOLDER_COLUMNS);
    put(w, " does not own it, a rule says so: type \"");
    put_name(w, pattern, HOLDER_COLUMNS);
    put(w, "\" pointers find (heapsnap rules --help). ");
}

void hs_suspect_put_reserve(struct writer *w, const struct hs_view *view,
                            const struct hs_suspect *suspect)
{
    if (suspect->tier == HS_TIER_DOUBTFUL) {
        put(w, "Doubtful: these words may be stale, but nothing firmer leads to it. ");
        return;
    }
    if (suspect->reserve == HS_RESERVE_CONVENTION)
        put_aliases(w, suspect);
    if (suspect->reserve == HS_RESERVE_ALIAS && suspect->list == HS_SUSPECT_OWNER) {
        put(w, "Of it ");
        put_percent(w, suspect->plain_words, suspect->words);
        put(w, " hangs on plain pointers, which do not say who frees. ");
    } else if (suspect->reserve == HS_RESERVE_ALIAS) {
        put(w, "Some of them may only refer to it: no pointer says who frees. ");
        put_rule(w, view, suspect);
    }
    if (suspect->tier == HS_TIER_RUNTIME)
        put(w, "%s", who_keeps_it(view, suspect));
    if (hs_reserve_is_due(suspect->doubtful_words, suspect->words)) {
        put(w, "Of it ");
        put_percent(w, suspect->doubtful_words, suspect->words);
        put(w, suspect->is_weakly_held ? " hangs on weak references alone, which keep the memory "
                                         "of what has ended. "
                                       : " hangs on doubtful words alone. ");
    } else if (suspect->certainty != HS_CONSERVATIVE && /* of all of it: said once */
               hs_reserve_is_untyped(suspect->untyped_words, suspect->words)) {
        put(w, "Of it ");
        put_percent(w, suspect->untyped_words, suspect->words);
        put(w, " is blocks of unknown type, whose words count by their values. ");
    }
}
