/* The senders of a gather, all at once, in one loop. */
#ifndef HS_RECORD_GATHER_RUN_H
#define HS_RECORD_GATHER_RUN_H

#include "files.h"
#include "sender.h"

enum { HS_GATHER_MAX_PEERS = 4096 };

struct hs_gather_peer;

struct hs_gather {
    int listener, dir_fd; /* owned */
    const struct hs_token *token;
    const struct hs_out_access *access;
    size_t n_peers_max;
    uint64_t peer_bytes_max, idle_ns;
    bool is_quiet;
    /* The inside. */
    struct hs_gather_peer **peers; /* owned */
    size_t n_peers, capacity;
    size_t n_known;           /* of them: who proved the token, at most n_peers_max */
    uint64_t closed_until_ns; /* nobody is let in before */
    uint64_t lines_begun_ns;  /* what is said of refusals counts from here */
    uint64_t n_lines, n_unsaid;
};

/* Gathers until SIGINT or SIGTERM. A sender's faults are said and end that sender alone. HS_IO,
 * HS_LIMIT. */
hs_status hs_gather_run(struct hs_gather *gather, struct hs_error *err);
void hs_gather_fini(struct hs_gather *gather);

/* Writes the name of a sender's file without ".trace": host, pid and time, of characters that no
 * file system and no terminal minds. `name` has HS_GATHER_NAME_BYTES. */
#define HS_GATHER_NAME_BYTES 128
void hs_gather_name(const char *host, uint64_t pid, uint64_t begun_us, char *name);

#endif
