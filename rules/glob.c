/* Patterns and the names that they are of. */
#include <string.h>

#include "private.h"

bool hs_rules_glob(const char *pattern, size_t n_pattern, const char *name, size_t n_name)
{
    size_t at = 0, from = 0, star = SIZE_MAX, resume = 0;

    while (from < n_name) {
        if (at < n_pattern && pattern[at] == '*') {
            star = ++at; /* the last one alone is ever gone back to */
            resume = from;
        } else if (at < n_pattern && (pattern[at] == '?' || pattern[at] == name[from])) {
            at++;
            from++;
        } else if (star != SIZE_MAX) {
            at = star;
            from = ++resume;
        } else {
            return false;
        }
    }
    while (at < n_pattern && pattern[at] == '*')
        at++;
    return at == n_pattern;
}

static bool fits_part(const struct hs_rule_pattern *pattern, const char *name, size_t n,
                      const struct hs_rule_part *part)
{
    bool has_arguments = pattern->part.end != pattern->n;
    size_t end = has_arguments ? n : part->end;

    return hs_rules_glob(pattern->text + pattern->part.at, pattern->n - pattern->part.at,
                         name + part->at, end - part->at);
}

static bool fits_scopes(const struct hs_rule_pattern *pattern, const char *name,
                        const struct hs_rule_part *part)
{
    enum { SEPARATOR = 2 }; /* "::" */
    size_t n_scopes = part->at == 0 ? 0 : part->at - SEPARATOR;

    return pattern->part.at == 0 ||
           hs_rules_glob(pattern->text, pattern->part.at - SEPARATOR, name, n_scopes);
}

static bool is_of(const struct hs_rule *rule, unsigned language)
{
    return rule->languages == 0 || (rule->languages & language) != 0;
}

static bool rule_fits_type(const struct hs_rules *rules, const struct hs_rule *rule,
                           const char *name, size_t n, const struct hs_rule_part *part,
                           bool has_scopes)
{
    for (uint32_t i = 0; i < rule->n_patterns; i++) {
        const struct hs_rule_pattern *pattern = &rules->patterns[rule->first_pattern + i];
        if (fits_part(pattern, name, n, part) && (!has_scopes || fits_scopes(pattern, name, part)))
            return true;
    }
    return false;
}

static bool rule_fits_name(const struct hs_rules *rules, const struct hs_rule *rule,
                           const char *name, size_t n)
{
    for (uint32_t i = 0; i < rule->n_patterns; i++) {
        const struct hs_rule_pattern *pattern = &rules->patterns[rule->first_pattern + i];
        if (hs_rules_glob(pattern->text, pattern->n, name, n))
            return true;
    }
    return false;
}

static const struct hs_rule *find_type(const struct hs_rules *rules, enum hs_rule_kind kind,
                                       unsigned language, const char *name, bool has_scopes,
                                       size_t *at)
{
    if (rules == NULL || *at >= rules->of[kind].n)
        return NULL;
    size_t n = strlen(name);
    const struct hs_rule_part part = hs_rule_part_of(name, n);
    while (*at < rules->of[kind].n) {
        const struct hs_rule *rule = &rules->rules[rules->of[kind].rules[(*at)++]];
        if (is_of(rule, language) && rule_fits_type(rules, rule, name, n, &part, has_scopes))
            return rule;
    }
    return NULL;
}

const struct hs_rule *hs_rules_type(const struct hs_rules *rules, enum hs_rule_kind kind,
                                    unsigned language, const char *name)
{
    size_t at = 0;
    return find_type(rules, kind, language, name, true, &at);
}

const struct hs_rule *hs_rules_type_next(const struct hs_rules *rules, enum hs_rule_kind kind,
                                         unsigned language, const char *name, size_t *at)
{
    return find_type(rules, kind, language, name, true, at);
}

bool hs_rules_may_type(const struct hs_rules *rules, enum hs_rule_kind kind, unsigned language,
                       const char *last_part)
{
    size_t at = 0;
    return find_type(rules, kind, language, last_part, false, &at) != NULL;
}

const struct hs_rule *hs_rules_name(const struct hs_rules *rules, enum hs_rule_kind kind,
                                    const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; rules != NULL && i < rules->of[kind].n; i++) {
        const struct hs_rule *rule = &rules->rules[rules->of[kind].rules[i]];
        if (rule_fits_name(rules, rule, name, n))
            return rule;
    }
    return NULL;
}

const struct hs_rule *hs_rules_class(const struct hs_rules *rules, const char *name,
                                     const char *library)
{
    for (size_t i = 0; rules != NULL && i < rules->of[HS_RULE_CLASS].n; i++) {
        const struct hs_rule *rule = &rules->rules[rules->of[HS_RULE_CLASS].rules[i]];
        const char *in = rule->in_library;
        if ((in == NULL || hs_rules_glob(in, strlen(in), library, strlen(library))) &&
            (name == NULL || hs_rule_is_of(rules, rule, name)))
            return rule;
    }
    return NULL;
}

bool hs_rule_is_of(const struct hs_rules *rules, const struct hs_rule *rule, const char *name)
{
    size_t n = strlen(name);
    const struct hs_rule_part part = hs_rule_part_of(name, n);

    return strcmp(hs_rule_subject(rule), "type") == 0 || rule->kind == HS_RULE_CONTAINER ||
                   rule->kind == HS_RULE_CLASS || rule->kind == HS_RULE_HANDLE
               ? rule_fits_type(rules, rule, name, n, &part, true)
               : rule_fits_name(rules, rule, name, n);
}
