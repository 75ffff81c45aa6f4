/* The tier of a variable, by the object that it is in and by its name. */
#include "tiers.h"

#include <string.h>

#include "rule_lines.h"
#include "rules/rules.h"
#include "symbols/demangle.h"

enum { TIERS_NAME_BYTES = 256 };

static const char *file_of(const struct hs_object *object)
{
    const char *slash = object->path == NULL ? NULL : strrchr(object->path, '/');
    return slash == NULL ? "" : slash + 1;
}

bool hs_native_has_interpreter(const struct hs_rules *rules, const struct hs_object *object)
{
    const struct hs_rule *rule = hs_rules_name(rules, HS_RULE_INTERPRETER, object->name);
    return rule != NULL && hs_elf_find(object->elf, rule->value) != NULL;
}

bool hs_native_is_interpreter_program(const struct hs_rules *rules, const struct hs_object *object)
{
    return object->is_executable &&
           hs_rules_name(rules, HS_RULE_INTERPRETER, file_of(object)) != NULL;
}

/* Tells whether an object is an extension that an interpreter loads, by its path. */
static bool is_extension(const struct hs_native *native, size_t object)
{
    const char *file = file_of(&native->dump->objects.objects[object]);
    return hs_rules_name(native->dump->options->rules, HS_RULE_EXTENSION, file) != NULL;
}

static bool is_static(const struct hs_native *native)
{
    for (size_t i = 0; i < native->dump->objects.n; i++)
        if (strncmp(native->dump->objects.objects[i].name, "libc.so", strlen("libc.so")) == 0 ||
            strncmp(native->dump->objects.objects[i].name, "ld-", strlen("ld-")) == 0)
            return false;
    return true;
}

/* Tells whether a variable of the executable is a copy of a runtime's: it has copies of variables
 * of libraries that its code uses directly, and libraries use these: `environ`, `std::cout`. */
static bool is_copied(const struct hs_native *native, size_t object, const char *name)
{
    const struct hs_objects *objects = &native->dump->objects;
    for (size_t i = 0; i < objects->n; i++) {
        if (i == object || !native->of_object[i].is_runtime)
            continue;
        const struct hs_elf_symbol *symbol = hs_elf_find(objects->objects[i].elf, name);
        if (symbol != NULL && symbol->kind == HS_SYMBOL_DATA && symbol->is_global)
            return true;
    }
    return false;
}

/* Returns the rule by which a variable of this name is a runtime's; NULL: none. */
static const struct hs_rule *rule_of(const struct hs_native *native, size_t object,
                                     const char *name)
{
    const struct hs_rules *rules = native->dump->options->rules;
    const struct hs_rule *rule = hs_rules_name(rules, HS_RULE_SYMBOL, name);

    if (rule != NULL || !native->dump->objects.objects[object].is_executable)
        return rule;
    rule = hs_rules_name(rules, HS_RULE_EXECUTABLE, name);
    if (rule == NULL)
        rule = hs_rules_name(rules, HS_RULE_STATIC, name);
    return rule != NULL && rule->kind == HS_RULE_STATIC && !is_static(native) ? NULL : rule;
}

/* Tells whether it is the interpreter's variable that leads to the program's objects, too. */
static bool is_state(const struct hs_native *native, size_t object, const char *name)
{
    const struct hs_rule *rule = hs_rules_name(native->dump->options->rules, HS_RULE_INTERPRETER,
                                               native->dump->objects.objects[object].name);
    return rule != NULL && strcmp(name, rule->value) == 0;
}

bool hs_native_is_own_place(const struct hs_native *native, const char *variable, const char *place)
{
    const struct hs_rules *rules = native->dump->options->rules;

    if (rules == NULL || hs_rules_name(rules, HS_RULE_STATE, place) == NULL)
        return false;
    for (size_t i = 0; i < rules->of[HS_RULE_INTERPRETER].n; i++)
        if (strcmp(rules->rules[rules->of[HS_RULE_INTERPRETER].rules[i]].value, variable) == 0)
            return true;
    return false;
}

bool hs_native_is_interpreters(const struct hs_native *native, size_t object)
{
    return native->has_names &&
           (native->of_object[object].is_interpreter || is_extension(native, object));
}

/* Tells whether a variable is an interpreter's own: every variable of C in the program that is one,
 * where names of the language stand for what the program has; those of the interpreter's objects;
 * and those with its names in a program that has the interpreter in itself. */
static bool is_interpreters(const struct hs_native *native, size_t object, const char *name)
{
    return native->is_interpreter || hs_native_is_interpreters(native, object) ||
           (native->has_names &&
            hs_rules_name(native->dump->options->rules, HS_RULE_INTERPRETED, name) != NULL) ||
           (native->of_object[object].is_interpreter && !is_state(native, object, name));
}

void hs_native_set_tier(const struct hs_native *native, size_t object, const char *name,
                        bool is_global, struct hs_root *root)
{
    const struct hs_native_object *known = &native->of_object[object];
    char plain[TIERS_NAME_BYTES] = "";
    size_t n = name == NULL ? 0 : strcspn(name, "@"); /* a version follows */
    const struct hs_rule *rule = NULL;

    if (n != 0 && n < sizeof plain) {
        memcpy(plain, name, n);
        plain[n] = '\0';
    }
    bool is_runtimes = known->is_runtime || is_interpreters(native, object, plain);
    if (!is_runtimes && !known->is_interpreter && plain[0] != '\0') {
        rule = rule_of(native, object, plain);
        if (rule == NULL && strncmp(plain, "_R", 2) == 0) { /* Rust's, in which a crate is a hash */
            char text[TIERS_NAME_BYTES];
            hs_demangle(plain, text, sizeof text);
            rule = rule_of(native, object, text);
        }
        is_runtimes = rule != NULL || (native->dump->objects.objects[object].is_executable &&
                                       is_global && is_copied(native, object, plain));
    }
    root->tier = is_runtimes ? HS_TIER_RUNTIME : HS_TIER_FIRM;
    uint8_t by = rule != NULL ? rule->number : known->runtime_by;
    root->reason = is_runtimes && by != 0 ? hs_native_line(native, HS_REASON_RUNTIME_TABLE, by)
                                          : HS_REASON_NONE;
}
