/* A made-up process of mimalloc 2: segments with their headers, entries of slices, pages and lists,
 * and the heaps of two threads, laid out as types.h of mimalloc 2.0.9 to 2.4 does it. Of a segment
 * only that is there which is written: its header, and the pages of memory where blocks were freed.
 * The fake keeps account of all it made, for tests to compare with what is read.
 *
 * Programs that use it link hs_heaps and hs_process. One fake is read at a time. Errors abort. */
#ifndef HS_TESTS_FAKE_MIMALLOC_H
#define HS_TESTS_FAKE_MIMALLOC_H

#include "heaps/allocator.h"

#define FAKE_MI_HEAPS UINT64_C(0x10000000) /* a page of memory for each thread's heap */
#define FAKE_MI_BASE UINT64_C(0x7e0000000000)
#define FAKE_MI_SLICE UINT64_C(0x10000)
#define FAKE_MI_SEGMENT UINT64_C(0x2000000)

enum {
    FAKE_MI_LAYOUTS = 6, /* 2.0, 2.1 and 2.2, each without keys and with them */
    FAKE_MI_SLICES = 512,
    FAKE_MI_PIECE = 4096, /* bytes of memory that are there or not */
    FAKE_MI_THREADS = 2,
    FAKE_MI_NOBODY = FAKE_MI_THREADS, /* its thread has ended */
    FAKE_MI_MOST = 24,                /* segments, pages, pieces of memory */
    FAKE_MI_MOST_BLOCKS = 64,         /* of a page */
};

/* Where things are in a header and in an entry, in bytes. */
struct fake_mi_shape {
    const char *version;
    unsigned entry_bytes, at_used, used_bytes, at_block_bytes, size_bytes;
    unsigned at_local_free, at_thread_free, at_heap;
    unsigned at_start, at_keys; /* 0: there are none */
    unsigned used_word;         /* of the header */
    unsigned words_between;     /* its cookie and its number of slices */
    unsigned delayed_word;      /* of a heap */
};
enum { FAKE_MI_COUNT = 0, FAKE_MI_CAPACITY = 10, FAKE_MI_RESERVED = 12, FAKE_MI_FREE_LIST = 16 };

enum fake_mi_list { FAKE_MI_FREE, FAKE_MI_LOCAL, FAKE_MI_OTHERS, FAKE_MI_DELAYED };

struct fake_mi_segment {
    hs_addr begin;
    unsigned n_slices, n_entries, thread;
    unsigned next; /* the first slice that is no page's */
};

struct fake_mi_page {
    unsigned segment;
    hs_addr entry, begin; /* where it is described; its first block */
    uint64_t block_bytes, keys[2];
    unsigned capacity;
    bool is_free[FAKE_MI_MOST_BLOCKS];
};

struct fake_mimalloc {
    unsigned layout;
    struct fake_mi_shape shape; /* before the first segment words_between may be changed */
    bool is_padded;             /* has keys, and hides nothing */
    bool is_secure;             /* the last slice is a guard */
    struct fake_mi_segment segments[FAKE_MI_MOST];
    struct fake_mi_page pages[FAKE_MI_MOST];
    struct fake_mi_piece {
        hs_addr begin;
        size_t n_bytes;
        uint8_t *bytes;
    } pieces[FAKE_MI_MOST];
    unsigned n_segments, n_pages, n_pieces;
    hs_addr end; /* of all segments */
    struct hs_mapping mappings[2];
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
};

/* ---- building */

void fake_mimalloc_begin(struct fake_mimalloc *f, unsigned layout);
/* What is made from now on is as another version makes it. */
void fake_mimalloc_become(struct fake_mimalloc *f, unsigned layout);
/* The next 32 MiB, of a thread or of nobody. Its number. */
unsigned fake_mimalloc_segment(struct fake_mimalloc *f, unsigned thread);
/* A segment of so many slices, with a page of one block that is in use. The page's number. */
unsigned fake_mimalloc_huge(struct fake_mimalloc *f, unsigned n_slices);
/* The next page of a segment: so many blocks, all in use. Its number. */
unsigned fake_mimalloc_page(struct fake_mimalloc *f, unsigned segment, unsigned n_slices,
                            uint64_t block_bytes, unsigned capacity);
/* Gives a block back, onto the head of a list. */
void fake_mimalloc_free(struct fake_mimalloc *f, unsigned page, unsigned block,
                        enum fake_mi_list list);
/* So much more memory is there, of zeros. */
void fake_mimalloc_back(struct fake_mimalloc *f, hs_addr begin, size_t n_bytes);

/* ---- looking, and damage */

hs_addr fake_mimalloc_block(const struct fake_mimalloc *f, unsigned page, unsigned block);
/* A word of the header: of the numbers that every version has at its end, by name. */
enum fake_mi_word {
    FAKE_MI_N_SLICES,
    FAKE_MI_N_HEADER,
    FAKE_MI_KIND, /* 32 bits */
    FAKE_MI_ENTRIES,
    FAKE_MI_THREAD,
    FAKE_MI_N_WORDS
};
hs_addr fake_mimalloc_header(const struct fake_mimalloc *f, unsigned segment,
                             enum fake_mi_word word);
hs_addr fake_mimalloc_used(const struct fake_mimalloc *f, unsigned segment);
hs_addr fake_mimalloc_entry(const struct fake_mimalloc *f, unsigned segment, unsigned slice);
hs_addr fake_mimalloc_heap(unsigned thread);
/* What a word says that leads from one block of a page to the next, or to none. */
uint64_t fake_mimalloc_link(const struct fake_mimalloc *f, unsigned page, hs_addr next);
/* Is the word there? */
bool fake_mimalloc_has(const struct fake_mimalloc *f, hs_addr at);
/* 2, 4 or 8 bytes. */
uint64_t fake_mimalloc_get(const struct fake_mimalloc *f, hs_addr at, unsigned n_bytes);
void fake_mimalloc_put(struct fake_mimalloc *f, hs_addr at, unsigned n_bytes, uint64_t value);
uint64_t *fake_mimalloc_word(const struct fake_mimalloc *f, hs_addr at);

/* A program with something of each kind. */
enum {
    FAKE_MI_SMALL,  /* 48 bytes; blocks of it are on all lists of the page */
    FAKE_MI_TINY,   /* 8 bytes, all in use */
    FAKE_MI_MEDIUM, /* 20 KiB, in 8 slices */
    FAKE_MI_LARGE,  /* one of 300 KiB */
    FAKE_MI_FULL,   /* 64 bytes, of which two were given back to the heap */
    FAKE_MI_FRESH,  /* none has been given out yet */
    FAKE_MI_SECOND, /* of another thread, with lists of others */
    FAKE_MI_HUGE,   /* 45 MiB */
    FAKE_MI_OLD,    /* of a thread that has ended */
    FAKE_MI_PAGES
};
enum { FAKE_MI_MADE_SEGMENTS = 4 };
void fake_mimalloc_fill(struct fake_mimalloc *f);
/* begin and fill */
void fake_mimalloc_make(struct fake_mimalloc *f, unsigned layout);

/* ---- reading: opens and marks all allocators. After the last read of a fake: close. */
hs_status fake_mimalloc_read(struct fake_mimalloc *f, struct hs_heaps *heaps, struct hs_error *err);
void fake_mimalloc_close(struct fake_mimalloc *f);

#endif
