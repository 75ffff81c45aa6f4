/* `mp_`, the settings and counters of a copy of malloc, and its version.
 *
 * Nothing depends on `mp_` alone: it confirms. It is found by symbol, or near the main arena (both
 * are in the initialised data of malloc.o) as the run of words that makes most sense as it. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "heap.h"
#include "symbols/elf.h"

#define PARAMS_NEAR ((hs_addr)16 << 10)
/* Looked through for the banner of libc, in all: segments of one file may lie over each other. */
#define BANNER_BYTES_MAX (UINT64_C(1) << 30)

enum { PARAMS_SCORE = 6, PARAMS_BYTES = 144 };

/* Offsets in malloc_par. */
struct params_layout {
    uint8_t huge; /* thp_pagesize, hp_pagesize, hp_flags; 0: there are none */
    uint8_t n_mmaps, mmapped_mem, sbrk_base, tcache_bins;
    uint16_t mmapped_unit; /* of mmapped_mem: mremap_chunk after 2.42 counts 16 bytes too many */
};

static const struct params_layout params_layouts[] = {
    {.huge = 40,
     .n_mmaps = 60,
     .mmapped_mem = 80,
     .sbrk_base = 96,
     .tcache_bins = 104,
     .mmapped_unit = 4096},
    {.huge = 0,
     .n_mmaps = 40,
     .mmapped_mem = 56,
     .sbrk_base = 72,
     .tcache_bins = 80,
     .mmapped_unit = 4096},
    {.huge = 48,
     .n_mmaps = 68,
     .mmapped_mem = 88,
     .sbrk_base = 104,
     .tcache_bins = 112,
     .mmapped_unit = 16},
};
enum { N_PARAMS_LAYOUTS = sizeof params_layouts / sizeof params_layouts[0] };

static bool is_power_or_zero(uint64_t value)
{
    return (value & (value - 1)) == 0;
}

/* Could PARAMS_BYTES at `b` be an mp_ of this layout at all? */
static bool params_possible(const uint8_t *b, const struct params_layout *l)
{
    const uint8_t *n_mmaps = b + l->n_mmaps, *tcache = b + l->tcache_bins;
    uint64_t arena_test = hs_load_u64(b + 24);

    if (l->huge != 0 && (!is_power_or_zero(hs_load_u64(b + l->huge)) ||
                         !is_power_or_zero(hs_load_u64(b + l->huge + 8))))
        return false;
    return arena_test >= 1 && arena_test <= 1 << 16 && hs_load_u32(n_mmaps) <= 1u << 30 &&
           hs_load_u32(n_mmaps + 4) <= 1u << 30 && hs_load_u32(n_mmaps + 12) <= 1 &&
           hs_load_u64(b + l->mmapped_mem) % l->mmapped_unit == 0 &&
           hs_load_u64(b + l->mmapped_mem + 8) % l->mmapped_unit == 0 && hs_load_u64(tcache) >= 1 &&
           hs_load_u64(tcache) <= 76 && hs_load_u64(tcache + 8) <= UINT64_C(8) << 20 &&
           hs_load_u64(tcache + 16) <= UINT16_MAX;
}

/* Returns how much speaks for a place being mp_, 0 when it cannot be: values that hardly anybody
 * changes, and numbers that fit each other. */
static unsigned params_score(const struct glibc_state *g, const uint8_t *b,
                             const struct params_layout *l)
{
    uint64_t bytes = hs_load_u64(b + l->mmapped_mem), base = hs_load_u64(b + l->sbrk_base);
    uint64_t limit = hs_load_u64(b + l->tcache_bins + 8);
    uint32_t n = hs_load_u32(b + l->n_mmaps);
    unsigned score = 0;

    if (!params_possible(b, l))
        return 0;
    score += hs_load_u64(b + 8) == 128 << 10;          /* top_pad */
    score += hs_load_u64(b + 24) == 8;                 /* arena_test */
    score += hs_load_u32(b + l->n_mmaps + 4) == 65536; /* n_mmaps_max */
    score += hs_load_u32(b + l->n_mmaps + 8) >= n;     /* max_n_mmaps */
    score += (n == 0) == (bytes == 0);
    score += hs_load_u64(b + l->mmapped_mem + 8) >= bytes;
    score += hs_load_u64(b + l->tcache_bins) == 64;
    score += limit == 1032 || limit == 1033 || limit == 1040 || limit == 1041;
    score += hs_load_u64(b + 16) >= 4096; /* mmap_threshold */
    if (base != 0) /* what sbrk gave first: readable, and a page begins there or soon before */
        score += hs_image_bytes(g->process->image, base, 8) != NULL ? 2 : 0;
    return score;
}

static void params_read(struct glibc_params *params, hs_addr address, const uint8_t *b,
                        const struct params_layout *l)
{
    *params = (struct glibc_params){
        .is_found = true,
        .address = address,
        .sbrk_base = hs_load_u64(b + l->sbrk_base),
        .n_mmaps = hs_load_u32(b + l->n_mmaps),
        .mmapped_bytes = hs_load_u64(b + l->mmapped_mem),
        .tcache_count = hs_load_u64(b + l->tcache_bins + 16),
    };
}

/* The best reading of what is at [begin, end). */
static bool params_search(const struct glibc_state *g, struct glibc_params *params, hs_addr begin,
                          hs_addr end)
{
    unsigned best = PARAMS_SCORE - 1;

    for (hs_addr a = begin; a < end; a += 8) {
        const uint8_t *b = hs_image_bytes(g->process->image, a, PARAMS_BYTES);
        for (size_t i = 0; b != NULL && i < N_PARAMS_LAYOUTS; i++) {
            unsigned score = params_score(g, b, &params_layouts[i]);
            if (score > best) {
                best = score;
                params_read(params, a, b, &params_layouts[i]);
            }
        }
    }
    return best >= PARAMS_SCORE;
}

void hs_glibc_find_params(struct glibc_state *g, struct glibc_instance *instance)
{
    hs_addr arena = instance->main_arena;
    const struct hs_object *object = hs_objects_object_at(g->process->objects, arena);
    const struct hs_elf_symbol *symbol = NULL;

    if (object != NULL && object->elf != NULL)
        symbol = hs_elf_find(object->elf, "mp_");
    if (object != NULL && symbol == NULL && object->debug != NULL)
        symbol = hs_elf_find(object->debug, "mp_");
    if (symbol != NULL && symbol->kind == HS_SYMBOL_DATA) {
        hs_addr at = symbol->vaddr + object->bias;
        if ((at & 7) == 0 && params_search(g, &instance->params, at, at + 8))
            return;
    }
    const struct hs_mapping *module = hs_target_mapping_at(g->process->target, arena);
    if (module == NULL)
        return;
    hs_addr begin = arena - module->begin < PARAMS_NEAR ? module->begin : arena - PARAMS_NEAR;
    hs_addr end = module->end - arena < PARAMS_NEAR ? module->end : arena + PARAMS_NEAR;
    (void)params_search(g, &instance->params, begin & ~(hs_addr)7, end);
}

/* "... stable release version 2.36.": digits and one dot. */
static bool version_read(struct glibc_state *g, const uint8_t *bytes, size_t n)
{
    static const char before[] = "release version ";
    const uint8_t *at = memmem(bytes, n, before, sizeof before - 1);
    char text[sizeof g->version];
    size_t k = 0;

    if (at == NULL)
        return false;
    at += sizeof before - 1;
    while (k < sizeof text - 1 && at + k < bytes + n &&
           ((at[k] >= '0' && at[k] <= '9') || at[k] == '.')) {
        text[k] = (char)at[k];
        k++;
    }
    while (k > 0 && text[k - 1] == '.')
        k--;
    text[k] = '\0';
    if (k < 3)
        return false;
    memcpy(g->version, text, k + 1);
    return true;
}

void hs_glibc_find_version(struct glibc_state *g, const struct glibc_instance *instance)
{
    const struct hs_object *object =
        hs_objects_object_at(g->process->objects, instance->main_arena);
    size_t n = 0;

    if (g->version[0] != '\0' || object == NULL || object->elf == NULL)
        return;
    const struct hs_elf_segment *segments = hs_elf_segments(object->elf, &n);
    for (size_t i = 0; i < n; i++) {
        size_t n_bytes = 0;
        if (segments[i].writable || segments[i].n_file_bytes > BANNER_BYTES_MAX - g->banner_bytes)
            continue;
        const uint8_t *bytes =
            hs_elf_bytes_from(object->elf, segments[i].vaddr, BANNER_BYTES_MAX, &n_bytes);
        if (bytes == NULL)
            continue;
        g->banner_bytes += n_bytes;
        if (version_read(g, bytes, n_bytes))
            return;
    }
}
