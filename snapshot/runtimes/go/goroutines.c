/* The lists of goroutines, processors and threads, and what a goroutine is. */
#include "goroutines.h"

#include <string.h>

#include "base/alloc.h"

enum {
    P_MAX = 4096,
    SCHED_G = 16, /* of gobuf: sp, pc, g */
    STATUS_SCAN = 0x1000,
    STATUS_DEAD = 6,
    MINOR_OF_DEAD_EXTRA = 26,
    STATUS_DEAD_EXTRA = 11
};

void hs_go_goroutines_fini(struct hs_go_goroutines *gs)
{
    hs_free(gs->goroutines);
    hs_free(gs->ps);
    hs_free(gs->ms);
    hs_free(gs->frames);
    hs_free(gs->objects);
    hs_free(gs->waiting);
    hs_dict_fini(&gs->by_g);
    hs_dict_fini(&gs->frame_of_pc);
    *gs = (struct hs_go_goroutines){0};
}

/* ---- the lists, by what they lead to */

/* runtime.allgs: the first is number 1, and its scheduling record leads back to it. */
static bool is_allgs(const struct hs_go_heap *heap, const struct hs_go_slice *slice)
{
    const struct hs_go_layout *l = heap->layout;
    uint64_t g = hs_go_member(heap, slice->begin, 0);

    return g != 0 && hs_go_member(heap, g, l->g_sched + SCHED_G) == g &&
           hs_go_member(heap, g, l->g_goid) == 1;
}

/* runtime.allp: each has its number, and the first a cache whose spans are spans. */
static bool is_allp(const struct hs_go_heap *heap, const struct hs_go_slice *slice)
{
    const struct hs_go_layout *l = heap->layout;
    uint32_t number;

    if (slice->n > P_MAX)
        return false;
    for (uint64_t i = 0; i < slice->n; i++) {
        uint64_t p = hs_go_member(heap, slice->begin, (int64_t)(i * HS_WORD_BYTES));
        if (p == 0 || !hs_image_u32(&heap->dump->image, p + (uint64_t)l->p_id, &number) ||
            number != i)
            return false;
    }
    uint64_t p = hs_go_member(heap, slice->begin, 0);
    uint64_t cache = hs_go_member(heap, p, l->p_mcache);
    return cache != 0 && hs_go_member(heap, cache, l->mcache_alloc) != 0;
}

static bool find_list(const struct hs_go_heap *heap,
                      bool (*is_it)(const struct hs_go_heap *heap, const struct hs_go_slice *slice),
                      struct hs_go_slice *ret)
{
    for (unsigned data = 0; data < HS_GO_N_DATA; data++)
        for (hs_addr at = 0; hs_go_next_slice(heap, data, &at, ret);)
            if (is_it(heap, ret))
                return true;
    return false;
}

static hs_status add_record(hs_addr **records, size_t *n, size_t *capacity, hs_addr address,
                            struct hs_error *err)
{
    HS_TRY(HS_GROW(records, capacity, *n + 1, err));
    (*records)[(*n)++] = address;
    return HS_OK;
}

/* ---- one goroutine */

static hs_status add_goroutine(struct hs_go_heap *heap, struct hs_go_goroutines *gs, hs_addr g,
                               struct hs_error *err)
{
    const struct hs_go_layout *l = heap->layout;
    const struct hs_image *image = &heap->dump->image;
    struct hs_go_goroutine made = {.g = g, .id = hs_go_member(heap, g, l->g_goid)};
    uint32_t status;

    if (!hs_image_u32(image, g + (uint64_t)l->g_atomicstatus, &status) ||
        !hs_image_u8(image, g + (uint64_t)l->g_waitreason, &made.wait_reason) ||
        hs_dict_find(&gs->by_g, g) != NULL)
        return HS_OK;
    made.status = (uint8_t)(status & ~(unsigned)STATUS_SCAN);
    HS_TRY(hs_dict_put(&gs->by_g, g, gs->n, err));
    if (made.status != STATUS_DEAD && made.status != STATUS_DEAD_EXTRA) {
        made.stack_begin = hs_go_member(heap, g, 0);
        made.stack_end = hs_go_member(heap, g, HS_WORD_BYTES);
        HS_TRY(hs_go_add_stack(heap, g, made.stack_begin, made.stack_end, err));
    }
    HS_TRY(HS_GROW(&gs->goroutines, &gs->capacity, gs->n + 1, err));
    gs->goroutines[gs->n++] = made;
    return HS_OK;
}

/* Adds the threads' records from one on, by the list of all. */
static hs_status add_threads(const struct hs_go_heap *heap, struct hs_go_goroutines *gs,
                             struct hs_dict *seen, hs_addr m, struct hs_error *err)
{
    for (; m != 0 && m % HS_WORD_BYTES == 0 && hs_dict_find(seen, m) == NULL;
         m = hs_go_member(heap, m, heap->layout->m_alllink)) {
        HS_TRY(hs_dict_put(seen, m, 0, err));
        HS_TRY(add_record(&gs->ms, &gs->n_ms, &gs->ms_capacity, m, err));
    }
    return HS_OK;
}

hs_status hs_go_find_goroutines(struct hs_go_heap *heap, struct hs_go_goroutines *ret,
                                struct hs_error *err)
{
    struct hs_go_slice allgs, allp;
    struct hs_dict seen = {0};
    hs_status status = HS_OK;
    uint64_t word;

    ret->heap = heap;
    if (!find_list(heap, is_allgs, &allgs) || !find_list(heap, is_allp, &allp))
        return hs_fail(err, HS_TARGET, "the goroutines of '%s' were not found",
                       heap->dump->objects.objects[0].name);
    ret->all_gs = allgs.begin;
    ret->all_ps = allp.begin;
    ret->main = hs_go_member(heap, allgs.begin, 0);
    for (uint64_t i = 0; i < allp.n; i++)
        HS_TRY(add_record(&ret->ps, &ret->n_ps, &ret->ps_capacity,
                          hs_go_member(heap, allp.begin, (int64_t)(i * HS_WORD_BYTES)), err));
    for (uint64_t i = 0; i < allgs.n; i++) {
        if (!hs_image_u64(&heap->dump->image, allgs.begin + i * HS_WORD_BYTES, &word))
            break;
        HS_TRY(add_goroutine(heap, ret, word, err));
    }
    for (size_t i = 0; i < ret->n && status == HS_OK; i++)
        status = add_threads(heap, ret, &seen,
                             hs_go_member(heap, ret->goroutines[i].g, heap->layout->g_m), err);
    hs_dict_fini(&seen);
    return status;
}

/* ---- names */

static hs_status name_function(const struct hs_go_heap *heap, const struct hs_go_function *function,
                               hs_str *ret, struct hs_error *err)
{
    char text[HS_GO_NAME_BYTES];

    return function != NULL && hs_go_function_name(heap, function, text, sizeof text)
               ? hs_strtab_add(&heap->dump->strings, text, ret, err)
               : HS_OK;
}

/* Names the function and the line of the go statement. */
static hs_status name_maker(const struct hs_go_heap *heap, hs_addr pc, struct hs_go_goroutine *g,
                            struct hs_error *err)
{
    struct hs_go_function function;
    char text[HS_GO_NAME_BYTES];

    if (!hs_go_function_at(heap, pc, &function))
        return HS_OK;
    HS_TRY(name_function(heap, &function, &g->made_by, err));
    /* The first is made by code without a file: "<autogenerated>". */
    return hs_go_line(heap, &function, pc, text, sizeof text, &g->made_line) && text[0] != '<'
               ? hs_strtab_add(&heap->dump->strings, text, &g->made_file, err)
               : HS_OK;
}

/* Tells whether a function is the runtime's own: main.main is called by one of its. */
static bool is_of_runtime(const char *function)
{
    static const char prefix[] = "runtime.";
    return strncmp(function, prefix, sizeof prefix - 1) == 0 &&
           strcmp(function, "runtime.main") != 0;
}

hs_status hs_go_name_goroutines(struct hs_go_goroutines *gs, struct hs_error *err)
{
    const struct hs_go_heap *heap = gs->heap;

    for (size_t i = 0; i < gs->n; i++) {
        struct hs_go_goroutine *g = &gs->goroutines[i];
        hs_addr start = hs_go_member(heap, g->g, heap->layout->g_startpc);
        hs_addr made = hs_go_member(heap, g->g, heap->layout->g_gopc);
        struct hs_go_outline outline;
        struct hs_go_function first = {.id = 0};
        if (hs_go_function_at(heap, start, &first))
            HS_TRY(name_function(heap, &first, &g->function, err));
        g->is_runtime = is_of_runtime(hs_strtab_get(&heap->dump->strings, g->function));
        if (g->g == gs->main)
            HS_TRY(hs_strtab_add(&heap->dump->strings, "main.main", &g->function, err));
        HS_TRY(hs_go_outline(gs, g, &outline, err));
        if (heap->layout->function_wrapper == first.id && outline.outer[0] != '\0')
            HS_TRY(hs_strtab_add(&heap->dump->strings, outline.outer, &g->function, err));
        HS_TRY(hs_strtab_add(&heap->dump->strings, outline.inner, &g->waits_in, err));
        HS_TRY(name_maker(heap, made == 0 ? 0 : made - 1, g, err));
    }
    return HS_OK;
}
