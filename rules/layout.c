/* Rules that say where something stands in a record: the members of a container, the words of a
 * class with a virtual table, the header of a tree of owners, the list that a handle leads to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/append.h"
#include "parse.h"

/* Names the ways to count elements and room; each is followed by a member. */
static const char at_word[] = "at", less_word[] = "less";
static const char *const counts[] = {
    [HS_COUNT_NUMBER] = "elements", [HS_COUNT_NODES] = "nodes",
    [HS_COUNT_TABLE] = "entries",   [HS_COUNT_BEHIND] = "elements-before",
    [HS_COUNT_END] = "end",         [HS_COUNT_DEQUE] = "first-iterator",
};
static const char *const rooms[] = {
    [HS_ROOM_NUMBER] = "room",
    [HS_ROOM_LEFT] = "room-left",
    [HS_ROOM_END] = "room-end",
    [HS_ROOM_DEQUE] = "last-iterator",
};
enum { N_COUNTS = sizeof counts / sizeof *counts, N_ROOMS = sizeof rooms / sizeof *rooms };

/* Names the words of a header; each is followed by its offset. */
static const char *const tree_words[HS_N_TREE_WORDS] = {
    [HS_TREE_PARENT] = "parent", [HS_TREE_CHILD] = "child", [HS_TREE_NEXT] = "next",
    [HS_TREE_PREV] = "prev",     [HS_TREE_END] = "end",     [HS_TREE_SIZE] = "size",
    [HS_TREE_NAME] = "name",     [HS_TREE_MAGIC] = "magic", [HS_TREE_HEADER] = "header",
    [HS_TREE_HELD] = "held",
};
enum { CLASS_WORDS = 16 }; /* of hs_rule.words */

static void container_text(const struct hs_rule_container *c, char *text, size_t n_bytes)
{
    hs_append(text, n_bytes, " %s %s %s", c->body, counts[c->by], c->entries);
    if (c->less != NULL)
        hs_append(text, n_bytes, " %s %s", less_word, c->less);
    if (c->room != NULL)
        hs_append(text, n_bytes, " %s %s", rooms[c->room_by], c->room);
}

static void tree_text(const struct hs_rule_tree *tree, char *text, size_t n_bytes)
{
    for (size_t i = 0; i < HS_N_TREE_WORDS; i++)
        if (tree->at[i] != HS_TREE_NONE)
            hs_append(text, n_bytes, " %s %u", tree_words[i], tree->at[i]);
    if (tree->at[HS_TREE_MAGIC] != HS_TREE_NONE)
        hs_append(text, n_bytes, " is 0x%x mask 0x%x", tree->magic, tree->mask);
}

void hs_rules_layout_text_(const struct hs_rule *rule, char *text, size_t n_bytes)
{
    if (rule->kind == HS_RULE_CONTAINER)
        container_text(&rule->container, text, n_bytes);
    for (unsigned i = 0; rule->kind == HS_RULE_CLASS && i < CLASS_WORDS; i++)
        if ((rule->words >> i & 1) != 0)
            hs_append(text, n_bytes, " %u", i);
    for (size_t i = 0; i < rule->n_members; i++)
        hs_append(text, n_bytes, " %s", rule->members[i]);
    if (rule->kind == HS_RULE_CLASS || rule->kind == HS_RULE_FIND_MEMBERS)
        hs_append(text, n_bytes, " find");
    if (rule->kind == HS_RULE_OWNERS)
        tree_text(&rule->tree, text, n_bytes);
    if (rule->kind == HS_RULE_HANDLE)
        hs_append(text, n_bytes, " first %u next %u back %u", rule->chain.first, rule->chain.next,
                  rule->chain.back);
}

/* ---- containers */

/* Reads the member that follows a word; NULL, with a fault: it is none. */
static const char *read_member(struct hs_rules_parser *p)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    static const char said[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    if (word == NULL || !word->is_pattern) {
        (void)hs_rules_fault_(p, hs_rules_column(p, word), "a member in quotes is missing");
        return NULL;
    }
    for (const char *at = word->text;; at++) {
        size_t n = strspn(at, said);
        at += n;
        if (n == 0 || word->n > HS_RULES_MAX_NAME_BYTES)
            break;
        if (*at == '\0')
            return word->text;
        if (strncmp(at, "->", 2) == 0)
            at++;
        else if (*at != '.')
            break;
    }
    (void)hs_rules_fault_(p, word->column,
                          "members are \"name\", \"a.b\" or \"a->b\", of up to %d bytes",
                          HS_RULES_MAX_NAME_BYTES);
    return NULL;
}

/* Tells which of the words it is; 0: none. */
static uint8_t word_of(const struct hs_rules_word *word, const char *const *words, size_t n)
{
    for (uint8_t i = 1; i < n; i++)
        if (hs_rules_is_word(word, words[i]))
            return i;
    return 0;
}

/* Checks that a count by an address or an iterator has the other one. */
static bool check_pair(struct hs_rules_parser *p, const struct hs_rule_container *c)
{
    uint8_t wanted = c->by == HS_COUNT_END     ? HS_ROOM_END
                     : c->by == HS_COUNT_DEQUE ? HS_ROOM_DEQUE
                                               : HS_ROOM_NONE;
    bool is_bound = c->room_by == HS_ROOM_END || c->room_by == HS_ROOM_DEQUE;

    if (wanted != HS_ROOM_NONE && c->room_by != wanted)
        return hs_rules_fault_(p, p->end_column, "'%s' needs '%s'", counts[c->by], rooms[wanted]);
    if (wanted == HS_ROOM_NONE && is_bound)
        return hs_rules_fault_(p, p->end_column, "'%s' is not of '%s'", rooms[c->room_by],
                               counts[c->by]);
    if (c->less != NULL && wanted != HS_ROOM_NONE)
        return hs_rules_fault_(p, p->end_column, "'%s' is not of '%s'", less_word, counts[c->by]);
    return true;
}

bool hs_rules_read_container_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    struct hs_rule_container *c = &rule->container;
    const struct hs_rules_word *word = hs_rules_next(p);

    if (!hs_rules_is_word(word, at_word))
        return hs_rules_unexpected_(p, word, "place", "'at'");
    if ((c->body = read_member(p)) == NULL)
        return false;
    word = hs_rules_next(p);
    if ((c->by = word_of(word, counts, N_COUNTS)) == 0)
        return hs_rules_unexpected_(p, word, "count",
                                    "'elements', 'nodes', 'entries', 'elements-before', 'end' or "
                                    "'first-iterator'");
    if ((c->entries = read_member(p)) == NULL)
        return false;
    if (hs_rules_is_word(hs_rules_peek(p), less_word)) {
        (void)hs_rules_next(p);
        if ((c->less = read_member(p)) == NULL)
            return false;
    }
    if ((c->room_by = word_of(hs_rules_peek(p), rooms, N_ROOMS)) != 0) {
        (void)hs_rules_next(p);
        if ((c->room = read_member(p)) == NULL)
            return false;
    }
    return check_pair(p, c);
}

/* ---- classes and trees of owners */

bool hs_rules_read_number_(struct hs_rules_parser *p, uint64_t most, unsigned unit, uint64_t *ret)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    char *end = NULL;

    if (word == NULL || word->is_pattern || word->text[0] < '0' || word->text[0] > '9')
        return hs_rules_fault_(p, hs_rules_column(p, word), "a number is missing");
    errno = 0;
    unsigned long long number = strtoull(word->text, &end, 0);
    if (*end != '\0' || errno != 0 || number > most || number % unit != 0)
        return unit > 1
                   ? hs_rules_fault_(p, word->column, "'%.40s' is no multiple of %u up to %llu",
                                     word->text, unit, (unsigned long long)most)
                   : hs_rules_fault_(p, word->column, "'%.40s' is no number up to %llu", word->text,
                                     (unsigned long long)most);
    *ret = number;
    return true;
}

bool hs_rules_read_class_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    uint64_t number;

    if (!hs_rules_is_word(word, "words"))
        return hs_rules_unexpected_(p, word, "part of a class", "'words'");
    do {
        if (!hs_rules_read_number_(p, CLASS_WORDS - 1, 1, &number))
            return false;
        rule->words |= (uint16_t)(1U << number);
    } while (hs_rules_peek(p) != NULL && !hs_rules_peek(p)->is_pattern &&
             hs_rules_peek(p)->text[0] >= '0' && hs_rules_peek(p)->text[0] <= '9');
    word = hs_rules_next(p);
    return hs_rules_is_word(word, "find") ||
           hs_rules_unexpected_(p, word, "end of a class", "a number or 'find'");
}

bool hs_rules_read_members_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    (void)hs_rules_next(p); /* "members" */
    do {
        const struct hs_rules_word *word = hs_rules_peek(p);
        const char *member = read_member(p);
        if (member == NULL)
            return false;
        if (strpbrk(member, ".>") != NULL)
            return hs_rules_fault_(p, word->column, "'%.40s' is no member of the record's own",
                                   member);
        if (rule->n_members == HS_RULE_MOST_MEMBERS)
            return hs_rules_fault_(p, word->column, "more than %d members", HS_RULE_MOST_MEMBERS);
        rule->members[rule->n_members++] = member;
    } while (hs_rules_peek(p) != NULL && hs_rules_peek(p)->is_pattern);
    const struct hs_rules_word *word = hs_rules_next(p);
    return hs_rules_is_word(word, "find") ||
           hs_rules_unexpected_(p, word, "end of members", "a name in quotes or 'find'");
}

bool hs_rules_read_magic_(struct hs_rules_parser *p, uint32_t *ret_magic, uint32_t *ret_mask)
{
    uint64_t magic, mask = UINT32_MAX;

    if (!hs_rules_read_number_(p, UINT32_MAX, 1, &magic))
        return false;
    if (hs_rules_is_word(hs_rules_peek(p), "mask")) {
        (void)hs_rules_next(p);
        if (!hs_rules_read_number_(p, UINT32_MAX, 1, &mask))
            return false;
    }
    *ret_magic = (uint32_t)magic;
    *ret_mask = (uint32_t)mask;
    return true;
}

/* Checks that the words tell which blocks are of the tree, and who owns which. */
static bool check_tree(struct hs_rules_parser *p, const struct hs_rule_tree *tree)
{
    const uint16_t *at = tree->at;
    const bool leads_back =
        at[HS_TREE_CHILD] != HS_TREE_NONE &&
        (at[HS_TREE_PARENT] != HS_TREE_NONE || at[HS_TREE_PREV] != HS_TREE_NONE);

    if (at[HS_TREE_HEADER] == HS_TREE_NONE)
        return hs_rules_fault_(p, p->end_column, "'header' is missing: how many bytes it has");
    for (size_t i = 0; i < HS_TREE_HEADER; i++)
        if (at[i] != HS_TREE_NONE && at[i] + 8 > at[HS_TREE_HEADER])
            return hs_rules_fault_(p, p->end_column, "'%s %u' is behind the header of %u bytes",
                                   tree_words[i], at[i], at[HS_TREE_HEADER]);
    if (at[HS_TREE_PARENT] == HS_TREE_NONE && at[HS_TREE_CHILD] == HS_TREE_NONE)
        return hs_rules_fault_(p, p->end_column, "'parent' or 'child' is missing: who owns which");
    if (at[HS_TREE_HELD] != HS_TREE_NONE &&
        (at[HS_TREE_END] == HS_TREE_NONE || at[HS_TREE_CHILD] == HS_TREE_NONE))
        return hs_rules_fault_(p, p->end_column, "'held' needs 'end' and 'child'");
    if (at[HS_TREE_NEXT] != HS_TREE_NONE && at[HS_TREE_CHILD] == HS_TREE_NONE)
        return hs_rules_fault_(p, p->end_column, "'next' needs 'child'");
    if (!leads_back && at[HS_TREE_MAGIC] == HS_TREE_NONE && at[HS_TREE_END] == HS_TREE_NONE)
        return hs_rules_fault_(p, p->end_column,
                               "nothing tells its blocks from others: 'magic', 'end', or "
                               "'child' with 'parent' or 'prev'");
    return true;
}

bool hs_rules_read_owners_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    struct hs_rule_tree *tree = &rule->tree;
    uint64_t number;

    for (size_t i = 0; i < HS_N_TREE_WORDS; i++)
        tree->at[i] = HS_TREE_NONE;
    if (rule->n_patterns > 1)
        return hs_rules_fault_(p, p->words[2].column, "a tree of owners has one name");
    while (hs_rules_peek(p) != NULL && !hs_rules_is_word(hs_rules_peek(p), "when")) {
        const struct hs_rules_word *word = hs_rules_next(p);
        size_t i = 0;
        while (i < HS_N_TREE_WORDS && !hs_rules_is_word(word, tree_words[i]))
            i++;
        if (i == HS_N_TREE_WORDS)
            return hs_rules_unexpected_(
                p, word, "word of a header",
                "'header', 'parent', 'child', 'next', 'prev', 'end', 'size', 'name', "
                "'magic' or 'held'");
        if (tree->at[i] != HS_TREE_NONE)
            return hs_rules_fault_(p, word->column, "'%s' is said twice", word->text);
        if (!hs_rules_read_number_(p, HS_TREE_MOST_BYTES - (i == HS_TREE_HEADER ? 0 : 8), 8,
                                   &number))
            return false;
        tree->at[i] = (uint16_t)number;
        if (i == HS_TREE_MAGIC && !hs_rules_read_magic_(p, &tree->magic, &tree->mask))
            return false;
    }
    return check_tree(p, tree);
}

/* ---- handles */

/* Reads a word and the offset of a pointer. */
static bool read_offset(struct hs_rules_parser *p, const char *name, uint16_t *ret)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    uint64_t number;

    if (!hs_rules_is_word(word, name)) {
        if (word == NULL)
            return hs_rules_fault_(p, p->end_column, "'%s' is missing", name);
        return hs_rules_fault_(p, word->column, "'%.40s' stands where '%s' must", word->text, name);
    }
    if (!hs_rules_read_number_(p, HS_CHAIN_MOST_BYTES - 8, 8, &number))
        return false;
    *ret = (uint16_t)number;
    return true;
}

bool hs_rules_read_handle_(struct hs_rules_parser *p, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    struct hs_rule_chain *chain = &rule->chain;

    if (!hs_rules_is_word(word, "lists"))
        return hs_rules_unexpected_(p, word, "part of a handle", "'lists'");
    word = hs_rules_next(p);
    if (word == NULL || !word->is_pattern)
        return hs_rules_fault_(p, hs_rules_column(p, word), "a name in quotes is missing");
    rule->value = word->text;
    if (!hs_rules_check_name_(p, word) || !read_offset(p, "first", &chain->first) ||
        !read_offset(p, "next", &chain->next) || !read_offset(p, "back", &chain->back))
        return false;
    return chain->next != chain->back ||
           hs_rules_fault_(p, p->end_column, "'next' and 'back' are one word");
}
