/* The settings that come through the environment: docs/recording.md. */
#ifndef HS_RECORD_CONFIG_H
#define HS_RECORD_CONFIG_H

#include "record_unwind.h"

#define HS_RECORD_PERIOD_BYTES (UINT64_C(512) << 10)

struct hs_record_config {
    uint64_t period_bytes; /* 1 to 2^40 */
    uint64_t seed;         /* 0: by chance */
    const char *file;      /* NULL: none; the environment's own text */
    int fd;                /* -1: none */
    int signal;            /* 0: none */
    enum hs_record_stacks stacks;
    bool is_on, with_children;
    bool with_ocaml; /* its own heap, too */
    bool holds;      /* who reads the socket takes what is held, too: recorder/held.h */
};

/* Reads the settings; one that cannot be understood counts as not set. */
void hs_record_config_read(struct hs_record_config *config);

#endif
