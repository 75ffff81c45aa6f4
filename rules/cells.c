/* Rules of allocators that carve cells out of blocks of malloc's, all of one size. */
#include "base/append.h"
#include "parse.h"

static const struct {
    const char *name;
    uint32_t unit, n_bytes; /* whole numbers of what; how much of a cell such a word takes, 0: it is
                               no place in a cell */
} words[HS_N_CELLS_WORDS] = {
    [HS_CELLS_BLOCK] = {"block", 16, 0},  [HS_CELLS_CELL] = {"cell", 8, 0},
    [HS_CELLS_FIRST] = {"first", 16, 0},  [HS_CELLS_CLASS] = {"class", 1, 1},
    [HS_CELLS_HEADER] = {"header", 8, 0}, [HS_CELLS_SIZE] = {"size", 8, 8},
    [HS_CELLS_NEXT] = {"next", 8, 8},     [HS_CELLS_COUNT] = {"count", 4, 4},
    [HS_CELLS_MAGIC] = {"magic", 4, 4},
};

void hs_rules_cells_text_(const struct hs_rule_cells *cells, char *text, size_t n_bytes)
{
    for (size_t i = 0; i < HS_N_CELLS_WORDS; i++)
        if (cells->at[i] != HS_CELLS_NONE)
            hs_append(text, n_bytes, " %s %u", words[i].name, cells->at[i]);
    if (cells->at[HS_CELLS_MAGIC] != HS_CELLS_NONE)
        hs_append(text, n_bytes, " is 0x%x mask 0x%x", cells->magic, cells->mask);
}

static bool has(const struct hs_rule_cells *cells, enum hs_cells_word word)
{
    return cells->at[word] != HS_CELLS_NONE;
}

/* Checks that the least cell fits into a slab, and all words into it. */
static bool check_sizes(struct hs_rules_parser *p, const struct hs_rule_cells *cells)
{
    const uint32_t *at = cells->at;
    uint32_t least = has(cells, HS_CELLS_CELL) ? at[HS_CELLS_CELL] : at[HS_CELLS_FIRST];

    if (least < HS_CELLS_LEAST_BYTES || least > at[HS_CELLS_BLOCK])
        return hs_rules_fault_(p, p->end_column, "cells of %u bytes in blocks of %u", least,
                               at[HS_CELLS_BLOCK]);
    if (has(cells, HS_CELLS_HEADER) && at[HS_CELLS_HEADER] >= least)
        return hs_rules_fault_(p, p->end_column, "a header of %u bytes in a cell of %u",
                               at[HS_CELLS_HEADER], least);
    for (size_t i = 0; i < HS_N_CELLS_WORDS; i++)
        if (at[i] != HS_CELLS_NONE && words[i].n_bytes != 0 && at[i] + words[i].n_bytes > least)
            return hs_rules_fault_(p, p->end_column, "'%s %u' is behind a cell of %u bytes",
                                   words[i].name, at[i], least);
    return true;
}

/* Checks that the words tell where cells are, and which are in use. */
static bool check_cells(struct hs_rules_parser *p, const struct hs_rule_cells *cells)
{
    if (!has(cells, HS_CELLS_BLOCK))
        return hs_rules_fault_(p, p->end_column, "'block' is missing: how many bytes one has");
    if (has(cells, HS_CELLS_CELL) == has(cells, HS_CELLS_FIRST) ||
        has(cells, HS_CELLS_FIRST) != has(cells, HS_CELLS_CLASS))
        return hs_rules_fault_(p, p->end_column,
                               "either 'cell', or 'first' and 'class': how many bytes cells have");
    if (!has(cells, HS_CELLS_NEXT) || has(cells, HS_CELLS_COUNT) == has(cells, HS_CELLS_MAGIC))
        return hs_rules_fault_(p, p->end_column,
                               "'next' and one of 'count' and 'magic': which cells are in use");
    if (has(cells, HS_CELLS_CLASS) && !has(cells, HS_CELLS_MAGIC))
        return hs_rules_fault_(p, p->end_column, "'class' needs 'magic'");
    return check_sizes(p, cells);
}

bool hs_rules_read_cells_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    struct hs_rule_cells *cells = &rule->cells;
    uint64_t number;

    for (size_t i = 0; i < HS_N_CELLS_WORDS; i++)
        cells->at[i] = HS_CELLS_NONE;
    if (rule->n_patterns > 1)
        return hs_rules_fault_(p, p->words[2].column, "cells have one name");
    while (hs_rules_peek(p) != NULL && !hs_rules_is_word(hs_rules_peek(p), "when")) {
        const struct hs_rules_word *word = hs_rules_next(p);
        size_t i = 0;
        while (i < HS_N_CELLS_WORDS && !hs_rules_is_word(word, words[i].name))
            i++;
        if (i == HS_N_CELLS_WORDS)
            return hs_rules_unexpected_(p, word, "word of cells",
                                        "'block', 'cell', 'first', 'class', 'header', 'size', "
                                        "'next', 'count' or 'magic'");
        if (cells->at[i] != HS_CELLS_NONE)
            return hs_rules_fault_(p, word->column, "'%s' is said twice", word->text);
        if (!hs_rules_read_number_(p, HS_CELLS_MOST_BYTES, words[i].unit, &number))
            return false;
        cells->at[i] = (uint32_t)number;
        if (i == HS_CELLS_MAGIC && !hs_rules_read_magic_(p, &cells->magic, &cells->mask))
            return false;
    }
    return check_cells(p, cells);
}
