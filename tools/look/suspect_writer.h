/* The text that a sentence about a suspect is written to, shared by its parts. */
#ifndef HS_LOOK_SUSPECT_WRITER_H
#define HS_LOOK_SUSPECT_WRITER_H

#include "analysis/suspects.h"
#include "base/append.h"
#include "base/error.h"

enum { NAME_COLUMNS = 60, HOLDER_COLUMNS = 100, WHERE_COLUMNS = 80, LEAST_PART = 20 };

struct writer {
    char *text;
    size_t n_bytes;
    hs_status status; /* of the first name that there was no memory for */
    struct hs_error *err;
};

#define put(w, ...) hs_append((w)->text, (w)->n_bytes, __VA_ARGS__)

/* Puts a name made safe, cut in the middle to so many columns. */
void hs_suspect_put_name(struct writer *w, const char *name, size_t columns);
#define put_name hs_suspect_put_name

/* Tells whether a type is more than the size of its blocks. */
bool hs_suspect_has_type(const struct hs_view *view, uint32_t type);
#define has_type hs_suspect_has_type

/* Puts words as bytes: "1.2 MiB". */
void hs_suspect_put_bytes(struct writer *w, const struct hs_view *view, uint64_t words);
#define put_bytes hs_suspect_put_bytes

/* Puts the sizes of members: ", mostly 300 of 48 B each"; ": 300 of 80 B, 290 of 64 B and 40
 * others", where no size has most. Nothing, and false, where types tell more, all are of one size,
 * or no three sizes are half of it. */
bool hs_suspect_put_sizes(struct writer *w, const struct hs_view *view,
                          const struct hs_suspect *suspect);

/* Puts which functions of a Go program call C, behind what C has lost. */
void hs_suspect_put_c_calls(struct writer *w, const struct hs_view *view,
                            const struct hs_suspect *suspect);

/* Puts a share of a whole in percent, rounded to tenths: "88.0 %". */
void hs_suspect_put_percent(struct writer *w, uint64_t part, uint64_t whole);
#define put_percent hs_suspect_put_percent

/* Puts the reserve: nothing where the figure is what letting go frees (docs/answers.md). */
void hs_suspect_put_reserve(struct writer *w, const struct hs_view *view,
                            const struct hs_suspect *suspect);

#endif
