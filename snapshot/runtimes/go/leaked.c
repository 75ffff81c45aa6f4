/* Goroutines that wait for ever: those whose channels and locks nothing reaches but goroutines that
 * wait for ever themselves. runtime2.go (g, sudog), chan.go, sema.go; Go 1.26 has a profile of the
 * same (GOEXPERIMENT=goroutineleakprofile).
 *
 * Each goroutine that waits so is taken for leaked, and its stack is no root. While the heap is
 * marked from all other roots, whoever waits on a block that is reached is woken: its stack is
 * marked, too. Those that are never woken are leaked.
 *
 * Limit: who waits on a sync.Cond, on static data or on a stack is not judged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "session.h"

enum {
    CASES_MAX = 1 << 16, /* of one select */
    SUDOG_BYTES_MAX = 128,
    MAIN_ID = 1,
    LEAKED_NAME_BYTES = 700,
    STATUS_WAITING = 4,
    STATUS_LEAKED = 10 /* 1.26: found by the program's own profile */
};

void hs_go_waits_fini(struct hs_go_waits *waits)
{
    hs_free(waits->on);
    hs_free(waits->own);
    hs_free(waits->woken);
    hs_bitmap_fini(&waits->is_on);
    hs_bitmap_fini(&waits->is_own);
    *waits = (struct hs_go_waits){.on = NULL};
}

/* ---- what a goroutine waits on */

enum wait_kind { WAIT_OTHER, WAIT_CHANNEL, WAIT_SEMAPHORE, WAIT_NOTHING };

static enum wait_kind kind_of(const char *reason)
{
    static const struct {
        const char *reason;
        enum wait_kind kind;
    } kinds[] = {{"chan receive", WAIT_CHANNEL},
                 {"chan send", WAIT_CHANNEL},
                 {"select", WAIT_CHANNEL},
                 {"chan receive (nil chan)", WAIT_NOTHING},
                 {"chan send (nil chan)", WAIT_NOTHING},
                 {"select (no cases)", WAIT_NOTHING},
                 {"semacquire", WAIT_SEMAPHORE},
                 {"sync.Mutex.Lock", WAIT_SEMAPHORE},
                 {"sync.RWMutex.RLock", WAIT_SEMAPHORE},
                 {"sync.RWMutex.Lock", WAIT_SEMAPHORE},
                 {"sync.WaitGroup.Wait", WAIT_SEMAPHORE}};

    for (size_t i = 0; reason != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(reason, kinds[i].reason) == 0)
            return kinds[i].kind;
    return WAIT_OTHER;
}

static hs_status add_own(struct hs_go_session *s, size_t goroutine, hs_addr record,
                         struct hs_error *err)
{
    struct hs_go_waits *waits = &s->waits;
    struct hs_go_block block;

    if (!hs_go_resolve(&s->heap, record, &block))
        return HS_OK;
    HS_TRY(HS_GROW(&waits->own, &waits->own_capacity, waits->n_own + 1, err));
    waits->own[waits->n_own++] = (struct hs_go_wait){block.slot, goroutine};
    return HS_OK;
}

/* Notes that a goroutine waits on what an address is in. False: that is no object of the heap, but
 * static data or a stack, and who can reach it is not known. */
static hs_status add_wait(struct hs_go_session *s, size_t goroutine, hs_addr address, bool *ret,
                          struct hs_error *err)
{
    struct hs_go_waits *waits = &s->waits;
    struct hs_go_block block;

    *ret = hs_go_resolve(&s->heap, address, &block);
    if (!*ret)
        return HS_OK;
    HS_TRY(HS_GROW(&waits->on, &waits->on_capacity, waits->n_on + 1, err));
    waits->on[waits->n_on++] = (struct hs_go_wait){block.slot, goroutine};
    return HS_OK;
}

/* Tells whether a record is the goroutine's own, and takes it from the number of those that are
 * looked at: lists that share records or go in circles take no longer than all blocks. */
static bool take_record(struct hs_go_session *s, hs_addr g, hs_addr record)
{
    return hs_go_member(&s->heap, record, 0) == g && s->waits.n_records++ < s->heap.live.n_bits;
}

/* Notes the channels: of a list of records, one for each case. */
static hs_status find_channels(struct hs_go_session *s, size_t number, bool *ret,
                               struct hs_error *err)
{
    const struct hs_go_layout *l = s->layout;
    const hs_addr g = s->goroutines.goroutines[number].g;
    hs_addr at = hs_go_member(&s->heap, g, l->g_waiting);
    unsigned n = 0;

    *ret = at != 0;
    for (; at != 0 && *ret && n < CASES_MAX && take_record(s, g, at); n++) {
        HS_TRY(add_own(s, number, at, err));
        HS_TRY(add_wait(s, number, hs_go_member(&s->heap, at, l->sudog_c), ret, err));
        at = hs_go_member(&s->heap, at, l->sudog_waitlink);
    }
    *ret = *ret && at == 0;
    return HS_OK;
}

/* The record that a goroutine waits for a semaphore by: a live word of its frames leads there. */
struct semaphore {
    const struct hs_go_session *s;
    hs_addr g, record;
};

static hs_status see_record(void *context, hs_addr at, uint64_t word, bool is_exact,
                            struct hs_error *err)
{
    struct semaphore *semaphore = context;
    const struct hs_go_heap *heap = &semaphore->s->heap;
    const struct hs_go_layout *l = semaphore->s->layout;
    struct hs_go_block block;
    (void)at, (void)is_exact, (void)err;

    if (semaphore->record == 0 && word != semaphore->g && hs_go_resolve(heap, word, &block) &&
        block.begin == word && block.span->elem_bytes > (uint64_t)l->sudog_c &&
        block.span->elem_bytes <= SUDOG_BYTES_MAX && hs_go_member(heap, word, 0) == semaphore->g &&
        hs_go_member(heap, word, l->sudog_c) == 0)
        semaphore->record = word;
    return HS_OK;
}

static hs_status find_semaphore(struct hs_go_session *s, size_t number, bool *ret,
                                struct hs_error *err)
{
    const struct hs_go_goroutine *g = &s->goroutines.goroutines[number];
    struct semaphore semaphore = {.s = s, .g = g->g};

    *ret = false;
    HS_TRY(hs_go_walk_stack(&s->goroutines, g, see_record, &semaphore, err));
    if (semaphore.record == 0)
        return HS_OK;
    HS_TRY(add_own(s, number, semaphore.record, err));
    return add_wait(s, number, hs_go_member(&s->heap, semaphore.record, s->layout->sudog_elem), ret,
                    err);
}

static hs_status find_waits(struct hs_go_session *s, size_t number, bool *ret, struct hs_error *err)
{
    const struct hs_go_goroutine *g = &s->goroutines.goroutines[number];
    bool waits = g->status == STATUS_WAITING || g->status == STATUS_LEAKED;

    *ret = false;
    if (!waits || g->is_runtime || g->id == MAIN_ID || g->stack_begin >= g->stack_end)
        return HS_OK;
    switch (kind_of(hs_go_wait_reason(s->layout, g->wait_reason))) {
    case WAIT_CHANNEL:
        return find_channels(s, number, ret, err);
    case WAIT_SEMAPHORE:
        return find_semaphore(s, number, ret, err);
    case WAIT_NOTHING:
        *ret = true;
        return HS_OK;
    default:
        return HS_OK;
    }
}

static int wait_compare(const void *a, const void *b)
{
    const struct hs_go_wait *x = a, *y = b;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return (x->goroutine > y->goroutine) - (x->goroutine < y->goroutine);
}

static hs_status set_bits(struct hs_go_wait *waits, size_t n, uint64_t n_bits,
                          struct hs_bitmap *ret, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(ret, n_bits, err));
    if (n > 1)
        qsort(waits, n, sizeof *waits, wait_compare);
    for (size_t i = 0; i < n; i++)
        hs_bitmap_set(ret, waits[i].slot);
    return HS_OK;
}

hs_status hs_go_find_waits(struct hs_go_session *s, struct hs_error *err)
{
    struct hs_go_waits *waits = &s->waits;

    for (size_t i = 0; i < s->goroutines.n; i++) {
        struct hs_go_goroutine *g = &s->goroutines.goroutines[i];
        size_t n_on = waits->n_on, n_own = waits->n_own;
        HS_TRY(find_waits(s, i, &g->is_leaked, err));
        if (g->is_leaked) {
            HS_TRY(add_own(s, i, g->g, err));
        } else {
            waits->n_on = n_on;
            waits->n_own = n_own;
        }
    }
    HS_TRY(set_bits(waits->on, waits->n_on, s->heap.live.n_bits, &waits->is_on, err));
    return set_bits(waits->own, waits->n_own, s->heap.live.n_bits, &waits->is_own, err);
}

/* ---- while the heap is marked */

hs_status hs_go_wake(struct hs_go_session *s, uint64_t slot, struct hs_error *err)
{
    struct hs_go_waits *waits = &s->waits;

    if (!hs_bitmap_get(&waits->is_on, slot))
        return HS_OK;
    for (size_t i = HS_FIRST_NOT(k, 0, waits->n_on, waits->on[k].slot < slot);
         i < waits->n_on && waits->on[i].slot == slot; i++) {
        struct hs_go_goroutine *g = &s->goroutines.goroutines[waits->on[i].goroutine];
        if (!g->is_leaked)
            continue;
        g->is_leaked = false;
        HS_TRY(HS_GROW(&waits->woken, &waits->woken_capacity, waits->n_woken + 1, err));
        waits->woken[waits->n_woken++] = waits->on[i].goroutine;
    }
    return HS_OK;
}

bool hs_go_is_asleep(const struct hs_go_session *s, uint64_t slot)
{
    const struct hs_go_waits *waits = &s->waits;

    if (!hs_bitmap_get(&waits->is_own, slot))
        return false;
    size_t i = HS_FIRST_NOT(k, 0, waits->n_own, waits->own[k].slot < slot);
    return s->goroutines.goroutines[waits->own[i].goroutine].is_leaked;
}

/* ---- afterwards */

/* Says how many there are, and where most of them are. */
static hs_status note_leaked(struct hs_go_session *s, struct hs_error *err)
{
    const struct hs_go_goroutines *gs = &s->goroutines;
    const struct hs_strtab *strings = &s->dump->strings;
    const struct hs_go_goroutine *most = NULL;
    struct hs_dict counts = {0};
    uint64_t n_most = 0;
    hs_status status = HS_OK;

    for (size_t i = 0; i < gs->n && status == HS_OK; i++) {
        const struct hs_go_goroutine *g = &gs->goroutines[i];
        const uint64_t *known = g->is_leaked ? hs_dict_find(&counts, g->function) : NULL;
        uint64_t n = known == NULL ? 1 : *known + 1;
        if (!g->is_leaked)
            continue;
        status = hs_dict_put(&counts, g->function, n, err);
        most = n > n_most ? g : most;
        n_most = n > n_most ? n : n_most;
    }
    hs_dict_fini(&counts);
    if (status != HS_OK || most == NULL)
        return status;
    return hs_findings_note(&s->findings, false, err,
                            "Go: %llu goroutines wait for ever: nothing that may run again reaches "
                            "what they wait on; %llu of them run %s",
                            (unsigned long long)s->n_leaked, (unsigned long long)n_most,
                            most->function == 0 ? "an unknown function"
                                                : hs_strtab_get(strings, most->function));
}

hs_status hs_go_name_leaked(struct hs_go_session *s, struct hs_error *err)
{
    const struct hs_go_goroutines *gs = &s->goroutines;

    hs_go_waits_fini(&s->waits);
    for (size_t i = 0; i < gs->n; i++)
        s->n_leaked += gs->goroutines[i].is_leaked;
    for (size_t i = 0; s->n_leaked != 0 && i < s->roots.n_leaves; i++) {
        struct hs_root_leaf *leaf = &s->roots.leaves[i];
        const uint64_t *g =
            leaf->root.kind == HS_ROOT_STACK ? hs_dict_find(&gs->by_g, leaf->root.address) : NULL;
        char text[LEAKED_NAME_BYTES];
        if (g == NULL || !gs->goroutines[*g].is_leaked)
            continue;
        hs_root_lower(&leaf->root, HS_TIER_FIRM, HS_REASON_LEAKED_GOROUTINE);
        (void)snprintf(text, sizeof text, "leaked %s",
                       hs_strtab_get(&s->dump->strings, leaf->group_variable));
        HS_TRY(hs_strtab_add(&s->dump->strings, text, &leaf->group_variable, err));
    }
    return note_leaked(s, err);
}
