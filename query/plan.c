/* The way in which a table is asked: SQLite's xBestIndex, and what it hands on to filter.
 *
 *   number:  key + 1 in the low 4 bits, then flags, then the columns that are used
 *   text:    one letter per value: A argument, = equal, > above, < below, L limit, O offset
 *
 * Values that a key is compared with are compared again by SQLite (omit is 0), so that a way may
 * give too many rows and never too few; text, fractions and NULL mean what they mean elsewhere. */
#include <string.h>

#include "hub.h"

enum {
    KEY_BITS = 4,
    PLAN_LARGEST = 1 << KEY_BITS,
    PLAN_GROUPS = PLAN_LARGEST << 1,
    USED_SHIFT = KEY_BITS + 2
};

/* The constraints that were found: places in aConstraint, -1 where there is none. */
struct found {
    int argument, equal, above, below, limit, offset;
    int key;
    bool misses_argument; /* it is given, but by a table that comes later */
    int n_others;         /* constraints that no way is found by */
};

static bool is_range(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
           op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
}

/* A key by which fewer rows are found takes the place of one before. */
static void take_equal(const struct hs_sql_table *table, const sqlite3_index_info *info, int at,
                       struct found *found)
{
    for (size_t k = 0; k < table->n_keys; k++) {
        bool is_better = found->equal < 0 || table->keys[k].n_rows < table->keys[found->key].n_rows;
        bool is_row = info->aConstraint[at].iColumn == -1 && table->keys[k].column == 0;
        if ((info->aConstraint[at].iColumn == table->keys[k].column || is_row) && is_better) {
            found->equal = at;
            found->key = (int)k;
        }
    }
}

static void take_range(const struct hs_sql_table *table, const sqlite3_index_info *info, int at,
                       struct found *found)
{
    unsigned char op = info->aConstraint[at].op;
    bool is_above = op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
    for (size_t k = 0; k < table->n_keys; k++) {
        bool is_row = info->aConstraint[at].iColumn == -1 && table->keys[k].column == 0;
        bool is_it = info->aConstraint[at].iColumn == table->keys[k].column || is_row;
        bool is_free = found->above < 0 && found->below < 0;
        if (table->keys[k].kind != HS_SQL_KEY_ORDERED || !is_it ||
            (!is_free && found->key != (int)k) || found->equal >= 0)
            continue;
        found->key = (int)k;
        *(is_above ? &found->above : &found->below) = at;
    }
}

static void take(const struct hs_sql_table *table, const sqlite3_index_info *info, int at,
                 struct found *found)
{
    unsigned char op = info->aConstraint[at].op;
    bool is_usable = info->aConstraint[at].usable;
    if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET) {
        *(op == SQLITE_INDEX_CONSTRAINT_LIMIT ? &found->limit : &found->offset) = at;
        return;
    }
    bool is_argument = table->argument != 0 && op == SQLITE_INDEX_CONSTRAINT_EQ &&
                       info->aConstraint[at].iColumn == table->argument - 1;
    if (is_argument && is_usable)
        found->argument = at;
    else if (is_argument)
        found->misses_argument = true;
    else
        found->n_others++;
    if (is_argument || !is_usable)
        return;
    if (op == SQLITE_INDEX_CONSTRAINT_EQ)
        take_equal(table, info, at, found);
    else if (is_range(op))
        take_range(table, info, at, found);
}

static struct found find(const struct hs_sql_table *table, const sqlite3_index_info *info)
{
    struct found found = {-1, -1, -1, -1, -1, -1, .key = -1};
    for (int i = 0; i < info->nConstraint; i++)
        take(table, info, i, &found);
    if (found.equal >= 0)
        found.above = found.below = -1;
    return found;
}

/* The number that a limit or an offset is known to be before it runs; UINT64_MAX when it is not. */
static uint64_t known_number(sqlite3_index_info *info, int at)
{
    sqlite3_value *value;
    if (at < 0)
        return 0;
    if (sqlite3_vtab_rhs_value(info, at, &value) != SQLITE_OK ||
        sqlite3_value_type(value) != SQLITE_INTEGER || sqlite3_value_int64(value) < 0)
        return UINT64_MAX;
    return (uint64_t)sqlite3_value_int64(value);
}

/* The first few of all rows, the largest first. */
static bool is_largest(const struct hs_sql_table *table, sqlite3_index_info *info,
                       const struct found *found)
{
    if (table->largest == 0 || info->nOrderBy != 1 || !info->aOrderBy[0].desc ||
        info->aOrderBy[0].iColumn != table->largest - 1 || found->n_others != 0 || found->limit < 0)
        return false;
    uint64_t limit = known_number(info, found->limit), offset = known_number(info, found->offset);
    return limit <= HS_SQL_MOST_LARGEST && offset <= HS_SQL_MOST_LARGEST;
}

static bool is_in_order(const struct hs_sql_table *table, const sqlite3_index_info *info,
                        const struct found *found)
{
    if (info->nOrderBy != 1 || info->aOrderBy[0].desc)
        return false;
    for (size_t k = 0; k < table->n_keys; k++) {
        int column = info->aOrderBy[0].iColumn;
        bool is_it =
            column == table->keys[k].column || (column == -1 && table->keys[k].column == 0);
        if (is_it && table->keys[k].kind == HS_SQL_KEY_ORDERED)
            return true;
    }
    (void)found;
    return false;
}

static bool is_grouped(const struct hs_sql_vtab *vtab, sqlite3_index_info *info,
                       const struct found *found)
{
    const struct hs_sql_table *table = vtab->table;
    return table->grouped != 0 && info->nOrderBy == 1 && !info->aOrderBy[0].desc &&
           info->aOrderBy[0].iColumn == table->grouped - 1 && found->key < 0 &&
           table->can_group(vtab->source, (uint32_t)info->colUsed);
}

/* Numbers the values that are handed on, in the order of their letters. */
static void hand_on(sqlite3_index_info *info, const struct found *found, char *text)
{
    const struct {
        int at;
        char letter;
    } all[] = {{found->argument, 'A'}, {found->equal, '='}, {found->above, '>'},
               {found->below, '<'},    {found->limit, 'L'}, {found->offset, 'O'}};
    int n = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].at < 0)
            continue;
        text[n++] = all[i].letter;
        info->aConstraintUsage[all[i].at].argvIndex = n;
        info->aConstraintUsage[all[i].at].omit = all[i].letter == 'A';
    }
    text[n] = 0;
}

static void set_cost(const struct hs_sql_vtab *vtab, sqlite3_index_info *info,
                     const struct found *found, bool is_cheap)
{
    const struct hs_sql_table *table = vtab->table;
    double all = table->estimate != NULL ? table->estimate(vtab->source) : 1000, rows = all;
    if (found->equal >= 0)
        rows = table->keys[found->key].n_rows;
    else if (found->key >= 0)
        rows = all / (found->above >= 0 && found->below >= 0 ? 16 : 4);
    if (found->equal >= 0 && table->keys[found->key].is_unique)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    rows = rows < 1 ? 1 : rows;
    info->estimatedRows = (sqlite3_int64)rows;
    /* A list that is found by a column that is no id is searched from front to end. */
    info->estimatedCost = is_cheap ? rows / 2 + 1 : rows + 1;
}

int hs_sql_plan_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct hs_sql_vtab *vtab = (struct hs_sql_vtab *)base;
    const struct hs_sql_table *table = vtab->table;
    struct found found = find(table, info);
    if (table->argument != 0 && found.argument < 0) {
        if (found.misses_argument)
            return SQLITE_CONSTRAINT;
        sqlite3_free(base->zErrMsg);
        base->zErrMsg = sqlite3_mprintf("%s wants to know of what: %s", table->name, table->usage);
        return SQLITE_ERROR;
    }
    bool wants_largest = is_largest(table, info, &found);
    bool wants_groups = !wants_largest && is_grouped(vtab, info, &found);
    bool is_ordered = wants_largest || wants_groups || is_in_order(table, info, &found);
    if (found.n_others != 0 || (info->nOrderBy != 0 && !is_ordered))
        found.limit = found.offset = -1; /* more rows may be needed than are asked for */
    char *text = sqlite3_malloc(8);
    if (text == NULL)
        return SQLITE_NOMEM;
    hand_on(info, &found, text);
    uint32_t used = (uint32_t)(info->colUsed & ((1u << HS_SQL_USED_BITS) - 1)) |
                    (info->colUsed >> HS_SQL_USED_BITS != 0 ? 1u << HS_SQL_USED_BITS : 0);
    info->idxStr = text;
    info->needToFreeIdxStr = 1;
    info->orderByConsumed = is_ordered;
    info->idxNum = (found.key + 1) | (wants_largest ? PLAN_LARGEST : 0) |
                   (wants_groups ? PLAN_GROUPS : 0) | (int)(used << USED_SHIFT);
    set_cost(vtab, info, &found, wants_largest);
    return SQLITE_OK;
}

static uint64_t number_of(sqlite3_value *value)
{
    sqlite3_int64 number = sqlite3_value_int64(value);
    return number < 0 ? 0 : (uint64_t)number;
}

void hs_sql_plan_read(const struct hs_sql_table *table, int number, const char *text,
                      sqlite3_value **values, int n, struct hs_sql_plan *ret)
{
    struct hs_sql_plan plan = {.key = (number & ((1 << KEY_BITS) - 1)) - 1, .most = UINT64_MAX};
    uint64_t offset = 0;
    (void)table;
    plan.wants_largest = number & PLAN_LARGEST;
    plan.wants_groups = number & PLAN_GROUPS;
    plan.used = (uint32_t)number >> USED_SHIFT;
    for (int i = 0; i < n && text[i] != 0; i++) {
        if (text[i] == 'A')
            plan.argument = values[i];
        else if (text[i] == '=')
            plan.equal = values[i];
        else if (text[i] == '>')
            plan.above = values[i];
        else if (text[i] == '<')
            plan.below = values[i];
        else if (text[i] == 'L')
            plan.most = sqlite3_value_int64(values[i]) < 0 ? UINT64_MAX : number_of(values[i]);
        else
            offset = number_of(values[i]);
    }
    plan.most = plan.most > UINT64_MAX - offset ? UINT64_MAX : plan.most + offset;
    *ret = plan;
}
