/* Allocators that are seen but not supported, and languages' runtimes whose heaps are not read.
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
    const char *mapping;                  /* exact: how it names its anonymous memory, prctl(2) */
    bool is_runtime;
    uint64_t reader; /* a bit: of the allocator that reads some versions of it */
};

static const struct recognise_mark marks[] = {
    /* gperftools/tcmalloc.h; tcmalloc/tcmalloc.cc of Abseil's */
    {"tcmalloc", .files = {"libtcmalloc"}, .symbols = {"tc_malloc", "TCMallocInternalMalloc"},
     .reader = HS_ALLOCATOR_BIT(tcmalloc)},
    {"mimalloc", .files = {"libmimalloc"}, .symbols = {"mi_malloc"},
     .reader = HS_ALLOCATOR_BIT(mimalloc)},
    /* The loader is the library, whose own name may be libc.so: ldso/dlstart.c. For static
     * programs src/malloc/free.c and mallocng/glue.h; musl 1.2.1 and later */
    {"musl", .files = {"ld-musl-", "libc.musl-"},
     .symbols = {"_dlstart", "__libc_malloc_impl", "__malloc_context"}},
    {"snmalloc", .files = {"libsnmalloc"}, .symbols = {"sn_malloc", "sn_rust_alloc"}},
    {"hoard", .files = {"libhoard"}},
    {"mesh", .files = {"libmesh."}, .symbols = {"mesh_malloc"}},
    {"rpmalloc", .files = {"librpmalloc"}, .symbols = {"rpmalloc"}},
    {"tbbmalloc", .files = {"libtbbmalloc"}, .symbols = {"scalable_malloc"}},
    {"scudo", .files = {"libscudo", "libclang_rt.scudo"}, .symbols = {"__scudo_print_stats"}},
    {"AddressSanitizer", .files = {"libasan", "libclang_rt.asan"}, .symbols = {"__asan_init"}},
    {"ThreadSanitizer", .files = {"libtsan", "libclang_rt.tsan"}, .symbols = {"__tsan_init"}},
    {"Boehm's collector", .files = {"libgc.so"}, .symbols = {"GC_malloc"}},
    {"Go's runtime", .symbols = {"runtime.mheap_"}, .sections = {".gopclntab", ".go.buildinfo"}},
    /* include/ruby/internal/eval.h; `ruby` itself where the library is linked into it */
    {"Ruby", .files = {"libruby"}, .symbols = {"ruby_run_node"}, .is_runtime = true},
    /* erts/emulator/beam/erl_nif_api_funcs.h: what it offers to libraries of natives */
    {"the Erlang machine", .symbols = {"enif_alloc"}, .is_runtime = true},
    {"a Java machine", .files = {"libjvm."}, .symbols = {"JNI_CreateJavaVM"}, .is_runtime = true},
    /* Zend/zend_alloc.h */
    {"PHP", .files = {"libphp"}, .symbols = {"zend_mm_gc"}, .is_runtime = true},
    /* include/v8-initialization.h: v8::V8::GetVersion() */
    {"V8", .files = {"libv8.so"}, .symbols = {"_ZN2v82V810GetVersionEv"}, .is_runtime = true},
    {"SpiderMonkey", .files = {"libmozjs-"}, .symbols = {"JS_GetImplementationVersion"},
     .is_runtime = true},
    {"JavaScriptCore", .files = {"libjavascriptcoregtk-"}, .is_runtime = true},
    {".NET", .files = {"libcoreclr."}, .symbols = {"coreclr_initialize"}, .is_runtime = true},
    {"Mono", .files = {"libmonosgen-", "libmono-2"}, .symbols = {"mono_jit_init"},
     .is_runtime = true},
    {"LuaJIT", .files = {"libluajit-"}, .symbols = {"luaJIT_setmode"}, .is_runtime = true},
    {"PyPy", .files = {"libpypy"}, .symbols = {"pypy_main_startup"}, .is_runtime = true},
    {"Julia", .files = {"libjulia-internal.", "libjulia."}, .symbols = {"jl_init"},
     .is_runtime = true},
    /* rts/include/HsFFI.h, and the closures that every program of GHC has */
    {"Haskell's runtime", .files = {"libHSrts"}, .symbols = {"hs_init_ghc"}, .is_runtime = true},
    {"SBCL", .symbols = {"lisp_startup_options"}, .is_runtime = true},
    /* Chromium's page_allocator_internals_posix.h; its shim is the program's own malloc */
    {"PartitionAlloc", .mapping = "[anon:partition_alloc]"},
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

static bool recognise_maps(const struct hs_target *target, const struct recognise_mark *mark)
{
    for (size_t i = 0; mark->mapping != NULL && target != NULL && i < target->n_mappings; i++)
        if (strcmp(hs_mapping_path(target, &target->mappings[i]), mark->mapping) == 0)
            return true;
    return false;
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

/* The first file that bears the mark; for a name of mappings it is the program. */
static const struct hs_object *recognise_find(const struct hs_process_copy *process,
                                              const struct recognise_mark *mark)
{
    const struct hs_objects *objects = process->objects;

    for (size_t i = 0; i < objects->n; i++)
        if (recognise_is(&objects->objects[i], mark))
            return &objects->objects[i];
    return objects->n != 0 && recognise_maps(process->target, mark) ? &objects->objects[0] : NULL;
}

static void recognise_all(const struct hs_process_copy *process, bool runtimes, uint64_t read,
                          char *text, size_t n_bytes)
{
    size_t n = 0;

    if (n_bytes == 0)
        return;
    text[0] = '\0';
    for (size_t i = 0; process->objects != NULL && i < sizeof marks / sizeof marks[0]; i++) {
        const struct hs_object *object =
            marks[i].is_runtime == runtimes && (marks[i].reader & read) == 0
                ? recognise_find(process, &marks[i])
                : NULL;
        if (object != NULL)
            n += recognise_tell(&marks[i], object, text + n, n_bytes - n);
    }
}

uint64_t hs_heaps_in_use(const struct hs_heaps *heaps)
{
    uint64_t in_use = 0;

    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        in_use |= (uint64_t)(heaps->states[i] != NULL) << i;
    return in_use;
}

void hs_heaps_recognise(const struct hs_process_copy *process, uint64_t read, char *text,
                        size_t n_bytes)
{
    recognise_all(process, false, read, text, n_bytes);
}

void hs_heaps_recognise_runtimes(const struct hs_process_copy *process, char *text, size_t n_bytes)
{
    recognise_all(process, true, 0, text, n_bytes);
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
