/* Lines of a file of rules. A line is words between blanks, or texts in quotes: patterns. A rule is
 * a subject, its patterns, where it holds, two words of what it says, and when:
 *
 *   SUBJECT "PATTERN"... [in PLACE] SAYS SAYS|"NAME" [when language NAME]     # comment
 *   container "PATTERN"... at "MEMBER" COUNT "MEMBER" [ROOM "MEMBER"] [when language NAME]
 *   class "PATTERN"... words NUMBER... find [when library "PATTERN"]
 *   owners "NAME" WORD NUMBER... [magic NUMBER VALUE [mask VALUE]] when symbol|library "NAME"
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "private.h"

struct word {
    const char *text; /* ends with a zero */
    size_t n;
    uint32_t column;
    bool is_pattern; /* in quotes */
};

struct parser {
    struct hs_rules *rules;
    struct hs_rule_fault fault; /* of this line; column 0: none */
    uint32_t line;
    struct word words[HS_RULES_MAX_WORDS];
    size_t n_words, at;
    uint32_t end_column; /* of the line: where something is missing */
};

static const char runtime[] = "runtime", container[] = "container", class[] = "class",
                  owners[] = "owners";

/* The directives, with their subjects and places. */
static const struct directive {
    const char *subject, *place, *first, *second, *says; /* second: NULL for a name in quotes */
    enum hs_rule_kind kind;
} directives[] = {
    {"type", NULL, "pointers", "find", "pointers find", HS_RULE_FIND},
    {"type", NULL, "pointers", "own", "pointers own", HS_RULE_OWN},
    {"type", NULL, "on-stack", "borrowed", "on-stack borrowed", HS_RULE_BORROWED},
    {"type", NULL, "owners", "one", "owners one", HS_RULE_ONE_OWNER},
    {"type", NULL, "owners", "counted", "owners counted", HS_RULE_COUNTED},
    {"type", NULL, "owners", "senders", "owners senders", HS_RULE_SENDERS},
    {"type", NULL, "owners", "receivers", "owners receivers", HS_RULE_RECEIVERS},
    {"library", NULL, "tier", "runtime", "tier runtime", HS_RULE_LIBRARY},
    {"library", NULL, "group", "system", "group system", HS_RULE_SYSTEM},
    {"symbol", NULL, "tier", "runtime", "tier runtime", HS_RULE_SYMBOL},
    {"symbol", "executable", "tier", "runtime", "in executable tier runtime", HS_RULE_EXECUTABLE},
    {"symbol", "static", "tier", "runtime", "in static tier runtime", HS_RULE_STATIC},
    {"library", NULL, "heap", NULL, "heap", HS_RULE_SEEN_FILE},
    {"library", NULL, runtime, NULL, runtime, HS_RULE_SEEN_FILE},
    {"symbol", NULL, "heap", NULL, "heap", HS_RULE_SEEN_SYMBOL},
    {"symbol", NULL, runtime, NULL, runtime, HS_RULE_SEEN_SYMBOL},
    {"section", NULL, "heap", NULL, "heap", HS_RULE_SEEN_SECTION},
    {"section", NULL, runtime, NULL, runtime, HS_RULE_SEEN_SECTION},
    {"mapping", NULL, "heap", NULL, "heap", HS_RULE_SEEN_MAPPING},
    {"mapping", NULL, runtime, NULL, runtime, HS_RULE_SEEN_MAPPING},
    {"mapping", "ranges", runtime, NULL, runtime, HS_RULE_SEEN_RANGE},
    {"library", NULL, "interpreter", NULL, "interpreter", HS_RULE_INTERPRETER},
    {"library", NULL, "tier", "extension", "tier extension", HS_RULE_EXTENSION},
    {"symbol", "interpreted", "tier", "runtime", "in interpreted tier runtime",
     HS_RULE_INTERPRETED},
    {"symbol", "interpreter", "tier", "runtime", "in interpreter tier runtime", HS_RULE_STATE},
    {container, NULL, NULL, NULL, "at", HS_RULE_CONTAINER},
    {class, NULL, NULL, NULL, "words", HS_RULE_CLASS},
    {owners, NULL, NULL, NULL, "by", HS_RULE_OWNERS},
};
enum { N_DIRECTIVES = sizeof directives / sizeof *directives };

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
};
enum { CLASS_WORDS = 16 }; /* of hs_rule.words */

static const struct {
    const char *name;
    uint8_t bit;
} languages[] = {{"c", HS_RULE_C}, {"c++", HS_RULE_CPP}, {"rust", HS_RULE_RUST}};

const char *hs_rule_subject(const struct hs_rule *rule)
{
    return directives[rule->directive].subject;
}

const char *hs_rule_says(const struct hs_rule *rule)
{
    return directives[rule->directive].says;
}

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

void hs_rule_text(const struct hs_rule *rule, char *text, size_t n_bytes)
{
    (void)snprintf(text, n_bytes, "%s", hs_rule_says(rule));
    if (rule->value != NULL)
        hs_append(text, n_bytes, " %s", rule->value);
    if (rule->kind == HS_RULE_CONTAINER)
        container_text(&rule->container, text, n_bytes);
    for (unsigned i = 0; i < CLASS_WORDS; i++)
        if ((rule->words >> i & 1) != 0)
            hs_append(text, n_bytes, " %u", i);
    if (rule->kind == HS_RULE_CLASS)
        hs_append(text, n_bytes, " find");
    if (rule->kind == HS_RULE_OWNERS)
        tree_text(&rule->tree, text, n_bytes);
    if (rule->in_library != NULL)
        hs_append(text, n_bytes, " when library %s", rule->in_library);
    if (rule->if_symbol != NULL)
        hs_append(text, n_bytes, " when symbol %s", rule->if_symbol);
}

/* Notes the first fault of the line; always false. */
static bool fault(struct parser *p, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fault(struct parser *p, uint32_t column, const char *format, ...)
{
    va_list arguments;

    if (p->fault.column != 0)
        return false;
    p->fault.line = p->line;
    p->fault.column = column;
    va_start(arguments, format);
    (void)vsnprintf(p->fault.reason, sizeof p->fault.reason, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- words */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The end of a word or of a pattern, which a zero is written to. */
static bool word_end(struct parser *p, const char *line, char *begin, char **ret)
{
    bool is_pattern = *begin == '"';
    char *end = begin + is_pattern;

    if (!is_pattern) {
        end += strcspn(end, " \t\"");
        if (*end == '"')
            return fault(p, (uint32_t)(end - line) + 1, "a quote within a word");
        *ret = end;
        return true;
    }
    end += strcspn(end, "\"");
    if (*end == '\0')
        return fault(p, (uint32_t)(begin - line) + 1, "this quote is not closed");
    if (end[1] != '\0' && !is_blank(end[1]))
        return fault(p, (uint32_t)(end - line) + 2, "a blank must follow a quote");
    *ret = end;
    return true;
}

/* Divides a line, which ends with a zero, into p->words. */
static bool divide(struct parser *p, char *line)
{
    char *end = line;

    p->n_words = p->at = 0;
    for (char *at = line;; at = end + 1) { /* behind the zero that ended a word */
        at += strspn(at, " \t");
        p->end_column = (uint32_t)(at - line) + 1;
        if (*at == '\0' || *at == '#')
            return true;
        if (p->n_words == HS_RULES_MAX_WORDS)
            return fault(p, p->end_column, "more than %d words", HS_RULES_MAX_WORDS);
        if (!word_end(p, line, at, &end))
            return false;
        bool is_pattern = *at == '"';
        char *text = at + is_pattern;
        bool is_last = *end == '\0';
        struct word word = {text, (size_t)(end - text), p->end_column, is_pattern};
        *end = '\0';
        p->words[p->n_words++] = word;
        if (is_last) {
            p->end_column = (uint32_t)(end - line) + 1;
            return true;
        }
    }
}

/* The next word; NULL: the line has ended. */
static const struct word *next(struct parser *p)
{
    return p->at < p->n_words ? &p->words[p->at++] : NULL;
}

static bool is_word(const struct word *word, const char *text)
{
    return word != NULL && !word->is_pattern && strcmp(word->text, text) == 0;
}

static uint32_t column_of(const struct parser *p, const struct word *word)
{
    return word == NULL ? p->end_column : word->column;
}

/* "'x' is no y: expected a, b or c", of a word that is none of `names`. */
static bool unexpected(struct parser *p, const struct word *word, const char *what,
                       const char *names)
{
    if (word == NULL)
        return fault(p, p->end_column, "%s is missing: expected %s", what, names);
    return fault(p, word->column, "'%.40s' is no %s: expected %s", word->text, what, names);
}

/* ---- rules */

static bool check_pattern(struct parser *p, const struct word *word)
{
    static const char said[] = "*?:<> ,&";

    if (word->n > HS_RULES_MAX_PATTERN_BYTES)
        return fault(p, word->column, "a pattern of more than %d bytes",
                     HS_RULES_MAX_PATTERN_BYTES);
    if (strspn(word->text, said) == word->n)
        return fault(p, word->column, "a pattern of no letter would be of everything");
    return true;
}

static hs_status add_pattern(struct hs_rules *rules, const struct word *word, struct hs_error *err)
{
    HS_TRY(HS_GROW(&rules->patterns, &rules->patterns_capacity, rules->n_patterns + 1, err));
    rules->patterns[rules->n_patterns++] =
        (struct hs_rule_pattern){word->text, word->n, hs_rule_part_of(word->text, word->n)};
    return HS_OK;
}

static hs_status read_patterns(struct parser *p, struct hs_rule *rule, struct hs_error *err)
{
    for (; p->at < p->n_words && p->words[p->at].is_pattern; p->at++) {
        const struct word *word = &p->words[p->at];
        if (!check_pattern(p, word))
            return HS_OK;
        HS_TRY(add_pattern(p->rules, word, err));
        rule->n_patterns++;
    }
    if (rule->n_patterns == 0) {
        const struct word *word = next(p);
        (void)fault(p, column_of(p, word), "a name in quotes is missing");
    }
    return HS_OK;
}

/* Tells whether a directive applies to this subject in this place, which may be NULL. */
static bool is_said_of(const struct directive *one, const char *subject, const char *place)
{
    bool is_there = (one->place == NULL) == (place == NULL) &&
                    (place == NULL || strcmp(one->place, place) == 0);
    return is_there && strcmp(one->subject, subject) == 0;
}

/* Reports what else could have been said of the subject. */
static bool unexpected_says(struct parser *p, const struct word *word, const char *subject,
                            const char *place)
{
    char names[160] = "";
    size_t n = 0;

    for (size_t i = 0; i < N_DIRECTIVES; i++) {
        const struct directive *one = &directives[i];
        if (is_said_of(one, subject, place) && n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s'%s %s'", n == 0 ? "" : ", ",
                                  one->first, one->second != NULL ? one->second : "\"NAME\"");
    }
    if (word == NULL)
        return fault(p, p->end_column, "the line ends too early: expected %s", names);
    return fault(p, word->column, "nothing is said so of a %s: expected %s", subject, names);
}

/* "executable" or "static" behind "in"; *ret is NULL when there is no "in". */
static bool read_place(struct parser *p, const char *subject, const char **ret)
{
    *ret = NULL;
    if (p->at == p->n_words || !is_word(&p->words[p->at], "in"))
        return true;
    const struct word *in = next(p), *word = next(p);
    for (size_t i = 0; i < N_DIRECTIVES; i++)
        if (strcmp(directives[i].subject, subject) == 0 && directives[i].place != NULL &&
            is_word(word, directives[i].place)) {
            *ret = directives[i].place;
            return true;
        }
    if (strcmp(subject, "symbol") != 0)
        return fault(p, in->column, "'in' is of a symbol");
    return unexpected(p, word, "place", "'executable', 'static', 'interpreted' or 'interpreter'");
}

/* The name of what is only recognised. What is looked up by its name has no stars. */
static bool read_name(struct parser *p, const struct word *word, struct hs_rule *rule)
{
    bool is_exact = rule->kind == HS_RULE_SEEN_SYMBOL || rule->kind == HS_RULE_SEEN_SECTION;

    if (word->n == 0 || word->n > HS_RULES_MAX_NAME_BYTES)
        return fault(p, word->column, "a name of 1 to %d bytes is needed", HS_RULES_MAX_NAME_BYTES);
    for (uint32_t i = 0; is_exact && i < rule->n_patterns; i++) {
        const struct word *pattern = &p->words[1 + i];
        size_t n = strcspn(pattern->text, "*?");
        if (n != pattern->n)
            return fault(p, pattern->column + 1 + (uint32_t)n, "a name of one %s, without '%c'",
                         directives[rule->directive].subject, pattern->text[n]);
    }
    rule->value = word->text;
    return true;
}

/* ---- containers */

/* Reads the member that follows a word; NULL, with a fault: it is none. */
static const char *read_member(struct parser *p)
{
    const struct word *word = next(p);
    static const char said[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    if (word == NULL || !word->is_pattern) {
        (void)fault(p, column_of(p, word), "a member in quotes is missing");
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
    (void)fault(p, word->column, "members are \"name\", \"a.b\" or \"a->b\", of up to %d bytes",
                HS_RULES_MAX_NAME_BYTES);
    return NULL;
}

/* Tells which of the words it is; 0: none. */
static uint8_t word_of(const struct word *word, const char *const *words, size_t n)
{
    for (uint8_t i = 1; i < n; i++)
        if (is_word(word, words[i]))
            return i;
    return 0;
}

static const struct word *peek(const struct parser *p)
{
    return p->at < p->n_words ? &p->words[p->at] : NULL;
}

/* Checks that a count by an address or an iterator has the other one. */
static bool check_pair(struct parser *p, const struct hs_rule_container *c)
{
    uint8_t wanted = c->by == HS_COUNT_END     ? HS_ROOM_END
                     : c->by == HS_COUNT_DEQUE ? HS_ROOM_DEQUE
                                               : HS_ROOM_NONE;
    bool is_bound = c->room_by == HS_ROOM_END || c->room_by == HS_ROOM_DEQUE;

    if (wanted != HS_ROOM_NONE && c->room_by != wanted)
        return fault(p, p->end_column, "'%s' needs '%s'", counts[c->by], rooms[wanted]);
    if (wanted == HS_ROOM_NONE && is_bound)
        return fault(p, p->end_column, "'%s' is not of '%s'", rooms[c->room_by], counts[c->by]);
    if (c->less != NULL && wanted != HS_ROOM_NONE)
        return fault(p, p->end_column, "'%s' is not of '%s'", less_word, counts[c->by]);
    return true;
}

static void set_kind(struct hs_rule *rule, enum hs_rule_kind kind)
{
    rule->kind = (uint8_t)kind;
    for (uint8_t i = 0; i < N_DIRECTIVES; i++)
        if (directives[i].kind == kind)
            rule->directive = i;
}

static bool read_container(struct parser *p, struct hs_rule *rule)
{
    struct hs_rule_container *c = &rule->container;
    const struct word *word = next(p);

    set_kind(rule, HS_RULE_CONTAINER);
    if (!is_word(word, at_word))
        return unexpected(p, word, "place", "'at'");
    if ((c->body = read_member(p)) == NULL)
        return false;
    word = next(p);
    if ((c->by = word_of(word, counts, N_COUNTS)) == 0)
        return unexpected(p, word, "count",
                          "'elements', 'nodes', 'entries', 'elements-before', 'end' or "
                          "'first-iterator'");
    if ((c->entries = read_member(p)) == NULL)
        return false;
    if (is_word(peek(p), less_word)) {
        (void)next(p);
        if ((c->less = read_member(p)) == NULL)
            return false;
    }
    if ((c->room_by = word_of(peek(p), rooms, N_ROOMS)) != 0) {
        (void)next(p);
        if ((c->room = read_member(p)) == NULL)
            return false;
    }
    return check_pair(p, c);
}

/* ---- classes and trees of owners */

/* Reads a number of at most `most`, of which there must be a whole number of `unit`. */
static bool read_number(struct parser *p, uint64_t most, unsigned unit, uint64_t *ret)
{
    const struct word *word = next(p);
    char *end = NULL;

    if (word == NULL || word->is_pattern || word->text[0] < '0' || word->text[0] > '9')
        return fault(p, column_of(p, word), "a number is missing");
    errno = 0;
    unsigned long long number = strtoull(word->text, &end, 0);
    if (*end != '\0' || errno != 0 || number > most || number % unit != 0)
        return unit > 1 ? fault(p, word->column, "'%.40s' is no multiple of %u up to %llu",
                                word->text, unit, (unsigned long long)most)
                        : fault(p, word->column, "'%.40s' is no number up to %llu", word->text,
                                (unsigned long long)most);
    *ret = number;
    return true;
}

static bool read_class(struct parser *p, struct hs_rule *rule)
{
    const struct word *word = next(p);
    uint64_t number;

    set_kind(rule, HS_RULE_CLASS);
    if (!is_word(word, "words"))
        return unexpected(p, word, "part of a class", "'words'");
    do {
        if (!read_number(p, CLASS_WORDS - 1, 1, &number))
            return false;
        rule->words |= (uint16_t)(1U << number);
    } while (peek(p) != NULL && !peek(p)->is_pattern && peek(p)->text[0] >= '0' &&
             peek(p)->text[0] <= '9');
    word = next(p);
    return is_word(word, "find") || unexpected(p, word, "end of a class", "a number or 'find'");
}

static bool read_magic(struct parser *p, struct hs_rule_tree *tree)
{
    uint64_t magic, mask = UINT32_MAX;

    if (!read_number(p, UINT32_MAX, 1, &magic))
        return false;
    if (is_word(peek(p), "mask")) {
        (void)next(p);
        if (!read_number(p, UINT32_MAX, 1, &mask))
            return false;
    }
    tree->magic = (uint32_t)magic;
    tree->mask = (uint32_t)mask;
    return true;
}

/* Checks that the words tell which blocks are of the tree, and who owns which. */
static bool check_tree(struct parser *p, const struct hs_rule_tree *tree)
{
    const uint16_t *at = tree->at;
    const bool leads_back =
        at[HS_TREE_CHILD] != HS_TREE_NONE &&
        (at[HS_TREE_PARENT] != HS_TREE_NONE || at[HS_TREE_PREV] != HS_TREE_NONE);

    if (at[HS_TREE_HEADER] == HS_TREE_NONE)
        return fault(p, p->end_column, "'header' is missing: how many bytes it has");
    for (size_t i = 0; i < HS_TREE_HEADER; i++)
        if (at[i] != HS_TREE_NONE && at[i] + 8 > at[HS_TREE_HEADER])
            return fault(p, p->end_column, "'%s %u' is behind the header of %u bytes",
                         tree_words[i], at[i], at[HS_TREE_HEADER]);
    if (at[HS_TREE_PARENT] == HS_TREE_NONE && at[HS_TREE_CHILD] == HS_TREE_NONE)
        return fault(p, p->end_column, "'parent' or 'child' is missing: who owns which");
    if (at[HS_TREE_NEXT] != HS_TREE_NONE && at[HS_TREE_CHILD] == HS_TREE_NONE)
        return fault(p, p->end_column, "'next' needs 'child'");
    if (!leads_back && at[HS_TREE_MAGIC] == HS_TREE_NONE && at[HS_TREE_END] == HS_TREE_NONE)
        return fault(p, p->end_column,
                     "nothing tells its blocks from others: 'magic', 'end', or "
                     "'child' with 'parent' or 'prev'");
    return true;
}

static bool read_owners(struct parser *p, struct hs_rule *rule)
{
    struct hs_rule_tree *tree = &rule->tree;
    uint64_t number;

    set_kind(rule, HS_RULE_OWNERS);
    for (size_t i = 0; i < HS_N_TREE_WORDS; i++)
        tree->at[i] = HS_TREE_NONE;
    if (rule->n_patterns > 1)
        return fault(p, p->words[2].column, "a tree of owners has one name");
    while (peek(p) != NULL && !is_word(peek(p), "when")) {
        const struct word *word = next(p);
        size_t i = 0;
        while (i < HS_N_TREE_WORDS && !is_word(word, tree_words[i]))
            i++;
        if (i == HS_N_TREE_WORDS)
            return unexpected(p, word, "word of a header",
                              "'header', 'parent', 'child', 'next', 'prev', 'end', 'size', 'name' "
                              "or 'magic'");
        if (tree->at[i] != HS_TREE_NONE)
            return fault(p, word->column, "'%s' is said twice", word->text);
        if (!read_number(p, HS_TREE_MOST_BYTES - (i == HS_TREE_HEADER ? 0 : 8), 8, &number))
            return false;
        tree->at[i] = (uint16_t)number;
        if (i == HS_TREE_MAGIC && !read_magic(p, tree))
            return false;
    }
    return check_tree(p, tree);
}

/* ---- what a rule says */

static bool read_says(struct parser *p, const char *subject, struct hs_rule *rule)
{
    const char *place;
    bool is_begun = false;

    if (subject == container)
        return read_container(p, rule);
    if (subject == class)
        return read_class(p, rule);
    if (subject == owners)
        return read_owners(p, rule);
    if (!read_place(p, subject, &place))
        return false;
    const struct word *first = next(p), *second = next(p);
    for (size_t i = 0; i < N_DIRECTIVES; i++) {
        const struct directive *one = &directives[i];
        if (!is_said_of(one, subject, place) || !is_word(first, one->first))
            continue;
        is_begun = true;
        bool is_name = one->second == NULL && second != NULL && second->is_pattern;
        if (!is_name && (one->second == NULL || !is_word(second, one->second)))
            continue;
        rule->kind = (uint8_t)one->kind;
        rule->directive = (uint8_t)i;
        rule->is_runtime = one->first == runtime;
        return !is_name || read_name(p, second, rule);
    }
    return unexpected_says(p, is_begun ? second : first, subject, place);
}

static bool read_language(struct parser *p, struct hs_rule *rule)
{
    const struct word *word = next(p);

    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (is_word(word, languages[i].name))
            rule->languages = languages[i].bit;
    return rule->languages != 0 || unexpected(p, word, "language", "'c', 'c++' or 'rust'");
}

/* Reads the name of a library, as a pattern, or of a symbol. */
static bool read_binary(struct parser *p, const char **ret, bool is_exact)
{
    const struct word *word = next(p);

    if (word == NULL || !word->is_pattern)
        return fault(p, column_of(p, word), "a name in quotes is missing");
    if (!check_pattern(p, word))
        return false;
    size_t n = strcspn(word->text, "*?");
    if (is_exact && n != word->n)
        return fault(p, word->column + 1 + (uint32_t)n, "a name of one symbol, without '%c'",
                     word->text[n]);
    *ret = word->text;
    return true;
}

static bool read_condition(struct parser *p, const char *subject, struct hs_rule *rule)
{
    const struct word *word = next(p);
    const bool is_tree = subject == owners;

    if (subject != class && !is_tree)
        return is_word(word, "language") ? read_language(p, rule)
                                         : unexpected(p, word, "condition", "'language'");
    if (is_word(word, "library"))
        return read_binary(p, &rule->in_library, false);
    if (is_tree && is_word(word, "symbol"))
        return read_binary(p, &rule->if_symbol, true);
    return unexpected(p, word, "condition", is_tree ? "'symbol' or 'library'" : "'library'");
}

static bool read_when(struct parser *p, const char *subject, struct hs_rule *rule)
{
    const struct word *word = next(p);

    if (word == NULL)
        return subject != owners || fault(p, p->end_column,
                                          "'when symbol' or 'when library' is missing, which tells "
                                          "in which programs to look");
    if (!is_word(word, "when"))
        return fault(p, word->column, "'%.40s' follows the end of the rule", word->text);
    if (strcmp(subject, "type") != 0 && subject != container && subject != class &&
        subject != owners)
        return fault(p, word->column, "'when language' is of a type");
    if (!read_condition(p, subject, rule))
        return false;
    word = next(p);
    return word == NULL ||
           fault(p, word->column, "'%.40s' follows the end of the rule", word->text);
}

static bool read_subject(struct parser *p, const char **ret)
{
    const struct word *word = next(p);

    for (size_t i = 0; i < N_DIRECTIVES; i++)
        if (is_word(word, directives[i].subject)) {
            *ret = directives[i].subject;
            return true;
        }
    return unexpected(p, word, "rule",
                      "'type', 'library', 'symbol', 'section', 'mapping', 'container', 'class' or "
                      "'owners'");
}

/* Does it lower what a word or a root is worth, so that a snapshot tells which one did? */
static bool lowers(const struct hs_rule *rule)
{
    return rule->kind == HS_RULE_FIND || rule->kind == HS_RULE_BORROWED ||
           strstr(hs_rule_says(rule), "tier runtime") != NULL;
}

static hs_status add_rule(struct hs_rules *rules, struct hs_rule *rule, struct hs_error *err)
{
    struct hs_rule_list *list = &rules->of[rule->kind];

    HS_TRY(HS_GROW(&rules->rules, &rules->rules_capacity, rules->n_rules + 1, err));
    if (rules->sets[rule->set].is_enabled) {
        if (lowers(rule) && rules->n_numbered < HS_RULES_MOST_NUMBERED)
            rule->number = ++rules->n_numbered;
        HS_TRY(HS_GROW(&list->rules, &list->capacity, list->n + 1, err));
        list->rules[list->n++] = (uint32_t)rules->n_rules;
    }
    rules->rules[rules->n_rules++] = *rule;
    return HS_OK;
}

static hs_status read_rule(struct parser *p, struct hs_error *err)
{
    const char *subject = NULL;
    struct hs_rule rule = {.set = (uint16_t)(p->rules->n_sets - 1),
                           .line = p->line,
                           .first_pattern = (uint32_t)p->rules->n_patterns};

    if (p->n_words == 0 || !read_subject(p, &subject))
        return HS_OK;
    if (p->rules->n_rules == HS_RULES_MAX_RULES) {
        (void)fault(p, 1, "more than %d rules", HS_RULES_MAX_RULES);
        return HS_OK;
    }
    hs_status status = read_patterns(p, &rule, err);
    bool is_rule = status == HS_OK && p->fault.column == 0 && read_says(p, subject, &rule) &&
                   read_when(p, subject, &rule);
    if (is_rule)
        status = add_rule(p->rules, &rule, err);
    if (!is_rule || status != HS_OK)
        p->rules->n_patterns = rule.first_pattern;
    return status;
}

/* ---- lines */

static bool check_bytes(struct parser *p, const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == '\x7f')
            return fault(p, (uint32_t)i + 1, "a byte 0x%02x, which is no text",
                         (unsigned)(unsigned char)line[i]);
    return true;
}

static bool check_version(struct parser *p)
{
    const struct word *word = next(p), *version = next(p);

    if (!is_word(word, "heapsnap-rules") || version == NULL)
        return fault(p, 1, "the first line must be 'heapsnap-rules %d'", HS_RULES_VERSION);
    if (!is_word(version, "1"))
        return fault(p, version->column, "rules of version '%.20s': this program knows version %d",
                     version->text, HS_RULES_VERSION);
    word = next(p);
    return word == NULL || fault(p, word->column, "'%.40s' follows the version", word->text);
}

/* `line` has n bytes and a zero behind them. */
static hs_status read_line(struct parser *p, char *line, size_t n, struct hs_error *err)
{
    if (n > 0 && line[n - 1] == '\r')
        line[--n] = '\0';
    if (n > HS_RULES_MAX_LINE_BYTES) {
        (void)fault(p, HS_RULES_MAX_LINE_BYTES + 1, "a line of more than %d bytes",
                    HS_RULES_MAX_LINE_BYTES);
        return HS_OK;
    }
    if (!check_bytes(p, line, n) || !divide(p, line))
        return HS_OK;
    if (p->line > 1)
        return read_rule(p, err);
    (void)check_version(p);
    return HS_OK;
}

static hs_status tell(struct parser *p, const struct hs_rule_source *source, struct hs_error *err)
{
    struct hs_rule_fault found = p->fault;
    const char *file = source->path != NULL ? source->path : source->name;

    p->fault = (struct hs_rule_fault){0};
    if (found.column == 0)
        return HS_OK;
    if (source->told != NULL)
        return source->told(source->context, &found, err);
    (void)hs_fail(err, HS_USAGE, "rules of '%.120s', line %u, column %u: %s", file, found.line,
                  found.column, found.reason);
    return hs_hint(err, "'heapsnap rules --check FILE' tells all that is wrong with a file; "
                        "--rules=-NAME leaves it out");
}

hs_status hs_rules_parse_(struct hs_rules *rules, const struct hs_rule_source *source, char *text,
                          size_t n_bytes, struct hs_error *err)
{
    struct parser p = {.rules = rules};
    size_t at = 0;
    bool has_version = false;

    do { /* an empty file has one line */
        char *line = text + at;
        char *stop = memchr(line, '\n', n_bytes - at);
        stop = stop != NULL ? stop : text + n_bytes;
        *stop = '\0';
        p.line++;
        HS_TRY(read_line(&p, line, (size_t)(stop - line), err));
        has_version |= p.line == 1 && p.fault.column == 0;
        HS_TRY(tell(&p, source, err));
        if (!has_version)
            return HS_OK; /* it was told: nothing else of the file would mean anything */
        at = (size_t)(stop - text) + 1;
    } while (at < n_bytes);
    return HS_OK;
}
