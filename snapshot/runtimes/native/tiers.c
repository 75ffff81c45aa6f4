/* The tier of a variable, by the object that it is in and by its name. */
#include "tiers.h"

#include <string.h>

#include "rule_lines.h"
#include "rules/rules.h"

enum { TIERS_NAME_BYTES = 256 };

static bool begins_with(const char *name, const char *const *beginnings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

#define BEGINS_WITH(name, beginnings) \
    begins_with((name), (beginnings), sizeof(beginnings) / sizeof *(beginnings))

bool hs_native_is_python(const struct hs_object *object)
{
    static const char *const beginnings[] = {"python", "libpython"};
    return BEGINS_WITH(object->name, beginnings) && hs_elf_find(object->elf, "_PyRuntime") != NULL;
}

bool hs_native_is_python_program(const struct hs_object *object)
{
    const char *slash = object->path == NULL ? NULL : strrchr(object->path, '/');
    return object->is_executable && slash != NULL && strncmp(slash + 1, "python", 6) == 0;
}

/* Tells whether an object is an extension of Python, by its path:
 * "_json.cpython-311-x86_64-linux-gnu.so", "_core.abi3.so". */
static bool is_extension(const struct hs_object *object)
{
    const char *slash = object->path == NULL ? NULL : strrchr(object->path, '/');
    return slash != NULL &&
           (strstr(slash, ".cpython-3") != NULL || strstr(slash, ".abi3.so") != NULL);
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

/* Tells whether only CPython uses a name; the section of its runtime survives strip. Constants of
 * its frozen modules are text and code, whose bytes may look like any pointer. */
static bool is_pythons(const char *name)
{
    static const char *const beginnings[] = {"_Py", ".PyRuntime"};
    return BEGINS_WITH(name, beginnings) || strstr(name, "_toplevel_consts_") != NULL;
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

bool hs_native_is_python_cache(const char *place)
{
    return strstr(place, "free_list") != NULL || strstr(place, "freelist") != NULL ||
           strstr(place, "cache") != NULL;
}

bool hs_native_is_interpreters(const struct hs_native *native, size_t object)
{
    return native->has_names && (native->of_object[object].is_python ||
                                 is_extension(&native->dump->objects.objects[object]));
}

/* Tells whether a variable is CPython's own: every variable of C in the program `python`, where
 * Python's names stand for what the program has; those of the interpreter's objects; and those with
 * its names in a program that has the interpreter in itself. */
static bool is_interpreters(const struct hs_native *native, size_t object, const char *name)
{
    return native->is_python || hs_native_is_interpreters(native, object) ||
           (native->has_names && is_pythons(name)) ||
           (native->of_object[object].is_python && strcmp(name, "_PyRuntime") != 0);
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
    if (!is_runtimes && !known->is_python && plain[0] != '\0') {
        rule = rule_of(native, object, plain);
        is_runtimes = rule != NULL || (native->dump->objects.objects[object].is_executable &&
                                       is_global && is_copied(native, object, plain));
    }
    root->tier = is_runtimes ? HS_TIER_RUNTIME : HS_TIER_FIRM;
    uint8_t by = rule != NULL ? rule->number : known->runtime_by;
    root->reason = is_runtimes && by != 0 ? hs_native_line(native, HS_REASON_RUNTIME_TABLE, by)
                                          : HS_REASON_NONE;
}
