/* One list of the browser: its rows, in which order they stand, which of them are shown, and where
 * the cursor is. Knows neither snapshots nor terminals.
 *
 *   rows:   as they were read, the largest first     names[]: told now or when they are first seen
 *   order:  numbers of the rows that are shown, sorted and filtered
 *   cursor: a place in `order`; top: the place on the first line of the screen */
#ifndef HS_BROWSE_LEVEL_H
#define HS_BROWSE_LEVEL_H

#include "base/strtab.h"

/* The forms of a list. */
enum hs_browse_form {
    HS_BROWSE_OWNERS,     /* the owner tree (analysis/keys.h): keys below a key */
    HS_BROWSE_DOMINATORS, /* what a node, or an owner set, dominates */
    HS_BROWSE_ROOTS,      /* roots and owner sets */
    HS_BROWSE_HOLDERS,    /* who points to a node */
    HS_BROWSE_PATHS,      /* shortest paths from roots to a node */
    HS_BROWSE_TYPES,      /* types of what a key, a node or a set keeps */
    HS_BROWSE_INSTANCES,  /* blocks of a type that retain most */
    HS_BROWSE_LEAKS,      /* blocks that no root reaches */
    HS_N_BROWSE_FORMS
};

enum hs_browse_kind {
    HS_BROWSE_NOTHING,
    HS_BROWSE_NODE,
    HS_BROWSE_KEY,
    HS_BROWSE_SET,
    HS_BROWSE_TYPE,
    HS_BROWSE_TYPE_NAME /* a type by the name of its row: which it is, is found when it is asked */
};

/* The subject of a row, or of a whole list. */
struct hs_browse_what {
    enum hs_browse_kind kind;
    uint64_t id; /* node, key, set or type */
};

#define HS_BROWSE_UNKNOWN UINT64_MAX

struct hs_browse_row {
    struct hs_browse_what what;
    uint64_t words, objects; /* HS_BROWSE_UNKNOWN: not told */
    uint64_t before_words;   /* in the older snapshot; HS_BROWSE_UNKNOWN: none, or not told */
    hs_str name;             /* of hs_browse_level.names; 0: not looked up yet */
    uint32_t group;          /* groups stand one after the other, however the list is sorted */
    bool opens;              /* something is below it */
    bool is_more;            /* stands for rows that were not read: always the last */
};

enum hs_browse_sort {
    HS_BROWSE_BY_SIZE,
    HS_BROWSE_BY_COUNT,
    HS_BROWSE_BY_NAME,
    HS_BROWSE_BY_GROWTH,
    HS_N_BROWSE_SORTS
};

enum { HS_BROWSE_FILTER_BYTES = 128 };

struct hs_browse_level {
    enum hs_browse_form form;
    struct hs_browse_what what;
    bool is_loaded;
    bool is_fixed;              /* the rows stand as they were read, whatever is asked */
    struct hs_browse_row *rows; /* owned */
    size_t n, capacity;
    struct hs_strtab names;
    uint32_t *order; /* owned */
    size_t n_order, order_capacity;
    size_t cursor, top;     /* places in order */
    uint64_t most;          /* rows that are read; more when they are asked for */
    uint64_t whole_words;   /* what percents are of */
    uint64_t n_all;         /* rows that there are, read or not */
    uint64_t largest_words; /* of all rows: a bar of full length */
    enum hs_browse_sort sort;
    bool is_reversed;
    char filter[HS_BROWSE_FILTER_BYTES]; /* "": all rows are shown */
    char *key_path; /* owned: while keys are counted anew, what `what` is called; else NULL */
};

/* Frees a level. A zeroed one is valid and empty. */
void hs_browse_level_fini(struct hs_browse_level *level);
/* Forgets the rows and keeps what they are of, and where the cursor was. */
void hs_browse_level_unload(struct hs_browse_level *level);

/* Appends a row. `name` may be NULL: it is looked up when it is seen. HS_LIMIT. */
hs_status hs_browse_level_add(struct hs_browse_level *level, const struct hs_browse_row *row,
                              const char *name, struct hs_error *err);
hs_status hs_browse_level_name(struct hs_browse_level *level, size_t row, const char *name,
                               struct hs_error *err);
const char *hs_browse_level_text(const struct hs_browse_level *level, size_t row);

/* Puts the rows in order: by groups, then as `sort` says, equal ones as they were read; those that
 * the filter does not match are left out. The cursor stays on its row where that is shown. Needs
 * all names when sorted by name, or filtered. O(n log n). HS_LIMIT. */
hs_status hs_browse_level_arrange(struct hs_browse_level *level, struct hs_error *err);

/* Moves the cursor by so many places, at most to the ends. */
void hs_browse_level_move(struct hs_browse_level *level, int64_t by);
/* Sets `top` so that the cursor is on a screen of so many lines. */
void hs_browse_level_scroll(struct hs_browse_level *level, size_t n_lines);
/* Returns the row under the cursor; NULL of an empty list. */
const struct hs_browse_row *hs_browse_level_row(const struct hs_browse_level *level);
/* Moves the cursor to the next place behind it, in a circle, whose name contains `text`, in either
 * case of the letters of ASCII; false when there is none. Needs all names. */
bool hs_browse_level_find(struct hs_browse_level *level, const char *text, bool from_here);

/* Sorts ("s", "C", "n"): the first time the way one wants it (the largest first, names from A on),
 * asked again the other way round. */
void hs_browse_level_sort(struct hs_browse_level *level, enum hs_browse_sort sort);

#endif
