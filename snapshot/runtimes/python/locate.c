/* The version of the interpreter, and the check that what is known of it fits.
 *
 * `_PyRuntime` is a symbol, or since 3.10 a section of its own that survives strip. The version is
 * that of the debug offsets at its beginning (3.13 and later), of the constant Py_Version (3.11 and
 * later) or of the name of the file, never a text in the data; where none of them says it, as in a
 * program that has a stripped 3.10 in itself, each is tried. All is believed when sys.modules has a
 * module `sys` whose `modules` is that very dictionary and whose `hexversion` is of this version,
 * and when the first thread leads back to its interpreter. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "python.h"
#include "symbols/elf.h"

static bool find_runtime(const struct hs_object *object, hs_addr *ret, uint64_t *ret_bytes)
{
    struct hs_live_symbol symbol;
    struct hs_elf_section section;

    if (hs_object_find(object, "_PyRuntime", &symbol)) {
        *ret = symbol.address;
        *ret_bytes = symbol.size;
        return true;
    }
    if (hs_elf_section_named(object->elf, ".PyRuntime", &section) && section.vaddr != 0) {
        *ret = section.vaddr + object->bias;
        *ret_bytes = section.n_bytes;
        return true;
    }
    return false;
}

/* Tells whether an object is PyPy, "pypy3.9" or "libpypy3.9-c.so": its objects move, in a heap of
 * its own. */
static bool is_pypy(const struct hs_object *object)
{
    const char *slash = object->path == NULL ? NULL : strrchr(object->path, '/');
    return slash != NULL &&
           (strncmp(slash + 1, "pypy", 4) == 0 || strncmp(slash + 1, "libpypy", 7) == 0);
}

const struct hs_object *hs_python_object(const struct hs_objects *objects)
{
    hs_addr runtime;
    uint64_t n_bytes;

    for (size_t i = 0; i < objects->n; i++)
        if (find_runtime(&objects->objects[i], &runtime, &n_bytes) || is_pypy(&objects->objects[i]))
            return &objects->objects[i];
    return NULL;
}

/* Returns the minor version in a path, "…/python3.10" or "…/libpython3.9.so.1.0"; 0: it says none.
 */
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

/* Takes what the process says of its runtime's and its interpreter's state, which patch releases
 * and builds with fields of their own lay out otherwise; all else must be as in the table, as far
 * as it is said: _Py_DebugOffsets of pycore_runtime.h (3.13) and pycore_debug_offsets.h. Behind a
 * field that has moved nothing is known of those of the state that are not said. */
static bool hear_debug(const struct debug_offsets *debug, struct py_interpreter *p)
{
#define SAID(in_13, later, field)                              \
    {                                                          \
        in_13, later, offsetof(struct hs_python_layout, field) \
    }
    static const struct {
        uint8_t in_13, later; /* their places; 0: it is not said */
        uint8_t field;
    } all[] = {
        SAID(5, 5, runtime_interpreters), SAID(7, 7, interp_id),
        SAID(8, 8, interp_next),          SAID(9, 9, interp_threads),
        SAID(11, 12, interp_modules),     SAID(21, 24, thread_next),
        SAID(22, 25, thread_interp),      SAID(23, 26, thread_frame),
        SAID(25, 28, thread_native_id),   SAID(29, 32, frame_previous),
        SAID(30, 33, frame_code),         SAID(31, 34, frame_instr),
        SAID(32, 35, frame_localsplus),   SAID(33, 36, frame_owner),
        SAID(0, 37, frame_stacktop),      SAID(35, 40, code_file),
        SAID(37, 42, code_qualname),      SAID(38, 43, code_lines),
        SAID(39, 44, code_first_line),    SAID(41, 46, code_local_names),
        SAID(43, 48, code_bytes),         SAID(0, 80, str_ascii),
        SAID(0, 85, gen_frame),           SAID(0, 86, gen_state),
    };
#undef SAID
    enum { N_OF_STATE = 5 };
    struct hs_python_layout *layout = &p->layout;

    for (size_t i = 0; layout->minor >= 13 && i < sizeof all / sizeof *all; i++) {
        uint8_t at = layout->minor == 13 ? all[i].in_13 : all[i].later;
        uint16_t *field = (uint16_t *)((char *)layout + all[i].field);
        uint64_t said = at == 0 ? *field : debug->words[at];
        if (said == *field)
            continue;
        if (i >= N_OF_STATE || said >= PY_NONE || said % PY_WORD != 0)
            return false;
        *field = (uint16_t)said;
        p->is_told = true;
    }
    if (p->is_told) {
        layout->interp_codecs = layout->interp_atexit = layout->interp_free = PY_NONE;
        layout->n_free_lists = 0;
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

/* Finds the type of types: the type of the type of a dictionary, which is its own type. */
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

/* Finds the main interpreter, behind the head of all: at the head stands the newest, which may not
 * have its modules yet. */
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
    const struct hs_python_layout *layout = view->layout;

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

/* Takes the first version that fits, for an interpreter that does not say which it is. */
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

/* Checks the interpreter of one of the objects; the reason in text[n] when it is not to be
 * believed. */
static bool believe(struct py_view *view, struct py_interpreter *p, char *text, size_t n)
{
    enum { VERSION = 1, IS_FREE_THREADED = 2 };
    struct debug_offsets debug;
    bool has_debug = read_debug(view, p->runtime, &debug);
    unsigned minor =
        has_debug ? minor_of_hex((uint32_t)debug.words[VERSION]) : find_minor(p->object);

    if (minor == 0)
        return try_all(view, p, text, n);
    const struct hs_python_layout *known = hs_python_layout(minor);
    if (has_debug && debug.words[IS_FREE_THREADED] != 0) {
        (void)snprintf(text, n, "python 3.%u: built without the lock (free-threaded)", minor);
        return false;
    }
    if (known == NULL) {
        (void)snprintf(text, n, "python 3.%u: a version whose objects are not known", minor);
        return false;
    }
    p->layout = *known;
    view->layout = &p->layout;
    if (has_debug && !hear_debug(&debug, p)) {
        (void)snprintf(text, n,
                       "python 3.%u: not built as that version is: its debug offsets are "
                       "others",
                       minor);
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

/* Finds the interpreter. A process may have several, as where a program that is Python itself loads
 * the library: the first that runs is read. */
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
        if (is_other || !find_runtime(p.object, &p.runtime, &p.runtime_bytes) ||
            p.runtime == ret->runtime)
            continue;
        if (!believe(&own, &p, reason, sizeof reason)) {
            if (text[0] == '\0')
                (void)snprintf(text, n, "%s", reason);
        } else if (ret->object == NULL) {
            *view = own;
            *ret = p;
            if (own.layout == &p.layout)
                view->layout = &ret->layout;
        } else {
            ret->n_more++;
        }
    }
    return ret->object != NULL;
}
