/* Allocators that are seen but not supported.
 *
 * By the name of a loaded file; for what is linked into the program or a library by a symbol or a
 * section of which nothing else has the name. */
#include <stdio.h>
#include <string.h>

#include "heaps/allocator.h"
#include "symbols/elf.h"

#define RECOGNISE_MOST 3

struct recognise_mark {
    const char *name;
    const char *files[RECOGNISE_MOST];    /* how the name of a file begins */
    const char *symbols[RECOGNISE_MOST];  /* exact */
    const char *sections[RECOGNISE_MOST]; /* exact */
};

static const struct recognise_mark marks[] = {
    /* gperftools/tcmalloc.h; tcmalloc/tcmalloc.cc of Abseil's */
    {"tcmalloc", {"libtcmalloc"}, {"tc_malloc", "TCMallocInternalMalloc"}, {NULL}},
    {"mimalloc", {"libmimalloc"}, {"mi_malloc"}, {NULL}},
    /* The loader is the library, whose own name may be libc.so: ldso/dlstart.c. For static
     * programs src/malloc/free.c and mallocng/glue.h; musl 1.2.1 and later */
    {"musl",
     {"ld-musl-", "libc.musl-"},
     {"_dlstart", "__libc_malloc_impl", "__malloc_context"},
     {NULL}},
    {"snmalloc", {"libsnmalloc"}, {"sn_malloc", "sn_rust_alloc"}, {NULL}},
    {"hoard", {"libhoard"}, {NULL}, {NULL}},
    {"mesh", {"libmesh."}, {"mesh_malloc"}, {NULL}},
    {"rpmalloc", {"librpmalloc"}, {"rpmalloc"}, {NULL}},
    {"tbbmalloc", {"libtbbmalloc"}, {"scalable_malloc"}, {NULL}},
    {"scudo", {"libscudo", "libclang_rt.scudo"}, {"__scudo_print_stats"}, {NULL}},
    {"AddressSanitizer", {"libasan", "libclang_rt.asan"}, {"__asan_init"}, {NULL}},
    {"ThreadSanitizer", {"libtsan", "libclang_rt.tsan"}, {"__tsan_init"}, {NULL}},
    {"Boehm's collector", {"libgc.so"}, {"GC_malloc"}, {NULL}},
    {"Go's runtime", {NULL}, {"runtime.mheap_"}, {".gopclntab", ".go.buildinfo"}},
};

static bool recognise_defines(const struct hs_object *object, const char *name)
{
    return object->elf != NULL && hs_elf_find(object->elf, name) != NULL;
}

static bool recognise_has_section(const struct hs_object *object, const char *name)
{
    struct hs_elf_section section;
    return object->elf != NULL && hs_elf_section_named(object->elf, name, &section);
}

static bool recognise_is(const struct hs_object *object, const struct recognise_mark *mark)
{
    bool found = false;

    for (size_t i = 0; i < RECOGNISE_MOST && !found; i++)
        found = (mark->files[i] != NULL && object->name != NULL &&
                 strncmp(object->name, mark->files[i], strlen(mark->files[i])) == 0) ||
                (mark->symbols[i] != NULL && recognise_defines(object, mark->symbols[i])) ||
                (mark->sections[i] != NULL && recognise_has_section(object, mark->sections[i]));
    return found;
}

/* Appends "name (file)" and a newline, or nothing when there is no room. */
static size_t recognise_tell(const struct recognise_mark *mark, const struct hs_object *object,
                             char *text, size_t n_bytes)
{
    const char *name = object->name != NULL ? object->name : "";
    int n = snprintf(text, n_bytes, "%s (%s)\n", mark->name, name);

    if (n < 0 || (size_t)n >= n_bytes) {
        text[0] = '\0';
        return 0;
    }
    for (size_t i = 0; i + 1 < (size_t)n; i++) /* the name of a file may hold anything */
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    return (size_t)n;
}

void hs_heaps_recognise(const struct hs_process_copy *process, char *text, size_t n_bytes)
{
    const struct hs_objects *objects = process->objects;
    size_t n = 0;

    if (n_bytes == 0)
        return;
    text[0] = '\0';
    for (size_t i = 0; objects != NULL && i < sizeof marks / sizeof marks[0]; i++)
        for (size_t k = 0; k < objects->n; k++)
            if (recognise_is(&objects->objects[k], &marks[i])) {
                n += recognise_tell(&marks[i], &objects->objects[k], text + n, n_bytes - n);
                break;
            }
}
