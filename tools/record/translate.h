/* Translates the packets of the library, whose locations are addresses, into those of a trace with
 * names: each location once, before the packet that first uses it. */
#ifndef HS_RECORD_TRANSLATE_H
#define HS_RECORD_TRANSLATE_H

#include "names.h"

struct hs_known_places { /* of one process: hashes of what was written */
    uint64_t pid;
    uint64_t begun_us;
    uint64_t *hashes; /* owned: open addressing, 0 is free */
    size_t n_hashes, n_slots;
};

struct hs_translator {
    struct hs_namer *namer;        /* borrowed */
    bool is_live;                  /* the processes may be asked what they have loaded */
    struct hs_known_places *known; /* owned: of each process */
    size_t n_known, known_capacity;
    uint64_t *fresh; /* owned: hashes that the last packet added */
    size_t n_fresh, fresh_capacity;
    struct hs_location_packets locations;
    uint64_t n_places, n_unnamed; /* written; of them without a name */
};

/* Frees what it has. A zeroed translator with a namer is ready. */
void hs_translator_fini(struct hs_translator *translator);

/* Translates `packet` into what to write instead: whole packets, borrowed until the next call;
 * perhaps none. *ret_is_info: they begin a program. HS_FORMAT when the packet is damaged, HS_LIMIT.
 */
hs_status hs_translate(struct hs_translator *translator, const struct hs_packet *packet,
                       const uint8_t **ret, size_t *ret_n_bytes, bool *ret_is_info,
                       struct hs_error *err);
/* Takes back the last translation, which was not taken: its places will come again. */
void hs_translate_undo(struct hs_translator *translator, uint64_t pid);

#endif
