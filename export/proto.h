/* Messages of protocol buffers, written from front to end.
 *
 *     size_t outer = hs_proto_begin(&p, 1);
 *     hs_proto_number(&p, 3, 42);
 *     hs_proto_end(&p, outer);
 *
 * The length of a message is known when it ends: its place is kept in five bytes, a number written
 * longer than it needs to be, which all readers take. Failures are sticky and kept inside, as those
 * of a pen; what is written is handed to one by hs_proto_flush, between messages at the top. */
#ifndef HS_EXPORT_PROTO_H
#define HS_EXPORT_PROTO_H

#include "pen.h"

struct hs_proto {
    struct hs_buffer buffer; /* owned */
    hs_status status;
    struct hs_error error;
};

void hs_proto_fini(struct hs_proto *p);

/* Begins a message as a field of the one it is in; returns what hs_proto_end needs to know of
 * it. */
size_t hs_proto_begin(struct hs_proto *p, unsigned field);
void hs_proto_end(struct hs_proto *p, size_t begun);

void hs_proto_number(struct hs_proto *p, unsigned field, uint64_t value);
/* Writes a name from the target: valid UTF-8, whatever it was. */
void hs_proto_name(struct hs_proto *p, unsigned field, const char *name);
/* Writes a part of a text between its begin and its end: of our own, and from the target. */
void hs_proto_text(struct hs_proto *p, const char *text);
void hs_proto_clean(struct hs_proto *p, const char *name);
/* Puts one number of a packed field, between its begin and its end. */
void hs_proto_packed(struct hs_proto *p, uint64_t value);

/* Hands all that is written to the pen, with the first failure if there was one. */
void hs_proto_flush(struct hs_proto *p, struct hs_pen *pen);

#endif
