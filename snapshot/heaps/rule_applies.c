#include "heaps/rule_applies.h"

#include <string.h>

#include "symbols/elf.h"

static bool uses_symbol(const struct hs_process_copy *process, const char *name)
{
    const struct hs_objects *objects = process->objects;
    struct hs_live_symbol symbol;
    bool is_systems = false;

    for (size_t i = 0; i < objects->n; i++) {
        if (!hs_object_find(&objects->objects[i], name, &symbol))
            continue;
        if (hs_rules_name(process->rules, HS_RULE_SYSTEM, objects->objects[i].name) == NULL)
            return true;
        is_systems = true;
    }
    for (size_t i = 0; is_systems && i < objects->n; i++)
        if (objects->objects[i].is_executable && hs_elf_imports(objects->objects[i].elf, name))
            return true;
    return false;
}

static bool has_library(const struct hs_process_copy *process, const char *pattern)
{
    const struct hs_objects *objects = process->objects;

    for (size_t i = 0; i < objects->n; i++) {
        const char *name = objects->objects[i].name;
        if (hs_rules_glob(pattern, strlen(pattern), name, strlen(name)))
            return true;
    }
    return false;
}

bool hs_rule_applies(const struct hs_process_copy *process, const struct hs_rule *rule)
{
    return rule->if_symbol != NULL ? uses_symbol(process, rule->if_symbol)
                                   : has_library(process, rule->in_library);
}
