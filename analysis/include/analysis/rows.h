/* Rows of every noun (roots, types, leaks, ...): which columns there are, how many rows, and the
 * value of one column of one row. Whoever writes rows, as JSON, as a table of SQL or as Parquet,
 * asks here, so that a column has one name, one kind and one value everywhere.
 *
 *     struct hs_rows rows;
 *     HS_TRY(hs_rows_find(view, &hs_noun_types, &rows, err));
 *     for (uint64_t at = 0; at < rows.n; at++)
 *         for (unsigned c = 0; c < rows.noun->n_columns; c++)
 *             HS_TRY(hs_rows_get(&rows, at, c, &value, err));
 *     hs_rows_fini(&rows);
 *
 * The columns are listed in rows.def; HS_TYPES_words is the number of the column `words` of types.
 * A command that has chosen rows by a query of its own lends them: hs_rows_of. */
#ifndef HS_ANALYSIS_ROWS_H
#define HS_ANALYSIS_ROWS_H

#include "analysis/rows.def"
#include "analysis/view.h"

/* The units and meanings of a number: each form of output has one way to write each of these. */
enum hs_row_kind {
    HS_ROW_TEXT,
    HS_ROW_COUNT,
    HS_ROW_WORDS,
    HS_ROW_BYTES,
    HS_ROW_NS,
    HS_ROW_TIME,    /* nanoseconds since 1970, UTC */
    HS_ROW_ADDRESS, /* of the target */
    HS_ROW_NODE,
    HS_ROW_SET,    /* number of an owner set, from 1 on */
    HS_ROW_NUMBER, /* names something, as a line or an id does: never rounded */
    HS_ROW_BOOL,
};

struct hs_row_column {
    const char *name;
    enum hs_row_kind kind;
};

/* An unknown value has neither text nor number. */
struct hs_row_value {
    const char *text; /* HS_ROW_TEXT: borrowed, see hs_rows_get */
    uint64_t number;
    bool is_known;
};

struct hs_rows;

struct hs_noun {
    const char *name;
    const struct hs_row_column *columns;
    unsigned n_columns;
    bool has_ids; /* column 0 is the number of the row, counted from first_id on */
    uint64_t first_id;
    size_t state_bytes;
    /* Makes the state and sets `n`. */
    hs_status (*find)(struct hs_rows *rows, struct hs_error *err);
    void (*fini)(void *state);
    void (*get)(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret);
};

enum { HS_ROWS_TEXT_BYTES = 65536 };

struct hs_rows {
    const struct hs_noun *noun;
    struct hs_view *view; /* borrowed */
    void *state;          /* what rows are read from: the noun's own struct */
    bool is_lent;         /* the state is the caller's */
    uint64_t n;
    char *text; /* owned: texts that are made for the row */
    size_t n_text;
    hs_status status; /* of the getter */
    struct hs_error error;
};

/* The columns of a noun, HS_ROOTS_id and so on, HS_ROOTS_N of them. */
#define HS_ROWS_ENUMERATED(noun, name, kind, get) HS_##noun##_##name,
#define HS_ROWS_ENUM(noun, NOUN) \
    enum hs_##noun##_column{HS_ROWS_##NOUN(HS_ROWS_ENUMERATED) HS_##NOUN##_N};
HS_ROWS_NOUNS(HS_ROWS_ENUM)
HS_ROWS_ENUM(blocks, BLOCKS)

#define HS_ROWS_DECLARED(noun, NOUN) extern const struct hs_noun hs_noun_##noun;
HS_ROWS_NOUNS(HS_ROWS_DECLARED)
extern const struct hs_row_column hs_block_columns[HS_BLOCKS_N];

/* Makes all rows of the snapshot, whose view must have an index. What it costs stands in the header
 * of the noun's own analysis. On failure `ret` is empty. */
hs_status hs_rows_find(struct hs_view *view, const struct hs_noun *noun, struct hs_rows *ret,
                       struct hs_error *err);
/* Makes the rows of a state that the caller has made and keeps. HS_LIMIT. */
hs_status hs_rows_of(struct hs_view *view, const struct hs_noun *noun, void *state, uint64_t n,
                     struct hs_rows *ret, struct hs_error *err);
void hs_rows_fini(struct hs_rows *rows);
/* Makes the rows of roots by their nodes, which need no memory and no hs_rows_fini. */
struct hs_rows hs_rows_of_roots(const struct hs_view *view);

/* Begins another row: texts that were made for the last one are gone. */
static inline void hs_rows_begin(struct hs_rows *rows)
{
    rows->n_text = 0;
}
/* Reads one value of row `at` < n. A text lives until hs_rows_begin. HS_FORMAT of a damaged
 * trace. */
static inline hs_status hs_rows_get(struct hs_rows *rows, uint64_t at, unsigned column,
                                    struct hs_row_value *ret, struct hs_error *err)
{
    rows->noun->get(rows, at, column, ret);
    if (__builtin_expect(rows->status == HS_OK, 1))
        return HS_OK;
    *err = rows->error;
    return rows->status;
}
/* Tells whether a text is one that was made for the row. */
static inline bool hs_rows_is_made(const struct hs_rows *rows, const char *text)
{
    return text >= rows->text && text < rows->text + HS_ROWS_TEXT_BYTES;
}

/* Returns the room for a text of the row that is read: n_bytes, empty. The texts of all columns of
 * a row must fit. */
static inline char *hs_rows_room(struct hs_rows *rows, size_t n_bytes)
{
    char *room = rows->text + rows->n_text;
    if (rows->n_text + n_bytes > HS_ROWS_TEXT_BYTES) /* never of one row */
        room = rows->text;
    else
        rows->n_text += n_bytes;
    room[0] = '\0';
    return room;
}

/* Returns "all", "kind", ... of a level of the tree of roots; NULL for no level. */
const char *hs_root_level_name(unsigned level);
/* Returns the smallest tier of a root's slots: a variable is firm when one of them is. */
unsigned hs_root_firmest_tier(const struct hs_view *view, hs_node node);

#endif
