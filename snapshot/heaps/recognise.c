/* Allocators that are seen but not supported, and languages' runtimes whose heaps are not read: by
 * rules of files (share/heapsnap/rules.d/seen.rules). */
#include <stdio.h>
#include <string.h>

#include "heaps/allocator.h"
#include "rules/rules.h"
#include "symbols/elf.h"

static bool is_seen_in(const struct hs_rules *rules, const struct hs_rule *rule,
                       const struct hs_object *object)
{
    struct hs_elf_section section;

    for (uint32_t i = 0; i < rule->n_patterns; i++) {
        const struct hs_rule_pattern *pattern = &rules->patterns[rule->first_pattern + i];
        bool is_in = rule->kind == HS_RULE_SEEN_FILE
                         ? object->name != NULL && hs_rules_glob(pattern->text, pattern->n,
                                                                 object->name, strlen(object->name))
                     : object->elf == NULL ? false
                     : rule->kind == HS_RULE_SEEN_SYMBOL
                         ? hs_elf_find(object->elf, pattern->text) != NULL
                         : rule->kind == HS_RULE_SEEN_SECTION &&
                               hs_elf_section_named(object->elf, pattern->text, &section);
        if (is_in)
            return true;
    }
    return false;
}

static bool is_mapped(const struct hs_rules *rules, const struct hs_rule *rule,
                      const struct hs_target *target)
{
    bool by_range = rule->kind == HS_RULE_SEEN_RANGE;
    char range[2 * 16 + 2];

    if (!by_range && rule->kind != HS_RULE_SEEN_MAPPING)
        return false;
    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        const char *text = by_range ? range : hs_mapping_path(target, m);
        if (by_range)
            snprintf(range, sizeof range, "%llx-%llx", (unsigned long long)m->begin,
                     (unsigned long long)m->end);
        for (uint32_t k = 0; k < rule->n_patterns; k++) {
            const struct hs_rule_pattern *pattern = &rules->patterns[rule->first_pattern + k];
            if (hs_rules_glob(pattern->text, pattern->n, text, strlen(text)))
                return true;
        }
    }
    return false;
}

/* Appends "name (file)" and a newline, or nothing when there is no room. */
static size_t recognise_tell(const char *heap, const struct hs_object *object, char *text,
                             size_t n_bytes)
{
    const char *name = object->name != NULL ? object->name : "";
    int n = snprintf(text, n_bytes, "%s (%s)\n", heap, name);

    if (n < 0 || (size_t)n >= n_bytes) {
        text[0] = '\0';
        return 0;
    }
    for (size_t i = 0; i + 1 < (size_t)n; i++) /* the name of a file may hold anything */
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    return (size_t)n;
}

/* Is it enabled, of such a heap, and the first rule of its name? */
static bool begins_name(const struct hs_rules *rules, size_t at, bool runtimes)
{
    const struct hs_rule *rule = &rules->rules[at];

    if (rule->value == NULL || rule->is_runtime != runtimes || !rules->sets[rule->set].is_enabled)
        return false;
    for (size_t i = 0; i < at; i++)
        if (rules->sets[rules->rules[i].set].is_enabled && rules->rules[i].value != NULL &&
            strcmp(rules->rules[i].value, rule->value) == 0)
            return false;
    return true;
}

/* The first file that a rule of this name is of; for a name of mappings it is the program. */
static const struct hs_object *recognise_find(const struct hs_process_copy *process,
                                              const struct hs_rules *rules, const char *name)
{
    const struct hs_objects *objects = process->objects;

    for (size_t i = 0; i <= objects->n; i++)
        for (size_t k = 0; objects->n != 0 && k < rules->n_rules; k++) {
            const struct hs_rule *rule = &rules->rules[k];
            if (rule->value == NULL || strcmp(rule->value, name) != 0 ||
                !rules->sets[rule->set].is_enabled)
                continue;
            if (i < objects->n && is_seen_in(rules, rule, &objects->objects[i]))
                return &objects->objects[i];
            if (i == objects->n && process->target != NULL &&
                is_mapped(rules, rule, process->target))
                return &objects->objects[0];
        }
    return NULL;
}

/* Has an allocator of this name read what there is? */
static bool is_read(const char *name, uint64_t read)
{
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        if ((read >> i & 1) != 0 && strcmp(hs_allocators[i]->name, name) == 0)
            return true;
    return false;
}

static void recognise_all(const struct hs_process_copy *process, const struct hs_rules *rules,
                          bool runtimes, uint64_t read, char *text, size_t n_bytes)
{
    size_t n = 0;

    if (n_bytes == 0)
        return;
    text[0] = '\0';
    for (size_t i = 0; process->objects != NULL && rules != NULL && i < rules->n_rules; i++) {
        const char *name = rules->rules[i].value;
        if (!begins_name(rules, i, runtimes) || is_read(name, read))
            continue;
        const struct hs_object *object = recognise_find(process, rules, name);
        if (object != NULL)
            n += recognise_tell(name, object, text + n, n_bytes - n);
    }
}

const struct hs_object *hs_heaps_runtime(const struct hs_process_copy *process,
                                         const struct hs_rules *rules, uint64_t read,
                                         const char **ret_name)
{
    for (size_t i = 0; process->objects != NULL && rules != NULL && i < rules->n_rules; i++) {
        const char *name = rules->rules[i].value;
        const struct hs_object *object = begins_name(rules, i, true) && !is_read(name, read)
                                             ? recognise_find(process, rules, name)
                                             : NULL;
        if (object == NULL)
            continue;
        *ret_name = name;
        return object;
    }
    return NULL;
}

uint64_t hs_heaps_in_use(const struct hs_heaps *heaps)
{
    uint64_t in_use = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        in_use |= (uint64_t)(heaps->states[i] != NULL) << i;
    return in_use;
}

void hs_heaps_recognise(const struct hs_process_copy *process, const struct hs_rules *rules,
                        uint64_t read, char *text, size_t n_bytes)
{
    recognise_all(process, rules, false, read, text, n_bytes);
}

void hs_heaps_recognise_runtimes(const struct hs_process_copy *process,
                                 const struct hs_rules *rules, uint64_t read, char *text,
                                 size_t n_bytes)
{
    recognise_all(process, rules, true, read, text, n_bytes);
}

void hs_heaps_join_names(char *text, size_t n_bytes)
{
    size_t n = strlen(text);

    for (char *line = strchr(text, '\n'); line != NULL; line = strchr(line, '\n')) {
        if (line[1] == '\0' || n + 2 > n_bytes) {
            *line = '\0';
            return;
        }
        memmove(line + 2, line + 1, n - (size_t)(line - text));
        memcpy(line, ", ", 2);
        n++;
    }
}
