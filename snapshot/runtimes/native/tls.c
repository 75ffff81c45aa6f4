/* Thread-local variables, and the control block of each thread.
 *
 *   tp - offset   static blocks: of the program and the libraries that it started with
 *   tp            control block: tcb, dtv, self, ... pthread_setspecific's values ...
 *   dtv[16 * module]   where a module's block is in this thread; dynamic ones are malloc memory
 *
 * Source: System V ABI, "ELF Handling For Thread-Local Storage"; glibc's dtv_t and struct pthread,
 * of which only what proves itself is used. */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"
#include "link_map.h"
#include "stacks_extent.h"
#include "tiers.h"

enum {
    DTV_ENTRY_BYTES = 16,
    DTV_MAX_MODULES = 1 << 16,
    KEYS_PER_BLOCK = 32, /* PTHREAD_KEY_2NDLEVEL_SIZE */
    KEY_BYTES = 16,      /* seq, data */
    TLS_MOST_BLOCKS = 1 << 22,
};
/* A thread pointer for the places of static blocks; no offset is as large. */
#define TLS_TOP (UINT64_C(1) << 40)

/* A block of thread-local storage: a static one ends with the thread pointer at most, a dynamic one
 * is memory of its own. */
struct tls_block {
    hs_addr begin, end;
    size_t object;
};

/* The blocks of all threads, made disjoint. */
struct tls_all {
    struct hs_owned_range *statics;  /* owned: by thread; static area and control block */
    struct hs_owned_range *dynamics; /* owned: by thread times objects plus object */
    size_t n_statics, statics_capacity, n_dynamics, dynamics_capacity;
    struct hs_owned_range *modules; /* owned: static blocks as if the thread pointer were TLS_TOP */
    size_t n_modules, modules_capacity;
};

struct tls {
    struct hs_native *native;
    const struct tls_all *all;
    size_t number; /* of the thread */
    hs_addr static_end;
    const struct hs_thread *thread;
    struct hs_native_tcb tcb;
    struct hs_root_leaf leaf; /* of the thread */
    struct hs_native_variable variable;
    hs_addr known_begin, known_end;
    struct hs_error *err;
};

/* Finds a module's block of this thread, by the thread's vector; false when it has none yet. */
static bool dynamic_block(const struct tls *t, uint64_t module, hs_addr *ret)
{
    const struct hs_image *image = &t->native->dump->image;
    uint64_t dtv, n, at;
    return hs_image_u64(image, t->tcb.tcb + HS_WORD_BYTES, &dtv) && dtv >= DTV_ENTRY_BYTES &&
           hs_image_u64(image, dtv - DTV_ENTRY_BYTES, &n) && n <= DTV_MAX_MODULES && module <= n &&
           hs_image_u64(image, dtv + module * DTV_ENTRY_BYTES, &at) && at != 0 &&
           at != UINT64_MAX && (*ret = at, true);
}

static bool block_of(const struct tls *t, size_t object, struct tls_block *ret)
{
    const struct hs_native_object *of = &t->native->of_object[object];
    struct hs_elf_tls tls;
    if (of->tls_module == 0 || !hs_elf_tls(t->native->dump->objects.objects[object].elf, &tls))
        return false;
    ret->object = object;
    if (of->tls_offset != 0)
        ret->begin = t->tcb.tcb - of->tls_offset;
    else if (!dynamic_block(t, of->tls_module, &ret->begin))
        return false;
    return !__builtin_add_overflow(ret->begin, tls.n_memory_bytes, &ret->end);
}

/* Finds the symbol that holds an offset, and where the next one begins. Symbols ascend. */
static const struct hs_elf_symbol *symbol_at(const struct hs_elf *elf, uint64_t offset,
                                             uint64_t *ret_next)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_tls_symbols(elf, &n), *found = NULL;
    size_t low = HS_FIRST_ABOVE(symbols, n, vaddr, offset);
    *ret_next = low < n ? symbols[low].vaddr : UINT64_MAX;
    while (low > 0 && (found == NULL || symbols[low - 1].vaddr == found->vaddr)) {
        const struct hs_elf_symbol *s = &symbols[--low];
        if (s->n_bytes != 0 && offset - s->vaddr >= s->n_bytes)
            break;
        found = s; /* going down within one address, the last one is global */
    }
    return found;
}

static hs_status find_by_symbol(struct tls *t, const struct tls_block *block, hs_addr at)
{
    const struct hs_object *object = &t->native->dump->objects.objects[block->object];
    struct hs_native_variable *v = &t->variable;
    char text[HS_VARIABLE_NAME_BYTES];
    uint64_t next;
    const struct hs_elf_symbol *symbol =
        symbol_at(hs_native_symbols(object), at - block->begin, &next);
    v->begin = block->begin + (symbol != NULL ? symbol->vaddr : 0);
    uint64_t n = symbol != NULL && symbol->n_bytes != 0 ? symbol->n_bytes : UINT64_MAX;
    uint64_t room = block->end - v->begin;
    if (n > room)
        n = room;
    if (next != UINT64_MAX && v->begin + n > block->begin + next)
        n = block->begin + next - v->begin;
    v->n_bytes = n;
    if (symbol == NULL)
        return hs_native_name(t->native, &v->name, t->err, HS_PLACE_TLS "%s", object->name);
    hs_native_symbol_name(symbol->name, text, sizeof text);
    hs_native_cut_macros(text);
    v->is_whole = n > HS_WORD_BYTES;
    HS_TRY(hs_strtab_add(&t->native->dump->strings, text, &v->name, t->err));
    v->leaf.root.symbol = v->name;
    hs_native_set_tier(t->native, block->object, symbol->name, false, &v->leaf.root);
    return HS_OK;
}

static hs_status find_in_block(struct tls *t, const struct tls_block *block, hs_addr at)
{
    struct hs_native *native = t->native;
    const struct hs_object *object = &native->dump->objects.objects[block->object];
    struct hs_native_variable *v = &t->variable;
    struct hs_cvariable found = {0};
    bool is_described = false;
    *v = (struct hs_native_variable){.leaf = t->leaf};
    hs_native_set_tier(native, block->object, NULL, false, &v->leaf.root);
    if (native->ctypes != NULL && native->of_object[block->object].types != 0 &&
        hs_ctypes_tls_variable_at(native->ctypes, native->of_object[block->object].types,
                                  at - block->begin, &found))
        HS_TRY(hs_native_describe(native, &found, block->begin, at, v, &is_described, t->err));
    if (is_described)
        hs_native_set_tier(native, block->object, found.name, false, &v->leaf.root);
    else
        HS_TRY(find_by_symbol(t, block, at));
    /* Here the group of the object is the unit: the thread stands above it. */
    HS_TRY(hs_native_set_module(native, object, &v->leaf, t->err));
    v->leaf.group_unit = v->leaf.group_module;
    v->leaf.group_module = t->leaf.group_module;
    if (is_described && v->leaf.root.file != 0 && !native->of_object[block->object].is_system)
        v->leaf.group_unit = v->leaf.root.file;
    t->known_begin = at;
    t->known_end = v->begin + v->n_bytes;
    hs_native_variable_text(native, v);
    return HS_OK;
}

static hs_status add_word(struct tls *t, const struct tls_block *block, hs_addr at, uint64_t word)
{
    if (at < t->known_begin || at >= t->known_end)
        HS_TRY(find_in_block(t, block, at));
    return hs_native_add_slot(t->native, &t->variable, at - t->variable.begin, at, word, t->err);
}

/* Adds a word of the static area that is of no module known: libraries that could not be read. */
static hs_status add_unknown(struct tls *t, hs_addr at, uint64_t word)
{
    struct hs_native_variable v = {.leaf = t->leaf, .begin = at};
    HS_TRY(hs_native_name(t->native, &v.name, t->err, HS_PLACE_STATIC_TLS "fs-0x%llx",
                          (unsigned long long)(t->tcb.tcb - at)));
    HS_TRY(hs_native_name(t->native, &v.leaf.group_unit, t->err, "(unknown module)"));
    hs_native_variable_text(t->native, &v);
    return hs_native_add_slot(t->native, &v, 0, at, word, t->err);
}

static bool static_block_at(const struct tls *t, hs_addr at, struct tls_block *ret)
{
    const struct hs_owned_range *modules = t->all->modules;
    hs_addr key = TLS_TOP - (t->tcb.tcb - at);
    size_t low = HS_FIRST_NOT(i, 0, t->all->n_modules, modules[i].end <= key);
    if (low == t->all->n_modules || modules[low].begin > key)
        return false;
    ret->begin = t->tcb.tcb - (TLS_TOP - modules[low].begin);
    ret->end = ret->begin + (modules[low].end - modules[low].begin);
    ret->object = modules[low].of;
    return true;
}

static hs_status scan_static(struct tls *t)
{
    hs_addr end = t->tcb.tcb < t->static_end ? t->tcb.tcb : t->static_end;
    struct hs_word_scan scan = hs_native_scan(t->tcb.tls_begin, end);
    struct tls_block block = {0};
    hs_addr at;
    uint64_t word;
    while (hs_native_next_word(t->native, &scan, &at, &word)) {
        if (at < block.begin || at >= block.end)
            block = (struct tls_block){0};
        if (block.end != 0 || static_block_at(t, at, &block))
            HS_TRY(add_word(t, &block, at, word));
        else
            HS_TRY(add_unknown(t, at, word));
    }
    return HS_OK;
}

/* Returns the first range of number `of` or a higher one. */
static size_t first_of(const struct hs_owned_range *ranges, size_t n, size_t of)
{
    return HS_FIRST_NOT(at, 0, n, ranges[at].of < of);
}

static hs_status scan_dynamic(struct tls *t)
{
    const struct tls_all *all = t->all;
    size_t n = t->native->dump->objects.n;
    for (size_t i = first_of(all->dynamics, all->n_dynamics, t->number * n);
         i < all->n_dynamics && all->dynamics[i].of < (t->number + 1) * n; i++) {
        const struct hs_owned_range *range = &all->dynamics[i];
        struct tls_block block = {range->begin, range->end, range->of % n};
        struct hs_word_scan scan = hs_native_scan(block.begin, block.end);
        hs_addr at;
        uint64_t word;
        t->known_begin = t->known_end = 0;
        while (hs_native_next_word(t->native, &scan, &at, &word))
            HS_TRY(add_word(t, &block, at, word));
        HS_TRY(hs_range_set_add(&t->native->root_ranges, block.begin, block.end, t->err));
    }
    return HS_OK;
}

/* Returns the address of the values of the first 32 keys: struct pthread has an array of pointers
 * to blocks of them right behind the first such block, which is in itself. 0 when it is not found.
 */
static hs_addr first_keys(const struct tls *t)
{
    uint64_t n = (uint64_t)KEYS_PER_BLOCK * KEY_BYTES;
    for (hs_addr at = t->tcb.tcb + n; at < t->tcb.end; at += HS_WORD_BYTES) {
        uint64_t word;
        if (hs_image_u64(&t->native->dump->image, at, &word) && word == at - n)
            return word;
    }
    return 0;
}

/* Names a word of a control block and sets its tier: the values of keys are the program's, the rest
 * is the thread library's. */
static hs_status name_of_control_word(struct tls *t, hs_addr keys, hs_addr at, uint8_t *ret_tier,
                                      hs_str *ret)
{
    hs_addr blocks = keys + (uint64_t)KEYS_PER_BLOCK * KEY_BYTES;
    *ret_tier = keys != 0 && at >= keys && at < blocks + (uint64_t)KEYS_PER_BLOCK * HS_WORD_BYTES
                    ? HS_TIER_FIRM
                    : HS_TIER_RUNTIME;
    if (at == t->tcb.tcb + HS_WORD_BYTES)
        return hs_native_name(t->native, ret, t->err, HS_PLACE_VECTOR);
    if (keys != 0 && at >= keys && at < blocks)
        return hs_native_name(t->native, ret, t->err, HS_PLACE_KEY " %llu",
                              (unsigned long long)((at - keys) / KEY_BYTES));
    if (keys != 0 && at >= blocks && at < blocks + (uint64_t)KEYS_PER_BLOCK * HS_WORD_BYTES) {
        unsigned long long first = (at - blocks) / HS_WORD_BYTES * KEYS_PER_BLOCK;
        return hs_native_name(t->native, ret, t->err, HS_PLACE_KEY "s %llu to %llu", first,
                              first + KEYS_PER_BLOCK - 1);
    }
    return hs_native_name(t->native, ret, t->err, HS_PLACE_CONTROL "+0x%llx",
                          (unsigned long long)(at - t->tcb.tcb));
}

static hs_status scan_control_block(struct tls *t)
{
    struct hs_word_scan scan = hs_native_scan(t->tcb.tcb, t->tcb.end);
    hs_addr keys = first_keys(t), at;
    uint64_t word;
    while (hs_native_next_word(t->native, &scan, &at, &word)) {
        struct hs_native_variable v = {.leaf = t->leaf, .begin = at};
        HS_TRY(name_of_control_word(t, keys, at, &v.leaf.root.tier, &v.name));
        v.leaf.is_strangers = true; /* a key's value is a void * that libc gives back */
        HS_TRY(hs_native_name(t->native, &v.leaf.group_unit, t->err, "thread control block"));
        hs_native_variable_text(t->native, &v);
        HS_TRY(hs_native_add_slot(t->native, &v, 0, at, word, t->err));
    }
    return HS_OK;
}

static hs_status scan_thread(struct hs_native *native, const struct tls_all *all, size_t at,
                             struct hs_error *err)
{
    size_t number = all->statics[at].of;
    const struct hs_thread *thread = &native->dump->target.threads[number];
    struct tls t = {.native = native, .all = all, .number = number, .thread = thread, .err = err};
    if (!hs_native_read_tcb(native, hs_regs_thread_pointer(&thread->regs), &t.tcb))
        return HS_OK;
    t.static_end = all->statics[at].end;
    if (t.tcb.end > t.static_end)
        t.tcb.end = t.static_end;
    t.leaf.root = (struct hs_root){
        .kind = HS_ROOT_TLS, .certainty = HS_CONSERVATIVE, .thread = (uint32_t)thread->tid};
    HS_TRY(hs_native_name(native, &t.leaf.group_module, err, "thread %d", thread->tid));
    size_t first = native->roots.n_leaves;
    HS_TRY(scan_static(&t));
    HS_TRY(scan_dynamic(&t));
    hs_native_join_containers(native, first);
    HS_TRY(hs_native_fold_pools(native, 0, first, err));
    return scan_control_block(&t);
}

static hs_status add_owned(struct hs_owned_range **ranges, size_t *n, size_t *capacity,
                           const struct hs_owned_range *range, struct hs_error *err)
{
    HS_TRY(HS_GROW(ranges, capacity, *n + 1, err));
    (*ranges)[(*n)++] = *range;
    return HS_OK;
}

/* Finds the blocks of one thread. */
static hs_status find_of_thread(struct tls *t, struct tls_all *all)
{
    struct tls_block block;
    HS_TRY(add_owned(&all->statics, &all->n_statics, &all->statics_capacity,
                     &(struct hs_owned_range){t->tcb.tls_begin, t->tcb.end, t->number}, t->err));
    for (size_t i = 0; i < t->native->dump->objects.n && all->n_dynamics < TLS_MOST_BLOCKS; i++)
        if (t->native->of_object[i].tls_offset == 0 && block_of(t, i, &block))
            HS_TRY(add_owned(&all->dynamics, &all->n_dynamics, &all->dynamics_capacity,
                             &(struct hs_owned_range){block.begin, block.end,
                                                      t->number * t->native->dump->objects.n + i},
                             t->err));
    return HS_OK;
}

static hs_status find_all(struct hs_native *native, struct tls_all *all, struct hs_error *err)
{
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        struct tls t = {.native = native, .tcb.tcb = TLS_TOP};
        struct tls_block block;
        if (native->of_object[i].tls_offset != 0 && block_of(&t, i, &block))
            HS_TRY(add_owned(&all->modules, &all->n_modules, &all->modules_capacity,
                             &(struct hs_owned_range){block.begin, block.end, i}, err));
    }
    for (size_t i = 0; i < native->dump->target.n_threads; i++) {
        struct tls t = {.native = native, .number = i, .err = err};
        if (hs_native_read_tcb(
                native, hs_regs_thread_pointer(&native->dump->target.threads[i].regs), &t.tcb))
            HS_TRY(find_of_thread(&t, all));
    }
    all->n_modules = hs_owned_ranges_disjoin(all->modules, all->n_modules);
    all->n_statics = hs_owned_ranges_disjoin(all->statics, all->n_statics);
    all->n_dynamics = hs_owned_ranges_disjoin(all->dynamics, all->n_dynamics);
    hs_owned_ranges_sort(all->statics, all->n_statics);
    hs_owned_ranges_sort(all->dynamics, all->n_dynamics);
    return HS_OK;
}

/* Adds one word of the control block of a thread that has ended. */
static hs_status add_of_ended(struct hs_native *native, hs_addr at, enum hs_tier tier,
                              const char *name, struct hs_error *err)
{
    struct hs_root_leaf leaf = {
        .root = {.kind = HS_ROOT_TLS,
                 .certainty = HS_CONSERVATIVE,
                 .tier = (uint8_t)tier,
                 .reason = tier == HS_TIER_FIRM ? HS_REASON_NONE : HS_REASON_ENDED_THREAD,
                 .field = HS_NO_FIELD,
                 .address = at}};
    uint64_t word;

    if (!hs_image_u64(&native->dump->image, at, &word))
        return HS_OK;
    leaf.is_strangers = tier == HS_TIER_FIRM; /* a result is a void * that libc gives back */
    HS_TRY(hs_native_name(native, &leaf.group_module, err, "ended threads"));
    HS_TRY(hs_native_name(native, &leaf.group_unit, err, "thread control block"));
    HS_TRY(hs_native_name(native, &leaf.root.name, err, "%s", name));
    leaf.root.module = leaf.group_module;
    return hs_native_add_word(native, word, &leaf, 0, err);
}

/* Adds the whole control block of an ended thread, where libc does not tell the place of the
 * result. */
static hs_status scan_ended_whole(struct hs_native *native, hs_addr tcb, struct hs_error *err)
{
    struct hs_native_tcb block;

    if (!hs_native_read_tcb(native, tcb, &block))
        return HS_OK;
    for (hs_addr at = tcb + 3ul * HS_WORD_BYTES; at < block.end; at += HS_WORD_BYTES)
        HS_TRY(add_of_ended(native, at, HS_TIER_DOUBTFUL, "control block of an ended thread", err));
    return HS_OK;
}

/* Adds what ended threads keep whose stacks are still there: the dynamic thread vector, and the
 * result of one that nobody has joined, which pthread_join will give to the program. */
static hs_status scan_ended(struct hs_native *native, struct hs_error *err)
{
    struct hs_thread_result places = {0};

    if (native->n_ended != 0)
        places = hs_native_thread_result(native);
    for (size_t i = 0; i < native->n_ended; i++) {
        const struct hs_native_ended *ended = &native->ended[i];
        HS_TRY(add_of_ended(native, ended->tcb + HS_WORD_BYTES, HS_TIER_RUNTIME, HS_PLACE_VECTOR,
                            err));
        if (!ended->awaits_join)
            continue;
        if (places.result == 0)
            HS_TRY(scan_ended_whole(native, ended->tcb, err));
        else
            HS_TRY(add_of_ended(native, ended->tcb + places.result, HS_TIER_FIRM,
                                "result of an ended thread, not joined", err));
    }
    return HS_OK;
}

hs_status hs_native_collect_tls(struct hs_native *native, struct hs_error *err)
{
    struct tls_all all = {0};
    hs_native_read_link_map(native);
    hs_status status = find_all(native, &all, err);
    for (size_t i = 0; status == HS_OK && i < all.n_statics; i++)
        status = scan_thread(native, &all, i, err);
    hs_free(all.statics);
    hs_free(all.dynamics);
    hs_free(all.modules);
    HS_TRY(status);
    hs_range_set_merge(&native->root_ranges);
    return scan_ended(native, err);
}
