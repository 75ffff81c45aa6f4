/* Sends a recording to a `heapsnap gather`. What does not fit into the buffer is dropped, whole
 * packets, and counted: nobody waits for the network. */
#ifndef HS_RECORD_SENDER_H
#define HS_RECORD_SENDER_H

#include "base/alloc.h"
#include "wire.h"

struct hs_sender;

/* Splits "HOST:PORT", "[::1]:PORT", ":PORT". HS_USAGE. `host` and `port` have HS_FIELD_NAME_BYTES.
 */
#define HS_FIELD_NAME_BYTES 256
hs_status hs_place_parse(const char *text, char *host, char *port, struct hs_error *err);

/* Connects, and proves the token both ways, within some seconds. HS_IO, HS_TARGET for another
 * token, HS_USAGE. `token` is borrowed until free. */
hs_status hs_sender_open(const char *place, const struct hs_token *token, struct hs_sender **ret,
                         struct hs_error *err);
void hs_sender_free(struct hs_sender *sender);
HS_DEFINE_AUTO(hs_sender, free)

/* Puts whole packets, which are taken all or none. */
bool hs_sender_put(struct hs_sender *sender, const void *bytes, size_t n_bytes);
/* Returns the descriptor to wait for, or -1; *ret_events: what to wait for (poll(2)). */
int hs_sender_poll(const struct hs_sender *sender, short *ret_events);
/* Sends what can be sent now. */
void hs_sender_work(struct hs_sender *sender);
/* Sends the rest and the counts, waiting some seconds at most. */
void hs_sender_finish(struct hs_sender *sender);

struct hs_wire_counts hs_sender_counts(const struct hs_sender *sender);
/* Returns the reason for which the connection ended early, or NULL. */
const char *hs_sender_trouble(const struct hs_sender *sender);

#endif
