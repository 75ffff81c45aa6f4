/* One page of HTML that holds everything: our own markup, style and script, and the data as packed
 * JSON that the script reads.
 *
 *   <!doctype html> ... policy | style | script type="text/plain": base64 of gzip of {"a":..} |
 * script
 *
 * No name from the target is ever part of the markup: what comes from it is in the data, in letters
 * of base64, and the script puts it on the screen as text. The content security policy names the
 * style and the script by their SHA-256 and allows nothing else, no network above all.
 *
 * The data is JSON objects that commands print, under names of ours. Long strings in it are cut, so
 * that a page stays small whatever names there are. */
#ifndef HS_VIEWER_PAGE_H
#define HS_VIEWER_PAGE_H

#include "base/buffer.h"
#include "base/file.h"

/* The most bytes of a page: to be sent by mail. */
#define HS_PAGE_MOST_BYTES ((size_t)1 << 20)
/* The most packed bytes of all members in it: three become four letters, and each line ends. */
#define HS_PAGE_MOST_PACKED ((HS_PAGE_MOST_BYTES - ((size_t)112 << 10)) / 77 * 57)

struct hs_page;

/* Writes what comes before the data. `out` is borrowed. */
hs_status hs_page_new(struct hs_out *out, struct hs_page **ret, struct hs_error *err);
/* A member of the data: well-formed JSON, of whose strings those of more than `most_string` bytes
 * are cut. */
struct hs_page_member {
    const char *name;
    const void *json; /* borrowed */
    size_t n_bytes, most_string;
};
/* Measures a member when it is packed, by itself: put together, members come to no more. */
hs_status hs_page_measure(const struct hs_page_member *member, size_t *ret, struct hs_error *err);
hs_status hs_page_put(struct hs_page *page, const struct hs_page_member *member,
                      struct hs_error *err);
/* Writes the rest; does not commit the output. */
hs_status hs_page_end(struct hs_page *page, struct hs_error *err);
/* Takes NULL. */
void hs_page_free(struct hs_page *page);

#endif
