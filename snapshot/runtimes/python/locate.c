/* Which interpreter it is, and whether what is known of its version fits.
 *
 * `_PyRuntime` is a symbol, or since 3.10 a section of its own that survives strip. The version is
 * that of the constant Py_Version (3.11 and later) or of the name of the file, never a text in the
 * data. All is believed when sys.modules has a module `sys` whose `modules` is that very
 * dictionary, and when the first thread leads back to its interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "python.h"
#include "symbols/elf.h"

static bool find_runtime(const struct hs_object *object, hs_addr *ret)
{
    struct hs_live_symbol symbol;
    struct hs_elf_section section;

    if (hs_object_find(object, "_PyRuntime", &symbol)) {
        *ret = symbol.address;
        return true;
    }
    if (hs_elf_section_named(object->elf, ".PyRuntime", &section) && section.vaddr != 0) {
        *ret = section.vaddr + object->bias;
        return true;
    }
    return false;
}

const struct hs_object *hs_python_object(const struct hs_objects *objects)
{
    hs_addr runtime;

    for (size_t i = 0; i < objects->n; i++)
        if (find_runtime(&objects->objects[i], &runtime))
            return &objects->objects[i];
    return NULL;
}

/* "…/python3.10", "…/libpython3.9.so.1.0": the minor version; 0: it says none. */
static unsigned minor_of_path(const char *path)
{
    const char *name = path == NULL ? NULL : strrchr(path, '/');
    const char *at = name == NULL ? NULL : strstr(name, "python3.");

    return at == NULL ? 0 : (unsigned)strtoul(at + strlen("python3."), NULL, 10);
}

static unsigned find_minor(const struct hs_object *object)
{
    struct hs_live_symbol symbol;
    const uint8_t *bytes = NULL;

    if (hs_object_find(object, "Py_Version", &symbol))
        bytes = hs_elf_bytes_at(object->elf, symbol.address - object->bias, sizeof(uint32_t));
    if (bytes == NULL)
        return minor_of_path(object->path);
    uint32_t hex = hs_load_u32(bytes);
    return hex >> 24 == 3 ? hex >> 16 & 255 : 0;
}

/* The type of the type of a dictionary is the one that is its own. */
static hs_addr find_type_type(const struct py_view *view, hs_addr object)
{
    enum { AT_TYPE = 8 };
    hs_addr type = hs_python_word(view, hs_python_word(view, object + AT_TYPE) + AT_TYPE);

    return type != 0 && hs_python_word(view, type + AT_TYPE) == type ? type : 0;
}

static const char *check(struct py_view *view, struct py_interpreter *p)
{
    enum { MODULE_DICT = 16 };
    const struct py_layout *layout = view->layout;

    p->first = hs_python_word(view, p->runtime + layout->runtime_interpreters);
    p->modules = p->first == 0 ? 0 : hs_python_word(view, p->first + layout->interp_modules);
    if (p->modules == 0)
        return "it has no modules";
    view->type_type = find_type_type(view, p->modules);
    if (view->type_type == 0)
        return "sys.modules is no dictionary";
    hs_addr sys = hs_python_dict_value(view, p->modules, "sys");
    hs_addr dict = sys == 0 ? 0 : hs_python_word(view, sys + MODULE_DICT);
    if (dict == 0 || hs_python_dict_value(view, dict, "modules") != p->modules)
        return "sys.modules is not where it should be";
    hs_addr thread = hs_python_word(view, p->first + layout->interp_threads);
    if (thread != 0 && hs_python_word(view, thread + layout->thread_interp) != p->first)
        return "its first thread is not where it should be";
    return NULL;
}

/* One of the objects; the reason in text[n] when it is not to be believed. */
static bool believe(struct py_view *view, struct py_interpreter *p, char *text, size_t n)
{
    unsigned minor = find_minor(p->object);

    view->layout = hs_python_layout(minor);
    if (view->layout == NULL) {
        if (minor == 0)
            (void)snprintf(text, n, "python: a version that does not say which");
        else
            (void)snprintf(text, n, "python 3.%u: a version whose objects are not known", minor);
        return false;
    }
    if (hs_python_word(view, p->runtime + view->layout->runtime_interpreters) == 0) {
        (void)snprintf(text, n, "python 3.%u: no interpreter runs", minor);
        return false;
    }
    const char *why = check(view, p);
    if (why != NULL)
        (void)snprintf(text, n, "python 3.%u: not built as that version is: %s", minor, why);
    return why == NULL;
}

/* A process may have several, as where a program that is Python itself loads the library: the first
 * that runs is read. */
bool hs_python_locate(struct py_view *view, struct py_interpreter *ret, char *text, size_t n)
{
    const struct hs_objects *objects = &view->dump->objects;
    char reason[PY_NAME_BYTES];
    struct py_view own = *view;

    text[0] = '\0';
    *ret = (struct py_interpreter){0};
    for (size_t i = 0; i < objects->n; i++) {
        struct py_interpreter p = {.object = &objects->objects[i]};
        if (!find_runtime(p.object, &p.runtime) || p.runtime == ret->runtime)
            continue;
        if (!believe(&own, &p, reason, sizeof reason)) {
            if (text[0] == '\0')
                (void)snprintf(text, n, "%s", reason);
        } else if (ret->object == NULL) {
            *view = own;
            *ret = p;
        } else {
            ret->n_more++;
        }
    }
    return ret->object != NULL;
}
