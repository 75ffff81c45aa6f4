/* The version of the interpreter, and the check that what is known of it fits.
 *
 * `_PyRuntime` is a symbol, or since 3.10 a section of its own that survives strip. The version is
 * that of the debug offsets at its beginning (3.13 and later), of the constant Py_Version (3.11 and
 * later) or of the name of the file, never a text in the data; where none of them says it, as in a
 * program that has a stripped 3.10 in itself, each is tried. All is believed when sys.modules has a
 * module `sys` whose `modules` is that very dictionary and whose `hexversion` is of this version,
 * and when the first thread leads back to its interpreter. */
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

/* "pypy3.9", "libpypy3.9-c.so": its objects move, in a heap of its own. */
static bool is_pypy(const struct hs_object *object)
{
    const char *slash = object->path == NULL ? NULL : strrchr(object->path, '/');
    return slash != NULL &&
           (strncmp(slash + 1, "pypy", 4) == 0 || strncmp(slash + 1, "libpypy", 7) == 0);
}

const struct hs_object *hs_python_object(const struct hs_objects *objects)
{
    hs_addr runtime;

    for (size_t i = 0; i < objects->n; i++)
        if (find_runtime(&objects->objects[i], &runtime) || is_pypy(&objects->objects[i]))
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

static unsigned minor_of_hex(uint32_t hex)
{
    return hex >> 24 == 3 ? hex >> 16 & 255 : 0;
}

/* The offsets that debuggers are told, since 3.13: { "xdebugpy", version, is it without the lock?,
 * { size of the runtime's state, ... }, { sizes and offsets of an interpreter }, ... }. */
enum { DEBUG_WORDS = 96 };
struct debug_offsets {
    uint64_t words[DEBUG_WORDS];
};
static bool read_debug(const struct py_view *view, hs_addr runtime, struct debug_offsets *ret)
{
    const uint8_t *bytes = hs_python_bytes(view, runtime, sizeof *ret);

    if (bytes == NULL || memcmp(bytes, "xdebugpy", PY_WORD) != 0)
        return false;
    for (size_t i = 0; i < DEBUG_WORDS; i++)
        ret->words[i] = hs_load_u64(bytes + i * PY_WORD);
    return true;
}

/* Tells whether they are those of the table, as far as they go: _Py_DebugOffsets of
 * pycore_runtime.h (3.13) and pycore_debug_offsets.h. */
static bool debug_agrees(const struct debug_offsets *debug, const struct py_layout *layout)
{
    const struct {
        uint8_t in_13, later; /* their places; 0: it is not said */
        uint16_t offset;
    } all[] = {
        {5, 5, layout->runtime_interpreters}, {7, 7, layout->interp_id},
        {8, 8, layout->interp_next},          {9, 9, layout->interp_threads},
        {11, 12, layout->interp_modules},     {21, 24, layout->thread_next},
        {22, 25, layout->thread_interp},      {23, 26, layout->thread_frame},
        {25, 28, layout->thread_native_id},   {29, 32, layout->frame_previous},
        {30, 33, layout->frame_code},         {31, 34, layout->frame_instr},
        {32, 35, layout->frame_localsplus},   {33, 36, layout->frame_owner},
        {0, 37, layout->frame_stacktop},      {35, 40, layout->code_file},
        {37, 42, layout->code_qualname},      {38, 43, layout->code_lines},
        {39, 44, layout->code_first_line},    {41, 46, layout->code_local_names},
        {43, 48, layout->code_bytes},         {0, 80, layout->str_ascii},
        {0, 85, layout->gen_frame},           {0, 86, layout->gen_state},
    };

    for (size_t i = 0; layout->minor >= 13 && i < sizeof all / sizeof *all; i++) {
        uint8_t at = layout->minor == 13 ? all[i].in_13 : all[i].later;
        if (at != 0 && debug->words[at] != all[i].offset)
            return false;
    }
    return true;
}

static unsigned find_minor(const struct hs_object *object)
{
    struct hs_live_symbol symbol;
    const uint8_t *bytes = NULL;

    if (hs_object_find(object, "Py_Version", &symbol))
        bytes = hs_elf_bytes_at(object->elf, symbol.address - object->bias, sizeof(uint32_t));
    if (bytes == NULL)
        return minor_of_path(object->path);
    return minor_of_hex(hs_load_u32(bytes));
}

/* The type of the type of a dictionary is the one that is its own. */
static hs_addr find_type_type(const struct py_view *view, hs_addr object)
{
    enum { AT_TYPE = 8 };
    hs_addr type = hs_python_word(view, hs_python_word(view, object + AT_TYPE) + AT_TYPE);

    return type != 0 && hs_python_word(view, type + AT_TYPE) == type ? type : 0;
}

/* Returns the version that the module sys gives. */
static unsigned minor_of_sys(const struct py_view *view, hs_addr dict)
{
    enum { FIRST_DIGIT = 24 };
    hs_addr number = hs_python_dict_value(view, dict, "hexversion");

    return number == 0 ? 0 : minor_of_hex(hs_python_u32(view, number + FIRST_DIGIT));
}

/* The main interpreter, behind the head of all: at the head stands the newest, which may not have
 * its modules yet. */
static hs_addr find_first(const struct py_view *view, hs_addr runtime)
{
    hs_addr head = runtime + view->layout->runtime_interpreters;
    hs_addr main = hs_python_word(view, head + PY_WORD);

    return main != 0 && hs_python_word(view, main + view->layout->interp_modules) != 0
               ? main
               : hs_python_word(view, head);
}

static const char *check(struct py_view *view, struct py_interpreter *p)
{
    enum { MODULE_DICT = 16 };
    const struct py_layout *layout = view->layout;

    p->first = find_first(view, p->runtime);
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
    if (minor_of_sys(view, dict) != layout->minor)
        return "its sys.hexversion is of another";
    hs_addr thread = hs_python_word(view, p->first + layout->interp_threads);
    if (thread != 0 && hs_python_word(view, thread + layout->thread_interp) != p->first)
        return "its first thread is not where it should be";
    return NULL;
}

/* One that does not say which version it is: the first that fits. */
static bool try_all(struct py_view *view, struct py_interpreter *p, char *text, size_t n)
{
    enum { FIRST_MINOR = 9, MOST_MINORS = 32 };

    for (unsigned minor = FIRST_MINOR; minor < MOST_MINORS; minor++) {
        view->layout = hs_python_layout(minor);
        if (view->layout != NULL && check(view, p) == NULL)
            return true;
    }
    (void)snprintf(text, n, "python: a version that does not say which, and none fits");
    return false;
}

/* One of the objects; the reason in text[n] when it is not to be believed. */
static bool believe(struct py_view *view, struct py_interpreter *p, char *text, size_t n)
{
    enum { VERSION = 1, IS_FREE_THREADED = 2 };
    struct debug_offsets debug;
    bool has_debug = read_debug(view, p->runtime, &debug);
    unsigned minor =
        has_debug ? minor_of_hex((uint32_t)debug.words[VERSION]) : find_minor(p->object);

    if (minor == 0)
        return try_all(view, p, text, n);
    view->layout = hs_python_layout(minor);
    if (has_debug && debug.words[IS_FREE_THREADED] != 0) {
        (void)snprintf(text, n, "python 3.%u: built without the lock (free-threaded)", minor);
        return false;
    }
    if (view->layout == NULL) {
        (void)snprintf(text, n, "python 3.%u: a version whose objects are not known", minor);
        return false;
    }
    if (hs_python_word(view, p->runtime + view->layout->runtime_interpreters) == 0) {
        (void)snprintf(text, n, "python 3.%u: no interpreter runs", minor);
        return false;
    }
    const char *why = has_debug && !debug_agrees(&debug, view->layout)
                          ? "its debug offsets are others"
                          : check(view, p);
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
        bool is_other = is_pypy(p.object);
        if (is_other && text[0] == '\0')
            (void)snprintf(text, n, "pypy: a Python whose heap is not known");
        if (is_other || !find_runtime(p.object, &p.runtime) || p.runtime == ret->runtime)
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
