/* A made-up process of the Apache Portable Runtime: pools with their nodes and allocators with
 * theirs, laid out as memory/unix/apr_pools.c does it: a page of data, one of texts that
 * nobody can write to, and an area of nodes behind them. The fake keeps account of all it made, for
 * tests to compare with what is read.
 *
 * Nodes are mapped, or blocks of a malloc that knows them (fake_malloc_allocator.h). One fake is
 * read at a time. Errors abort. */
#ifndef HS_TESTS_FAKE_APR_H
#define HS_TESTS_FAKE_APR_H

#include "fake_malloc.h"
#include "heaps/allocator.h"

#define FAKE_APR_BASE UINT64_C(0x10000000)
#define FAKE_APR_VARIABLE (FAKE_APR_BASE + 16) /* global_pool */
#define FAKE_APR_TEXTS (FAKE_APR_BASE + FAKE_APR_PAGE)
#define FAKE_APR_NODES (FAKE_APR_BASE + FAKE_APR_BEFORE_BYTES)
#define FAKE_APR_END (FAKE_APR_BASE + FAKE_APR_BYTES)
#define FAKE_APR_NONE UINT32_MAX

enum {
    FAKE_APR_PAGE = 4096,
    FAKE_APR_BEFORE_BYTES = 2 * FAKE_APR_PAGE, /* data and texts */
    FAKE_APR_PAGES = 24,                       /* of nodes */
    FAKE_APR_BYTES = FAKE_APR_BEFORE_BYTES + FAKE_APR_PAGES * FAKE_APR_PAGE,
    FAKE_APR_MOST = 24,
    FAKE_APR_HEADER = 40,
};

struct fake_apr_node {
    hs_addr begin, first, used, end;
    uint32_t pool; /* FAKE_APR_NONE: it waits to be used again */
};

struct fake_apr_pool {
    hs_addr at;
    uint32_t parent;
    const char *tag; /* borrowed; NULL: none of its own */
};

struct fake_apr {
    unsigned object_bytes;
    hs_addr texts, allocators, heap; /* where the next ones go */
    bool is_from_malloc;             /* which knows the nodes as its blocks */
    struct fake_apr_pool pools[FAKE_APR_MOST];
    struct fake_apr_node nodes[FAKE_APR_MOST];
    struct fake_malloc_block mallocs[FAKE_APR_MOST];
    uint32_t n_pools, n_nodes;
    struct hs_mapping mappings[3];
    struct hs_target target;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
};

/* ---- building */

/* Pools have objects of so many bytes: 112, 120 or 136, by release and how it was built. */
void fake_apr_begin(struct fake_apr *f, unsigned object_bytes);
hs_addr fake_apr_allocator(struct fake_apr *f);
/* The first has no parent. In a node of two pages, as the first child. Its number. */
uint32_t fake_apr_pool(struct fake_apr *f, uint32_t parent, hs_addr allocator, const char *tag);
/* A node more, of which so much is given out. Its number. */
uint32_t fake_apr_node(struct fake_apr *f, uint32_t pool, unsigned n_pages, unsigned n_given);
/* Of what there is in the first node. */
void fake_apr_give(struct fake_apr *f, uint32_t pool, unsigned n_given);
/* A node in one of the allocator's lists. Its number. */
uint32_t fake_apr_wait(struct fake_apr *f, hs_addr allocator, unsigned list, unsigned n_pages);
/* A word of the process, to be damaged. */
uint64_t *fake_apr_word(const struct fake_apr *f, hs_addr at);

/* A server with something of each kind. */
enum {
    FAKE_APR_GLOBAL, /* "apr_global_pool" */
    FAKE_APR_CONF,   /* "pconf", below it, of four nodes */
    FAKE_APR_PLAIN,  /* below that, without a tag */
    FAKE_APR_UNDER,  /* below that, without a tag, of two nodes */
    FAKE_APR_TRANS,  /* "ptrans", below the first, with an allocator of its own */
    FAKE_APR_MADE
};
void fake_apr_make(struct fake_apr *f, unsigned object_bytes);

/* ---- reading: opens and marks all allocators. After the last read of a fake: close. */
hs_status fake_apr_read(struct fake_apr *f, struct hs_heaps *heaps, struct hs_error *err);
void fake_apr_close(struct fake_apr *f);

#endif
