/* The packets that a recorded process has not sent yet, in memory that it shares with `heapsnap
 * record`: so that a process which goes quiet, or ends without a word (_exit, exec, a signal),
 * takes nothing along.
 *
 * The process makes it at its start (memfd, sealed against shrinking) and sends its descriptor over
 * the socket, in a message of HS_RECORD_HELD_MESSAGE. From then on the process changes what is held
 * while the state is BUSY, and the reader takes it by turning the OPEN that it read before into
 * TAKEN: then nothing was changed in between, and the process sends none of it any more. Nobody
 * waits for the other. Every word is hostile to the reader. */
#ifndef HS_RECORDER_HELD_H
#define HS_RECORDER_HELD_H

#include <stdint.h>

#define HS_RECORD_HELD_MESSAGE "hsheld02" /* 8 bytes, without the NUL */
#define HS_RECORD_HELD_BYTES 32768U       /* of one packet */

enum hs_record_held_state { /* the low two bits; above them a count of changes */
                            HS_RECORD_HELD_EMPTY,
                            HS_RECORD_HELD_OPEN,
                            HS_RECORD_HELD_BUSY,
                            HS_RECORD_HELD_TAKEN,
};
#define HS_RECORD_HELD_STATE UINT64_C(3)

struct hs_record_held {
    uint64_t state;
    uint32_t n_names, n_events; /* bytes of the two packets; 0: none */
    uint64_t ocaml;             /* enum hs_record_ocaml; written at any time */
    uint8_t names[HS_RECORD_HELD_BYTES], events[HS_RECORD_HELD_BYTES]; /* in this order */
};

#endif
