/* The process's side of recorder/held.h. All under the recorder's lock. */
#ifndef HS_RECORD_HELD_H
#define HS_RECORD_HELD_H

#include "record_packet.h"
#include "recorder/held.h"

struct hs_record_holder {
    struct hs_record_held *area; /* NULL: nothing is shared */
    uint64_t *owner;             /* a page that is empty in a fork of us that nobody told us of */
};

/* Makes the memory and sends it over `socket`. Without it packets are sent as ever. */
void hs_record_held_open(struct hs_record_holder *holder, int socket);
void hs_record_held_close(struct hs_record_holder *holder);

/* Tells the reader what became of sampling OCaml's heap: enum hs_record_ocaml. */
void hs_record_held_tell(const struct hs_record_holder *holder, unsigned ocaml);

/* Begins and ends each change of the packets. True: the reader has taken what they held. */
bool hs_record_held_begin(const struct hs_record_holder *holder);
void hs_record_held_end(const struct hs_record_holder *holder, struct hs_record_packet *names,
                        struct hs_record_packet *events, uint64_t now_us);

#endif
