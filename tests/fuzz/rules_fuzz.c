/* links: hs_rules */
/* Any bytes as a file of rules: each line is a rule or a fault, and patterns are compared with a
 * plain table of which part of a pattern is which part of a name. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_FILE_BYTES = 1 << 16, MAX_SHORT = 48, MAX_PATTERNS = 12 };

static bool plain_glob(const char *pattern, size_t n_pattern, const char *name, size_t n_name)
{
    static bool fits[MAX_SHORT + 2][MAX_SHORT + 2];
    for (size_t i = n_pattern + 1; i-- > 0;)
        for (size_t j = n_name + 1; j-- > 0;) {
            if (i == n_pattern)
                fits[i][j] = j == n_name;
            else if (pattern[i] == '*')
                fits[i][j] = fits[i + 1][j] || (j < n_name && fits[i][j + 1]);
            else
                fits[i][j] = j < n_name && (pattern[i] == '?' || pattern[i] == name[j]) &&
                             fits[i + 1][j + 1];
        }
    return fits[0][0];
}

static void check_pattern(const struct hs_rules *rules, const struct hs_rule_pattern *pattern,
                          const char *name)
{
    size_t n = strlen(name);
    assert(pattern->part.at <= pattern->part.end && pattern->part.end <= pattern->n);
    if (pattern->n <= MAX_SHORT && n <= MAX_SHORT)
        assert(hs_rules_glob(pattern->text, pattern->n, name, n) ==
               plain_glob(pattern->text, pattern->n, name, n));
    for (int kind = 0; kind < HS_N_RULE_KINDS; kind++) {
        enum hs_rule_kind one = (enum hs_rule_kind)kind;
        const struct hs_rule *type = hs_rules_type(rules, one, HS_RULE_CPP, name),
                             *whole = hs_rules_name(rules, one, name);
        assert(type == NULL || type->kind == one);
        assert(whole == NULL || whole->kind == one);
    }
}

static void check_words(const struct hs_rule *rule)
{
    assert(rule->kind != HS_RULE_CLASS || rule->words != 0);
    assert(rule->kind == HS_RULE_CLASS || rule->kind == HS_RULE_RECORD || rule->words == 0);
}

static void check_rules(const struct hs_rules *rules)
{
    size_t n = rules->n_patterns < MAX_PATTERNS ? rules->n_patterns : MAX_PATTERNS;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            check_pattern(rules, &rules->patterns[i], rules->patterns[k].text);
    for (size_t i = 0; i < rules->n_rules; i++) {
        const struct hs_rule *rule = &rules->rules[i];
        assert(rule->kind < HS_N_RULE_KINDS && rule->n_patterns != 0);
        assert(rule->first_pattern + (size_t)rule->n_patterns <= rules->n_patterns);
        assert(hs_rule_subject(rule)[0] != '\0' && hs_rule_says(rule)[0] != '\0');
        char text[4 * HS_RULES_MAX_NAME_BYTES];
        hs_rule_text(rule, text, sizeof text);
        assert((rule->kind == HS_RULE_CONTAINER) == (rule->container.body != NULL));
        check_words(rule);
        assert((rule->kind == HS_RULE_FIND_MEMBERS) == (rule->n_members != 0));
        for (size_t k = 0; rule->kind == HS_RULE_OWNERS && k < HS_TREE_HEADER; k++)
            assert(rule->tree.at[k] == HS_TREE_NONE ||
                   rule->tree.at[k] + 8 <= rule->tree.at[HS_TREE_HEADER]);
        assert(rule->kind != HS_RULE_OWNERS ||
               (rule->tree.at[HS_TREE_HEADER] <= 512 &&
                (rule->if_symbol != NULL) != (rule->in_library != NULL)));
        assert(rule->kind != HS_RULE_HANDLE ||
               (rule->value != NULL && rule->chain.next != rule->chain.back &&
                rule->chain.first < HS_CHAIN_MOST_BYTES && rule->chain.first % 8 == 0));
        assert(rule->kind != HS_RULE_CELLS ||
               (rule->cells.at[HS_CELLS_BLOCK] <= HS_CELLS_MOST_BYTES &&
                (rule->if_symbol != NULL) != (rule->in_library != NULL)));
        assert(rule->kind != HS_RULE_INTERPRETER || rule->value != NULL);
    }
}

static hs_status take_fault(void *context, const struct hs_rule_fault *fault, struct hs_error *err)
{
    uint32_t *line = context;
    (void)err;
    assert(fault->line > *line && fault->column != 0 && fault->reason[0] != '\0');
    *line = fault->line;
    return HS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_rules rules = {0}, strict = {0};
    uint32_t line = 0;
    struct hs_rule_source source = {.name = "fuzz",
                                    .bytes = bytes,
                                    .n_bytes = n_bytes,
                                    .is_enabled = true,
                                    .told = take_fault,
                                    .context = &line};
    if (n_bytes > MAX_FILE_BYTES)
        return 0;
    if (hs_rules_add(&rules, &source, &err) != HS_OK)
        abort();
    check_rules(&rules);
    source.told = NULL;
    hs_status status = hs_rules_add(&strict, &source, &err);
    assert((status == HS_OK) == (line == 0));
    assert(status == HS_OK || (status == HS_USAGE && err.message[0] != '\0'));
    assert(status != HS_OK || strict.hash == rules.hash);
    hs_rules_fini(&strict);
    hs_rules_fini(&rules);
    return 0;
}
