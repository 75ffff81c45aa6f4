/* The means by which exporters write: numbers, texts and names into an output, a large piece at a
 * time.
 *
 * Failures are sticky and kept inside: write everything, then ask hs_pen_finish once. A loop over
 * something long ends when hs_pen_ok is false. */
#ifndef HS_EXPORT_PEN_H
#define HS_EXPORT_PEN_H

#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "report/text.h"

struct hs_pen {
    struct hs_out *out;      /* borrowed */
    struct hs_buffer buffer; /* owned: what is not yet handed to `out` */
    hs_status status;
    struct hs_error error; /* the first failure */
};

static inline struct hs_pen hs_pen_of(struct hs_out *out)
{
    return (struct hs_pen){.out = out, .error = HS_ERROR_INIT};
}

static inline bool hs_pen_ok(const struct hs_pen *pen)
{
    return pen->status == HS_OK;
}

/* Makes room for n bytes, which may be put into `buffer` then; false when there is none. */
bool hs_pen_room(struct hs_pen *pen, size_t n_bytes);

void hs_pen_bytes(struct hs_pen *pen, const void *bytes, size_t n_bytes);
void hs_pen_byte(struct hs_pen *pen, uint8_t byte);
/* Writes a number in decimal, and in lower-case hexadecimal without a prefix. */
void hs_pen_number(struct hs_pen *pen, uint64_t number);
void hs_pen_hex(struct hs_pen *pen, uint64_t number);
/* Writes a name from the target, as hs_text_sanitise has it. */
void hs_pen_clean_n(struct hs_pen *pen, const char *name, size_t n_bytes,
                    enum hs_text_escape escape);
static inline void hs_pen_clean(struct hs_pen *pen, const char *name, enum hs_text_escape escape)
{
    hs_pen_clean_n(pen, name, strlen(name), escape);
}

/* The same as a JSON string, in quotes. */
void hs_pen_json(struct hs_pen *pen, const char *name);

/* Writes a text of our own. */
static inline void hs_pen_text(struct hs_pen *pen, const char *text)
{
    hs_pen_bytes(pen, text, strlen(text));
}

/* Hands the rest to the output and frees the buffer; the first failure of all that was written:
 * HS_IO, HS_LIMIT. Does not commit the output. To be called whatever happened; a `status` that is
 * no success stays the result. */
hs_status hs_pen_finish(struct hs_pen *pen, hs_status status, struct hs_error *err);

#endif
