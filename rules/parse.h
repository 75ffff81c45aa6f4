/* A line of rules, divided into words, as its readers share it (parse.c, layout.c). */
#ifndef HS_RULES_PARSE_H
#define HS_RULES_PARSE_H

#include <string.h>

#include "private.h"

struct hs_rules_word {
    const char *text; /* ends with a zero */
    size_t n;
    uint32_t column;
    bool is_pattern; /* in quotes */
};

struct hs_rules_parser {
    struct hs_rules *rules;
    struct hs_rule_fault fault; /* of this line; column 0: none */
    uint32_t line;
    struct hs_rules_word words[HS_RULES_MAX_WORDS];
    size_t n_words, at;
    uint32_t end_column; /* of the line: where something is missing */
};

/* Takes the next word; NULL: the line has ended. */
static inline const struct hs_rules_word *hs_rules_next(struct hs_rules_parser *p)
{
    return p->at < p->n_words ? &p->words[p->at++] : NULL;
}

static inline bool hs_rules_is_word(const struct hs_rules_word *word, const char *text)
{
    return word != NULL && !word->is_pattern && strcmp(word->text, text) == 0;
}

static inline uint32_t hs_rules_column(const struct hs_rules_parser *p,
                                       const struct hs_rules_word *word)
{
    return word == NULL ? p->end_column : word->column;
}

/* Looks at the next word and does not take it. */
static inline const struct hs_rules_word *hs_rules_peek(const struct hs_rules_parser *p)
{
    return p->at < p->n_words ? &p->words[p->at] : NULL;
}

/* ---- words.c */

/* Divides a line, which ends with a zero, into p->words. */
bool hs_rules_divide_(struct hs_rules_parser *p, char *line);
/* Notes the first fault of the line; always false. */
bool hs_rules_fault_(struct hs_rules_parser *p, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes "'x' is no WHAT: expected a, b or c", of a word that is none of `names`; always false. */
bool hs_rules_unexpected_(struct hs_rules_parser *p, const struct hs_rules_word *word,
                          const char *what, const char *names);
/* Checks that a text may be a name: it is neither empty nor long. */
bool hs_rules_check_name_(struct hs_rules_parser *p, const struct hs_rules_word *word);

/* ---- layout.c: where members and words stand in records */

/* Reads what follows the names: of members that find, of a container, a class with a virtual table,
 * a tree of owners, a handle, an allocator over blocks of malloc's. */
bool hs_rules_read_members_(struct hs_rules_parser *p, struct hs_rule *rule);
bool hs_rules_read_container_(struct hs_rules_parser *p, struct hs_rule *rule);
bool hs_rules_read_class_(struct hs_rules_parser *p, struct hs_rule *rule);
bool hs_rules_read_owners_(struct hs_rules_parser *p, struct hs_rule *rule);
bool hs_rules_read_handle_(struct hs_rules_parser *p, struct hs_rule *rule);
bool hs_rules_read_cells_(struct hs_rules_parser *p, struct hs_rule *rule);
/* Reads a number of at most `most`, of which there must be a whole number of `unit`. */
bool hs_rules_read_number_(struct hs_rules_parser *p, uint64_t most, unsigned unit, uint64_t *ret);
/* Reads what a word of 4 bytes must hold: "0xfeed mask 0xffff". */
bool hs_rules_read_magic_(struct hs_rules_parser *p, uint32_t *ret_magic, uint32_t *ret_mask);
/* Appends the members, words and numbers of such a rule. */
void hs_rules_layout_text_(const struct hs_rule *rule, char *text, size_t n_bytes);
void hs_rules_cells_text_(const struct hs_rule_cells *cells, char *text, size_t n_bytes);

/* ---- record.c: what tells the records of a library */

bool hs_rules_read_record_(struct hs_rules_parser *p, struct hs_rule *rule);
void hs_rules_record_text_(const struct hs_rule *rule, char *text, size_t n_bytes);

#endif
