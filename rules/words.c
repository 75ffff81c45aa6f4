/* A line of rules as words between blanks and texts in quotes, and what is wrong with one. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

bool hs_rules_fault_(struct hs_rules_parser *p, uint32_t column, const char *format, ...)
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

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The end of a word or of a pattern, which a zero is written to. */
static bool word_end(struct hs_rules_parser *p, const char *line, char *begin, char **ret)
{
    bool is_pattern = *begin == '"';
    char *end = begin + is_pattern;

    if (!is_pattern) {
        end += strcspn(end, " \t\"");
        if (*end == '"')
            return hs_rules_fault_(p, (uint32_t)(end - line) + 1, "a quote within a word");
        *ret = end;
        return true;
    }
    end += strcspn(end, "\"");
    if (*end == '\0')
        return hs_rules_fault_(p, (uint32_t)(begin - line) + 1, "this quote is not closed");
    if (end[1] != '\0' && !is_blank(end[1]))
        return hs_rules_fault_(p, (uint32_t)(end - line) + 2, "a blank must follow a quote");
    *ret = end;
    return true;
}

bool hs_rules_divide_(struct hs_rules_parser *p, char *line)
{
    char *end = line;

    p->n_words = p->at = 0;
    for (char *at = line;; at = end + 1) { /* behind the zero that ended a word */
        at += strspn(at, " \t");
        p->end_column = (uint32_t)(at - line) + 1;
        if (*at == '\0' || *at == '#')
            return true;
        if (p->n_words == HS_RULES_MAX_WORDS)
            return hs_rules_fault_(p, p->end_column, "more than %d words", HS_RULES_MAX_WORDS);
        if (!word_end(p, line, at, &end))
            return false;
        bool is_pattern = *at == '"';
        char *text = at + is_pattern;
        bool is_last = *end == '\0';
        struct hs_rules_word word = {text, (size_t)(end - text), p->end_column, is_pattern};
        *end = '\0';
        p->words[p->n_words++] = word;
        if (is_last) {
            p->end_column = (uint32_t)(end - line) + 1;
            return true;
        }
    }
}

bool hs_rules_unexpected_(struct hs_rules_parser *p, const struct hs_rules_word *word,
                          const char *what, const char *names)
{
    if (word == NULL)
        return hs_rules_fault_(p, p->end_column, "%s is missing: expected %s", what, names);
    return hs_rules_fault_(p, word->column, "'%.40s' is no %s: expected %s", word->text, what,
                           names);
}

bool hs_rules_check_name_(struct hs_rules_parser *p, const struct hs_rules_word *word)
{
    return (word->n != 0 && word->n <= HS_RULES_MAX_NAME_BYTES) ||
           hs_rules_fault_(p, word->column, "a name of 1 to %d bytes is needed",
                           HS_RULES_MAX_NAME_BYTES);
}
