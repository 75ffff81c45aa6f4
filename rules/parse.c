/* Lines of a file of rules. A line is words between blanks, or texts in quotes: patterns. A rule is
 * a subject, its patterns, where it holds, two words of what it says, and when:
 *
 *   SUBJECT "PATTERN"... [in PLACE] SAYS SAYS|"NAME" [when language NAME]     # comment
 *   type "PATTERN"... members "MEMBER"... find [when language NAME]
 *   container "PATTERN"... at "MEMBER" COUNT "MEMBER" [ROOM "MEMBER"] [when language NAME]
 *   class "PATTERN"... words NUMBER... find [when library "PATTERN"]
 *   owners "NAME" WORD NUMBER... [magic NUMBER VALUE [mask VALUE]] when symbol|library "NAME"
 *   cells "NAME" WORD NUMBER... [magic NUMBER VALUE [mask VALUE]] when symbol|library "NAME"
 *   handle "PATTERN"... lists "NAME" first NUMBER next NUMBER back NUMBER
 *   record "NAME" bytes NUMBER [more] [magic NUMBER VALUE [mask VALUE]]... [leads NUMBER...]
 *          [code NUMBER...] [self NUMBER NUMBER]... [finds NUMBER...] [member NUMBER "NAME" [to
 * "NAME"]]... when symbol|library "NAME"                                       (all on one line)
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "parse.h"

static const char runtime[] = "runtime", container[] = "container", class[] = "class",
                  owners[] = "owners", handle[] = "handle", cells[] = "cells", record[] = "record";

/* The directives, with their subjects and places. */
static const struct directive {
    const char *subject, *place, *first, *second, *says; /* second: NULL for a name in quotes */
    enum hs_rule_kind kind;
} directives[] = {
    {"type", NULL, "pointers", "find", "pointers find", HS_RULE_FIND},
    {"type", NULL, "members", NULL, "members", HS_RULE_FIND_MEMBERS},
    {"type", NULL, "pointers", "own", "pointers own", HS_RULE_OWN},
    {"type", NULL, "on-stack", "borrowed", "on-stack borrowed", HS_RULE_BORROWED},
    {"type", NULL, "owners", "one", "owners one", HS_RULE_ONE_OWNER},
    {"type", NULL, "owners", "counted", "owners counted", HS_RULE_COUNTED},
    {"type", NULL, "owners", "senders", "owners senders", HS_RULE_SENDERS},
    {"type", NULL, "owners", "receivers", "owners receivers", HS_RULE_RECEIVERS},
    {"library", NULL, "tier", "runtime", "tier runtime", HS_RULE_LIBRARY},
    {"library", NULL, "group", "system", "group system", HS_RULE_SYSTEM},
    {"library", NULL, "keys", "data", "keys data", HS_RULE_KEYS_DATA},
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
    {handle, NULL, NULL, NULL, "lists", HS_RULE_HANDLE},
    {cells, NULL, NULL, NULL, "in", HS_RULE_CELLS},
    {record, NULL, NULL, NULL, "bytes", HS_RULE_RECORD},
};
enum { N_DIRECTIVES = sizeof directives / sizeof *directives };

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

void hs_rule_text(const struct hs_rule *rule, char *text, size_t n_bytes)
{
    (void)snprintf(text, n_bytes, "%s", hs_rule_says(rule));
    if (rule->value != NULL)
        hs_append(text, n_bytes, " %s", rule->value);
    if (rule->kind == HS_RULE_CELLS)
        hs_rules_cells_text_(&rule->cells, text, n_bytes);
    else if (rule->kind == HS_RULE_RECORD)
        hs_rules_record_text_(rule, text, n_bytes);
    else
        hs_rules_layout_text_(rule, text, n_bytes);
    if (rule->in_library != NULL)
        hs_append(text, n_bytes, " when library %s", rule->in_library);
    if (rule->if_symbol != NULL)
        hs_append(text, n_bytes, " when symbol %s", rule->if_symbol);
}

/* ---- rules */

static bool check_pattern(struct hs_rules_parser *p, const struct hs_rules_word *word)
{
    static const char said[] = "*?:<> ,&";

    if (word->n > HS_RULES_MAX_PATTERN_BYTES)
        return hs_rules_fault_(p, word->column, "a pattern of more than %d bytes",
                               HS_RULES_MAX_PATTERN_BYTES);
    if (strspn(word->text, said) == word->n)
        return hs_rules_fault_(p, word->column, "a pattern of no letter would be of everything");
    return true;
}

static hs_status add_pattern(struct hs_rules *rules, const struct hs_rules_word *word,
                             struct hs_error *err)
{
    HS_TRY(HS_GROW(&rules->patterns, &rules->patterns_capacity, rules->n_patterns + 1, err));
    rules->patterns[rules->n_patterns++] =
        (struct hs_rule_pattern){word->text, word->n, hs_rule_part_of(word->text, word->n)};
    return HS_OK;
}

static hs_status read_patterns(struct hs_rules_parser *p, struct hs_rule *rule,
                               struct hs_error *err)
{
    for (; p->at < p->n_words && p->words[p->at].is_pattern; p->at++) {
        const struct hs_rules_word *word = &p->words[p->at];
        if (!check_pattern(p, word))
            return HS_OK;
        HS_TRY(add_pattern(p->rules, word, err));
        rule->n_patterns++;
    }
    if (rule->n_patterns == 0) {
        const struct hs_rules_word *word = hs_rules_next(p);
        (void)hs_rules_fault_(p, hs_rules_column(p, word), "a name in quotes is missing");
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
static bool unexpected_says(struct hs_rules_parser *p, const struct hs_rules_word *word,
                            const char *subject, const char *place)
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
        return hs_rules_fault_(p, p->end_column, "the line ends too early: expected %s", names);
    return hs_rules_fault_(p, word->column, "nothing is said so of a %s: expected %s", subject,
                           names);
}

/* "executable" or "static" behind "in"; *ret is NULL when there is no "in". */
static bool read_place(struct hs_rules_parser *p, const char *subject, const char **ret)
{
    *ret = NULL;
    if (p->at == p->n_words || !hs_rules_is_word(&p->words[p->at], "in"))
        return true;
    const struct hs_rules_word *in = hs_rules_next(p), *word = hs_rules_next(p);
    for (size_t i = 0; i < N_DIRECTIVES; i++)
        if (strcmp(directives[i].subject, subject) == 0 && directives[i].place != NULL &&
            hs_rules_is_word(word, directives[i].place)) {
            *ret = directives[i].place;
            return true;
        }
    if (strcmp(subject, "symbol") != 0)
        return hs_rules_fault_(p, in->column, "'in' is of a symbol");
    return hs_rules_unexpected_(p, word, "place",
                                "'executable', 'static', 'interpreted' or 'interpreter'");
}

/* The name of what is only recognised. What is looked up by its name has no stars. */
static bool read_name(struct hs_rules_parser *p, const struct hs_rules_word *word,
                      struct hs_rule *rule)
{
    bool is_exact = rule->kind == HS_RULE_SEEN_SYMBOL || rule->kind == HS_RULE_SEEN_SECTION;

    if (!hs_rules_check_name_(p, word))
        return false;
    for (uint32_t i = 0; is_exact && i < rule->n_patterns; i++) {
        const struct hs_rules_word *pattern = &p->words[1 + i];
        size_t n = strcspn(pattern->text, "*?");
        if (n != pattern->n)
            return hs_rules_fault_(p, pattern->column + 1 + (uint32_t)n,
                                   "a name of one %s, without '%c'",
                                   directives[rule->directive].subject, pattern->text[n]);
    }
    rule->value = word->text;
    return true;
}

/* ---- what a rule says */

static void set_kind(struct hs_rule *rule, enum hs_rule_kind kind)
{
    rule->kind = (uint8_t)kind;
    for (uint8_t i = 0; i < N_DIRECTIVES; i++)
        if (directives[i].kind == kind)
            rule->directive = i;
}

/* The subjects that have readers of their own (layout.c, record.c). */
static const struct {
    const char *subject;
    enum hs_rule_kind kind;
    bool (*read)(struct hs_rules_parser *p, struct hs_rule *rule);
} layouts[] = {
    {container, HS_RULE_CONTAINER, hs_rules_read_container_},
    {class, HS_RULE_CLASS, hs_rules_read_class_},
    {owners, HS_RULE_OWNERS, hs_rules_read_owners_},
    {handle, HS_RULE_HANDLE, hs_rules_read_handle_},
    {cells, HS_RULE_CELLS, hs_rules_read_cells_},
    {record, HS_RULE_RECORD, hs_rules_read_record_},
};

static bool read_says(struct hs_rules_parser *p, const char *subject, struct hs_rule *rule)
{
    const char *place;
    bool is_begun = false;

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (subject == layouts[i].subject) {
            set_kind(rule, layouts[i].kind);
            return layouts[i].read(p, rule);
        }
    if (strcmp(subject, "type") == 0 && hs_rules_is_word(hs_rules_peek(p), "members")) {
        set_kind(rule, HS_RULE_FIND_MEMBERS);
        return hs_rules_read_members_(p, rule);
    }
    if (!read_place(p, subject, &place))
        return false;
    const struct hs_rules_word *first = hs_rules_next(p), *second = hs_rules_next(p);
    for (size_t i = 0; i < N_DIRECTIVES; i++) {
        const struct directive *one = &directives[i];
        if (!is_said_of(one, subject, place) || !hs_rules_is_word(first, one->first))
            continue;
        is_begun = true;
        bool is_name = one->second == NULL && second != NULL && second->is_pattern;
        if (!is_name && (one->second == NULL || !hs_rules_is_word(second, one->second)))
            continue;
        rule->kind = (uint8_t)one->kind;
        rule->directive = (uint8_t)i;
        rule->is_runtime = one->first == runtime;
        return !is_name || read_name(p, second, rule);
    }
    return unexpected_says(p, is_begun ? second : first, subject, place);
}

static bool read_language(struct hs_rules_parser *p, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        if (hs_rules_is_word(word, languages[i].name))
            rule->languages = languages[i].bit;
    return rule->languages != 0 ||
           hs_rules_unexpected_(p, word, "language", "'c', 'c++' or 'rust'");
}

/* Reads the name of a library, as a pattern, or of a symbol. */
static bool read_binary(struct hs_rules_parser *p, const char **ret, bool is_exact)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    if (word == NULL || !word->is_pattern)
        return hs_rules_fault_(p, hs_rules_column(p, word), "a name in quotes is missing");
    if (!check_pattern(p, word))
        return false;
    size_t n = strcspn(word->text, "*?");
    if (is_exact && n != word->n)
        return hs_rules_fault_(p, word->column + 1 + (uint32_t)n,
                               "a name of one symbol, without '%c'", word->text[n]);
    *ret = word->text;
    return true;
}

/* Tells whether rules of a subject must say which programs they are of. */
static bool is_of_programs(const char *subject)
{
    return subject == owners || subject == cells || subject == record;
}

static bool read_condition(struct hs_rules_parser *p, const char *subject, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);
    const bool is_tree = is_of_programs(subject);

    if (subject != class && !is_tree)
        return hs_rules_is_word(word, "language")
                   ? read_language(p, rule)
                   : hs_rules_unexpected_(p, word, "condition", "'language'");
    if (hs_rules_is_word(word, "library"))
        return read_binary(p, &rule->in_library, false);
    if (is_tree && hs_rules_is_word(word, "symbol"))
        return read_binary(p, &rule->if_symbol, true);
    return hs_rules_unexpected_(p, word, "condition",
                                is_tree ? "'symbol' or 'library'" : "'library'");
}

static bool read_when(struct hs_rules_parser *p, const char *subject, struct hs_rule *rule)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    if (word == NULL)
        return !is_of_programs(subject) ||
               hs_rules_fault_(p, p->end_column,
                               "'when symbol' or 'when library' is missing, which tells "
                               "in which programs to look");
    if (!hs_rules_is_word(word, "when"))
        return hs_rules_fault_(p, word->column, "'%.40s' follows the end of the rule", word->text);
    if (strcmp(subject, "type") != 0 && subject != container && subject != class &&
        !is_of_programs(subject))
        return hs_rules_fault_(p, word->column, "'when language' is of a type");
    if (!read_condition(p, subject, rule))
        return false;
    word = hs_rules_next(p);
    return word == NULL ||
           hs_rules_fault_(p, word->column, "'%.40s' follows the end of the rule", word->text);
}

static bool read_subject(struct hs_rules_parser *p, const char **ret)
{
    const struct hs_rules_word *word = hs_rules_next(p);

    for (size_t i = 0; i < N_DIRECTIVES; i++)
        if (hs_rules_is_word(word, directives[i].subject)) {
            *ret = directives[i].subject;
            return true;
        }
    return hs_rules_unexpected_(
        p, word, "rule",
        "'type', 'library', 'symbol', 'section', 'mapping', 'container', 'class', "
        "'owners', 'handle' or 'cells'");
}

/* Does it lower what a word or a root is worth, so that a snapshot tells which one did? */
static bool lowers(const struct hs_rule *rule)
{
    return rule->kind == HS_RULE_FIND || rule->kind == HS_RULE_FIND_MEMBERS ||
           rule->kind == HS_RULE_BORROWED || strstr(hs_rule_says(rule), "tier runtime") != NULL;
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

static hs_status read_rule(struct hs_rules_parser *p, struct hs_error *err)
{
    const char *subject = NULL;
    struct hs_rule rule = {.set = (uint16_t)(p->rules->n_sets - 1),
                           .line = p->line,
                           .first_pattern = (uint32_t)p->rules->n_patterns};

    if (p->n_words == 0 || !read_subject(p, &subject))
        return HS_OK;
    if (p->rules->n_rules == HS_RULES_MAX_RULES) {
        (void)hs_rules_fault_(p, 1, "more than %d rules", HS_RULES_MAX_RULES);
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

static bool check_bytes(struct hs_rules_parser *p, const char *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == '\x7f')
            return hs_rules_fault_(p, (uint32_t)i + 1, "a byte 0x%02x, which is no text",
                                   (unsigned)(unsigned char)line[i]);
    return true;
}

static bool check_version(struct hs_rules_parser *p)
{
    const struct hs_rules_word *word = hs_rules_next(p), *version = hs_rules_next(p);

    if (!hs_rules_is_word(word, "heapsnap-rules") || version == NULL)
        return hs_rules_fault_(p, 1, "the first line must be 'heapsnap-rules %d'",
                               HS_RULES_VERSION);
    if (!hs_rules_is_word(version, "1"))
        return hs_rules_fault_(p, version->column,
                               "rules of version '%.20s': this program knows version %d",
                               version->text, HS_RULES_VERSION);
    word = hs_rules_next(p);
    return word == NULL ||
           hs_rules_fault_(p, word->column, "'%.40s' follows the version", word->text);
}

/* `line` has n bytes and a zero behind them. */
static hs_status read_line(struct hs_rules_parser *p, char *line, size_t n, struct hs_error *err)
{
    if (n > 0 && line[n - 1] == '\r')
        line[--n] = '\0';
    if (n > HS_RULES_MAX_LINE_BYTES) {
        (void)hs_rules_fault_(p, HS_RULES_MAX_LINE_BYTES + 1, "a line of more than %d bytes",
                              HS_RULES_MAX_LINE_BYTES);
        return HS_OK;
    }
    if (!check_bytes(p, line, n) || !hs_rules_divide_(p, line))
        return HS_OK;
    if (p->line > 1)
        return read_rule(p, err);
    (void)check_version(p);
    return HS_OK;
}

static hs_status tell(struct hs_rules_parser *p, const struct hs_rule_source *source,
                      struct hs_error *err)
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
    struct hs_rules_parser p = {.rules = rules};
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
