#include "sheet_layout.h"

#include <assert.h>

#define LEAST_WIDTH 8   /* of a flexible column, however narrow the terminal */
#define LEAST_SHRUNK 12 /* of a column that shrinks */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t layout_find(const struct layout_column *columns, size_t n, unsigned flag)
{
    size_t at = 0;
    while (at < n && !(columns[at].shown && (columns[at].flags & flag) != 0))
        at++;
    return at;
}

/* Columns of the terminal that the first `n` take, each with the gap behind it. */
static size_t layout_used(const struct layout_column *columns, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        used += columns[i].shown ? columns[i].width + HS_LAYOUT_GAP : 0;
    return used;
}

static size_t layout_total(const struct layout_column *columns, size_t n)
{
    size_t used = layout_used(columns, n);
    return used < HS_LAYOUT_GAP ? 0 : used - HS_LAYOUT_GAP;
}

/* Returns the least width that a flexible column should have: enough to tell names from each other.
 * A tree's names stand behind their indentation. */
static size_t layout_share(const struct layout_column *column, size_t room)
{
    size_t share = (column->flags & HS_COLUMN_TREE) != 0 ? room * 9 / 20 : room / 3;
    share = smaller(share, column->width);
    return share > LEAST_WIDTH ? share : smaller(LEAST_WIDTH, column->width);
}

/* Takes `excess` from the columns that shrink, always from the widest. What is left of it. */
static size_t layout_shrink(struct layout_column *columns, size_t n, size_t excess)
{
    for (; excess != 0; excess--) {
        size_t widest = n;
        for (size_t i = 0; i < n; i++)
            if (columns[i].shown &&
                (columns[i].flags & (HS_COLUMN_SHRINKS | HS_COLUMN_FLEXIBLE)) ==
                    HS_COLUMN_SHRINKS &&
                columns[i].width > LEAST_SHRUNK &&
                (widest == n || columns[i].width > columns[widest].width))
                widest = i;
        if (widest == n)
            break;
        columns[widest].width--;
    }
    return excess;
}

/* Above all that can be spared: what only a line that is too long makes one do without. */
static unsigned layout_rank(const struct layout_column *column, bool is_narrow)
{
    return is_narrow ? HS_COLUMN_NARROWED(column->flags) : HS_COLUMN_SPARED(column->flags);
}

/* Leaves out what can be spared first; false when nothing can be. */
static bool layout_spare(struct layout_column *columns, size_t n, bool is_narrow)
{
    unsigned least = 0;
    for (size_t i = 0; i < n; i++)
        if (columns[i].shown && layout_rank(&columns[i], is_narrow) > least)
            least = layout_rank(&columns[i], is_narrow);
    for (size_t i = 0; i < n && least != 0; i++)
        if (layout_rank(&columns[i], is_narrow) == least)
            columns[i].shown = false;
    return least != 0;
}

/* Returns the excess width once the flexible column has given what it can and the others have
 * shrunk. */
static size_t layout_squeeze(struct layout_column *columns, size_t n, size_t flexible, size_t least,
                             size_t room)
{
    size_t total = layout_total(columns, n);
    size_t excess = total > room ? total - room : 0;
    if (flexible < n) {
        size_t spare = columns[flexible].width > least ? columns[flexible].width - least : 0;
        columns[flexible].width -= smaller(spare, excess);
        excess -= smaller(spare, excess);
    }
    return layout_shrink(columns, n, excess);
}

/* The words in the place of a row are not cut either. */
static size_t layout_label_excess(const struct layout_column *columns,
                                  const struct layout_label *label, size_t n, size_t room)
{
    if (label->column >= n || !label->runs_on)
        return 0;
    size_t end = layout_used(columns, label->column) + label->width;
    return end > room ? end - room : 0;
}

void hs_layout_fit(struct layout_column *columns, size_t n, const struct layout_label *label,
                   size_t room)
{
    enum { MOST_COLUMNS = 64 };
    struct layout_column natural[MOST_COLUMNS];
    size_t flexible = layout_find(columns, n, HS_COLUMN_FLEXIBLE);

    if (room == 0 || layout_total(columns, n) <= room)
        return;
    assert(n <= MOST_COLUMNS);
    if (label->column < n && label->runs_on)
        columns[label->column].width = label->others;
    size_t least = flexible < n ? layout_share(&columns[flexible], room) : 0;
    size_t floor = smaller(least, LEAST_WIDTH);
    if (label->column == flexible && !label->runs_on && label->width > floor)
        floor = label->width;
    least = least > floor ? least : floor;
    for (size_t i = 0; i < n; i++)
        natural[i] = columns[i];
    while (layout_squeeze(columns, n, flexible, least, room) +
               layout_label_excess(columns, label, n, room) !=
           0) {
        bool is_last = !layout_spare(columns, n, /* is_narrow= */ false);
        if (is_last && least <= floor && !layout_spare(columns, n, /* is_narrow= */ true))
            break;
        least = is_last ? floor : least;
        for (size_t i = 0; i < n; i++)
            columns[i].width = natural[i].width;
    }
    for (size_t i = 0; i < n; i++)
        columns[i].is_cut = columns[i].width < natural[i].width;
}
