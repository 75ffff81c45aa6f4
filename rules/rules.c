/* Sets of rules in memory. */
#include "rules/rules.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/append.h"
#include "private.h"

void hs_rules_fini(struct hs_rules *rules)
{
    for (size_t i = 0; i < rules->n_sets; i++) {
        hs_free(rules->sets[i].name);
        hs_free(rules->sets[i].path);
        hs_free(rules->sets[i].text);
    }
    for (size_t i = 0; i < HS_N_RULE_KINDS; i++)
        hs_free(rules->of[i].rules);
    hs_free(rules->sets);
    hs_free(rules->rules);
    hs_free(rules->patterns);
    *rules = (struct hs_rules){0};
}

void hs_rules_tell(const struct hs_rules *rules, char *text, size_t n_bytes)
{
    static const char *const whose[] = {"", ", of the user "};
    const char *between = "";

    (void)snprintf(text, n_bytes, "rules %016llx: ", (unsigned long long)rules->hash);
    for (size_t is_users = 0; is_users < 2; is_users++) {
        const char *before = whose[is_users];
        for (size_t i = 0; i < rules->n_sets; i++) {
            const struct hs_rule_set *set = &rules->sets[i];
            if (!set->is_enabled || (set->path != NULL) != (is_users != 0))
                continue;
            hs_append(text, n_bytes, "%s%s",
                      between[0] == '\0' || before[0] == '\0' ? between : before, set->name);
            between = ", ";
            before = "";
        }
    }
    if (between[0] == '\0')
        hs_append(text, n_bytes, "none");
}

void hs_rule_place(const struct hs_rules *rules, const struct hs_rule *rule, char *text,
                   size_t n_bytes)
{
    const struct hs_rule_set *set = &rules->sets[rule->set];

    (void)snprintf(text, n_bytes, "%s%s.rules:%u", set->path == NULL ? "rules.d/" : "", set->name,
                   rule->line);
}

const struct hs_rule *hs_rules_numbered(const struct hs_rules *rules, uint8_t number)
{
    for (size_t i = 0; number != 0 && i < rules->n_rules; i++)
        if (rules->rules[i].number == number)
            return &rules->rules[i];
    return NULL;
}

static hs_status ignore_fault(void *context, const struct hs_rule_fault *fault,
                              struct hs_error *err)
{
    (void)context;
    (void)fault;
    (void)err;
    return HS_OK;
}

/* The same on every machine: it stands in snapshots. */
static void add_to_hash(struct hs_rules *rules, const struct hs_rule_source *source)
{
    const uint64_t parts[] = {rules->hash, XXH3_64bits(source->name, strlen(source->name)),
                              XXH3_64bits(source->bytes, source->n_bytes)};

    rules->hash = XXH3_64bits(parts, sizeof parts);
}

hs_status hs_rules_add(struct hs_rules *rules, const struct hs_rule_source *source,
                       struct hs_error *err)
{
    struct hs_rule_source read = *source;

    if (source->n_bytes > HS_RULES_MAX_FILE_BYTES)
        return hs_fail(err, HS_LIMIT, "rules of '%s' have more than %d bytes",
                       source->path != NULL ? source->path : source->name, HS_RULES_MAX_FILE_BYTES);
    if (rules->n_sets == HS_RULES_MAX_SETS)
        return hs_fail(err, HS_LIMIT, "more than %d files of rules", HS_RULES_MAX_SETS);
    HS_TRY(HS_GROW(&rules->sets, &rules->sets_capacity, rules->n_sets + 1, err));
    struct hs_rule_set *set = &rules->sets[rules->n_sets++];
    *set = (struct hs_rule_set){.is_enabled = source->is_enabled};
    HS_TRY(hs_strdup(source->name, &set->name, err));
    if (source->path != NULL)
        HS_TRY(hs_strdup(source->path, &set->path, err));
    HS_TRY(HS_ALLOC(&set->text, source->n_bytes + 1, err));
    if (source->n_bytes != 0)
        memcpy(set->text, source->bytes, source->n_bytes);
    if (source->is_enabled)
        add_to_hash(rules, source);
    else if (source->told == NULL)
        read.told = ignore_fault;
    return hs_rules_parse_(rules, &read, set->text, source->n_bytes, err);
}
