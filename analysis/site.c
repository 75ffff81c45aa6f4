/* Frames of backtraces: which one to show, and how. */
#include "analysis/site.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"

/* A name that is one of these, or begins with one that ends with a star. */
static const char *const allocators[] = {
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "operator new*",
    "je_*",
    "prof_*",
    "imalloc*",
    "malloc_default",
    "do_rallocx",
    "__libc_*alloc*",
    "std::allocator*",
    "std::__new_allocator*",
    "__gnu_cxx::new_allocator*",
    "hs_record_*",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "PyMem_*",
    "_PyObject_Malloc*",
};

/* The prefixes of the standard libraries of OCaml, C++ and Rust: not their own frames are of
 * interest, but whoever called them. */
static const char *const libraries[] = {
    "Stdlib.*",          "Stdlib__*",     "CamlinternalFormat*",
    "CamlinternalLazy*", "std::*",        "void std::*",
    "__gnu_cxx::*",      "alloc::*",      "core::*",
    "<alloc::*",         "<core::*",      "<std::*",
    "hashbrown::*",      "<hashbrown::*",
};

static bool is_like(const char *name, const char *pattern)
{
    size_t n = strcspn(pattern, "*");
    return strncmp(name, pattern, n) == 0 && (pattern[n] == '*' || name[n] == 0);
}

/* Programs of C wrap malloc under a name like it: xmalloc, g_malloc0, zcalloc_num, CRYPTO_zalloc.
 */
static bool is_wrapper(const char *name)
{
    static const char *const parts[] = {"malloc", "calloc", "realloc", "zalloc"};
    if (name[strcspn(name, ".:<( ")] != 0)
        return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]) != NULL)
            return true;
    return false;
}

static bool is_one_of(const char *name, const char *const *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_like(name, patterns[i]))
            return true;
    return false;
}

/* The interpreter calls them so: "app.py", "<string>", "<frozen importlib._bootstrap>"; compilers
 * of C have names in brackets, too, and so has Menhir's standard library. */
static bool is_script(const char *file)
{
    static const char *const others[] = {"<artificial>", "<built-in>", "<command-line>",
                                         "<standard.mly>"};
    size_t n = strlen(file);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(file, others[i]) == 0)
            return false;
    return (file[0] == '<' && file[n - 1] == '>') || (n > 3 && strcmp(file + n - 3, ".py") == 0);
}

/* Tells whether a file comes with Python itself; what was installed beside it counts as the
 * program's. */
static bool is_script_library(const char *file)
{
    return file[0] == '<'
               ? strncmp(file, "<frozen ", 8) == 0
               : strstr(file, "/lib/python3") != NULL && strstr(file, "-packages/") == NULL;
}

enum hs_frame_rank hs_frame_rank(const char *name, const char *file)
{
    if (is_script(file))
        return is_script_library(file) ? HS_FRAME_SCRIPT_LIBRARY : HS_FRAME_SCRIPT;
    if (is_one_of(name, allocators, sizeof allocators / sizeof *allocators))
        return HS_FRAME_ALLOCATOR;
    bool is_library = is_one_of(name, libraries, sizeof libraries / sizeof *libraries);
    bool is_named = name[0] != 0 && strncmp(name, "+0x", 3) != 0;
    return is_named && !is_library && !is_wrapper(name) ? HS_FRAME_OWN : HS_FRAME_LIBRARY;
}

static enum hs_frame_rank rank_of(const struct hs_frame *frame)
{
    return hs_frame_rank(frame->function, frame->file);
}

size_t hs_site_frame_at(const struct hs_frame *frames, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (rank_of(&frames[i]) > rank_of(&frames[best]))
            best = i;
    return best;
}

void hs_frame_text(const struct hs_frame *frame, char *text, size_t n)
{
    const char *file = hs_file_short(frame->file), *module = hs_file_short(frame->module);
    const char *slash = strrchr(module, '/');
    module = slash != NULL ? slash + 1 : module;
    char place[HS_FRAME_BYTES / 2] = "";
    if (file[0] != 0 && frame->line != 0)
        (void)snprintf(place, sizeof place, "%s:%u", file, frame->line);
    else if (file[0] != 0)
        (void)snprintf(place, sizeof place, "%s", file);
    else if (module[0] != 0 && frame->function[0] == 0)
        (void)snprintf(place, sizeof place, "%.200s+0x%lx", module, (unsigned long)frame->offset);
    else if (frame->function[0] == 0 && !frame->is_damaged && frame->offset != 0)
        (void)snprintf(place, sizeof place, "0x%lx", (unsigned long)frame->offset);
    bool has_both = frame->function[0] != 0 && place[0] != 0;
    (void)snprintf(text, n, "%.250s%s%s", frame->function, has_both ? " " : "", place);
    if (text[0] == 0)
        (void)snprintf(text, n, "?");
}

bool hs_frame_contains(const struct hs_frame *frame, const char *name)
{
    char place[HS_FRAME_BYTES];
    if (frame->function[0] != 0 && strstr(frame->function, name) != NULL)
        return true;
    if (frame->file[0] == 0)
        return false;
    (void)snprintf(place, sizeof place, "%.480s:%u", frame->file, frame->line);
    return strstr(frame->line != 0 ? place : frame->file, name) != NULL;
}
