/* Open addressing with marks for what was removed, as readers of table.h expect. */
#include "record_table.h"

#include <string.h>
#include <sys/mman.h>

#define WAS_USED 1U /* the address of a slot between two that are in use */
#define STACK_BEGIN 16U

uint8_t hs_record_pages[1U << HS_RECORD_PAGE_BITS] __attribute__((aligned(64)));
uint8_t hs_record_filter[1U << HS_RECORD_FILTER_BITS] __attribute__((aligned(64)));

static void *map(uint64_t n_bytes)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* A counter that once was full stays full: it stands for an unknown number of samples. */
static void count(uint8_t *counter, int by)
{
    uint8_t value = __atomic_load_n(counter, __ATOMIC_RELAXED);

    if (value != UINT8_MAX)
        __atomic_store_n(counter, (uint8_t)(value + by), __ATOMIC_RELAXED);
}

/* A block that moves is never freed by its address. */
static void filter_add(uint64_t address, int by)
{
    if (hs_record_is_key(address))
        return;
    count(hs_record_filter_of(address), by);
    count(hs_record_page_of(address), by);
}

void hs_record_filter_mark(const void *address)
{
    __atomic_store_n(hs_record_filter_of((uint64_t)(uintptr_t)address), UINT8_MAX,
                     __ATOMIC_RELAXED);
    __atomic_store_n(hs_record_page_of((uint64_t)(uintptr_t)address), UINT8_MAX, __ATOMIC_RELAXED);
}

/* Publishes the slots in one instruction, so that a stop sees the old pair or the new one. */
static void publish_slots(struct hs_record_anchor *anchor, uint64_t slots, uint64_t n_slots)
{
    typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
    pair value = {slots, n_slots};

    _Static_assert(offsetof(struct hs_record_anchor, n_slots) ==
                       offsetof(struct hs_record_anchor, slots) + 8,
                   "slots and n_slots are written together");
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *(volatile pair *)&anchor->slots = value;
}

bool hs_record_table_init(struct hs_record_table *table, struct hs_record_anchor *anchor)
{
    void *slots = map(HS_RECORD_SLOTS_MIN * sizeof(struct hs_record_slot));
    uint32_t *heads = map(HS_RECORD_STACK_HEADS * sizeof *heads);
    uint64_t room = HS_RECORD_STACKS_BYTES;
    void *stacks = map(room);

    /* Programs with a limit on their address space. */
    for (; stacks == NULL && room > (1U << 20); stacks = map(room))
        room /= 4;
    *table = (struct hs_record_table){.anchor = anchor, .stacks_room = room, .heads = heads};
    if (slots == NULL || stacks == NULL || heads == NULL) {
        if (slots != NULL)
            munmap(slots, HS_RECORD_SLOTS_MIN * sizeof(struct hs_record_slot));
        if (stacks != NULL)
            munmap(stacks, room);
        if (heads != NULL)
            munmap(heads, HS_RECORD_STACK_HEADS * sizeof *heads);
        return false;
    }
    anchor->stacks = (uint64_t)(uintptr_t)stacks;
    anchor->stacks_bytes = STACK_BEGIN;
    publish_slots(anchor, (uint64_t)(uintptr_t)slots, HS_RECORD_SLOTS_MIN);
    return true;
}

static struct hs_record_slot *slots_of(const struct hs_record_anchor *anchor)
{
    return (struct hs_record_slot *)(uintptr_t)anchor->slots;
}

void hs_record_table_fini(struct hs_record_table *table)
{
    struct hs_record_anchor *anchor = table->anchor;
    struct hs_record_slot *slots = slots_of(anchor);
    uint64_t n_bytes = anchor->n_slots * sizeof *slots, stacks = anchor->stacks;

    for (uint64_t i = 0; i < anchor->n_slots; i++) {
        if (slots[i].address > WAS_USED)
            filter_add(slots[i].address, -1);
    }
    publish_slots(anchor, 0, 0);
    anchor->stacks_bytes = anchor->stacks = 0;
    munmap(slots, n_bytes);
    munmap((void *)(uintptr_t)stacks, table->stacks_room);
    munmap(table->heads, HS_RECORD_STACK_HEADS * sizeof *table->heads);
    *table = (struct hs_record_table){.anchor = anchor};
}

static uint64_t hash_frames(const uint64_t *frames, unsigned n_frames)
{
    uint64_t hash = n_frames;

    for (unsigned i = 0; i < n_frames; i++) {
        hash = (hash ^ frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

uint32_t hs_record_table_stack(struct hs_record_table *table, const uint64_t *frames,
                               unsigned n_frames)
{
    struct hs_record_anchor *anchor = table->anchor;
    uint8_t *stacks = (uint8_t *)(uintptr_t)anchor->stacks;
    uint64_t hash = hash_frames(frames, n_frames);
    uint32_t *head = &table->heads[hash % HS_RECORD_STACK_HEADS];
    size_t n_bytes = n_frames * sizeof *frames;

    if (n_frames == 0 || n_frames > HS_RECORD_FRAMES_MAX)
        return 0;
    for (uint32_t at = *head; at != 0;) {
        const struct hs_record_stack *stack = (const void *)(stacks + 8 * (uint64_t)at);

        if (stack->hash == hash && stack->n_frames == n_frames &&
            memcmp(stack->frames, frames, n_bytes) == 0)
            return at;
        at = stack->next;
    }
    if (table->stacks_room - anchor->stacks_bytes < sizeof(struct hs_record_stack) + n_bytes)
        return 0;

    uint32_t at = (uint32_t)(anchor->stacks_bytes / 8);
    struct hs_record_stack *stack = (void *)(stacks + 8 * (uint64_t)at);

    stack->n_frames = n_frames;
    stack->next = *head;
    stack->hash = hash;
    memcpy(stack->frames, frames, n_bytes);
    __atomic_store_n(&anchor->stacks_bytes, anchor->stacks_bytes + sizeof *stack + n_bytes,
                     __ATOMIC_RELEASE);
    *head = at;
    return at;
}

/* The last store makes the slot whole. */
static void insert(struct hs_record_slot *slots, uint64_t n_slots, uint64_t *n_used,
                   const struct hs_record_slot *slot)
{
    uint64_t at = hs_record_hash(slot->address) & (n_slots - 1);

    while (slots[at].address > WAS_USED)
        at = (at + 1) & (n_slots - 1);
    if (slots[at].address == 0)
        ++*n_used;
    slots[at].id = slot->id;
    slots[at].bytes = slot->bytes;
    slots[at].stack = slot->stack;
    slots[at].n_samples = slot->n_samples;
    __atomic_store_n(&slots[at].address, slot->address, __ATOMIC_RELEASE);
}

/* Moves into a table twice as large, or as large when it is full of marks. */
static bool grow(struct hs_record_table *table)
{
    struct hs_record_anchor *anchor = table->anchor;
    struct hs_record_slot *old = slots_of(anchor), *slots;
    uint64_t n_old = anchor->n_slots, n_slots = table->n_live > n_old / 2 ? 2 * n_old : n_old;

    if (n_slots > HS_RECORD_SLOTS_MAX || (slots = map(n_slots * sizeof *slots)) == NULL)
        return false;
    table->n_used = 0;
    for (uint64_t i = 0; i < n_old; i++) {
        if (old[i].address > WAS_USED)
            insert(slots, n_slots, &table->n_used, &old[i]);
    }
    publish_slots(anchor, (uint64_t)(uintptr_t)slots, n_slots);
    munmap(old, n_old * sizeof *old);
    return true;
}

bool hs_record_table_put(struct hs_record_table *table, const struct hs_record_slot *slot)
{
    struct hs_record_anchor *anchor = table->anchor;

    if (slot->address <= WAS_USED || anchor->n_slots == 0)
        return false;
    if (4 * (table->n_used + 1) > 3 * anchor->n_slots && !grow(table))
        return false;
    insert(slots_of(anchor), anchor->n_slots, &table->n_used, slot);
    table->n_live++;
    filter_add(slot->address, 1);
    return true;
}

/* Marks that end a run of slots in use say nothing any more. */
static void remove_at(struct hs_record_table *table, uint64_t at)
{
    struct hs_record_anchor *anchor = table->anchor;
    struct hs_record_slot *slots = slots_of(anchor);
    uint64_t mask = anchor->n_slots - 1;

    table->n_live--;
    if (slots[(at + 1) & mask].address != 0) {
        __atomic_store_n(&slots[at].address, WAS_USED, __ATOMIC_RELEASE);
        return;
    }
    do {
        __atomic_store_n(&slots[at].address, 0, __ATOMIC_RELEASE);
        table->n_used--;
        at = (at - 1) & mask;
    } while (slots[at].address == WAS_USED);
}

bool hs_record_table_take(struct hs_record_table *table, uint64_t address,
                          struct hs_record_slot *ret)
{
    struct hs_record_anchor *anchor = table->anchor;
    struct hs_record_slot *slots = slots_of(anchor);
    uint64_t at = hs_record_hash(address) & (anchor->n_slots - 1);

    if (anchor->n_slots == 0 || address <= WAS_USED)
        return false;
    for (; slots[at].address != 0; at = (at + 1) & (anchor->n_slots - 1)) {
        if (slots[at].address == address) {
            *ret = slots[at];
            remove_at(table, at);
            filter_add(address, -1);
            return true;
        }
    }
    return false;
}

void hs_record_table_forget_moving(struct hs_record_table *table)
{
    struct hs_record_anchor *anchor = table->anchor;
    struct hs_record_slot *slots = slots_of(anchor);

    for (uint64_t i = 0; i < anchor->n_slots; i++) {
        if (hs_record_is_key(slots[i].address))
            remove_at(table, i);
    }
}
