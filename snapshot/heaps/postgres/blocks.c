#include "arch/processor.h"
#include "base/alloc.h"
#include "base/load.h"
#include "carve.h"
#include "postgres/contexts.h"

enum {
    NOT_SAID = 255,
    WORD = 8,
    SET_FREE_LISTS = 88,
    BLOCK_PREV = 8, /* in a block of one */
    BLOCK_NEXT = 16,
    NODE_NEXT = 8, /* in a dlist_node; prev is its first */
    LEAST_CHUNK = 8,
    OLD_GENERATION = 112, /* 13 and 14: one without anything has no block either */
    ID_BITS = 7,          /* of hdrmask: the three that all releases have */
    OFFSET_BIT = 34,
};
enum { ID_ALLOC_SET = 3, ID_GENERATION = 4 }; /* enum MemoryContextMethodID */
#define VALUE_MASK UINT64_C(0x3fffffff)
#define OFFSET_MASK UINT64_C(0x3ffffffe) /* the lowest bit is the value's highest in 17 */
#define EXTERNAL_MAGIC UINT64_C(0xb1a8db858eb6efba)

static const struct postgres_chunks releases[] = {
    {.header_bytes = 16, .set_bytes = 224, .version = "13-15"},
    {.header_bytes = 8, .set_bytes = 200, .is_masked = true, .shift = 5, .version = "17-18"},
    {.header_bytes = 8, .set_bytes = 224, .is_masked = true, .shift = 4, .version = "16"},
    /* built with MEMORY_CONTEXT_CHECKING */
    {.header_bytes = 24, .set_bytes = 224, .version = "13-15"},
    {.header_bytes = 16, .set_bytes = 200, .is_masked = true, .shift = 5, .version = "17-18"},
    {.header_bytes = 16, .set_bytes = 224, .is_masked = true, .shift = 4, .version = "16"},
};

/* The layouts by release: AllocSets, then Generations of 17, 16, 15 and before, then Bumps of 17.
 */
static const struct postgres_form forms[] = {
    {POSTGRES_ALLOC_SET, 200, POSTGRES_AT_SET_BLOCKS, 40, 0, NOT_SAID, 24, 32},
    {POSTGRES_ALLOC_SET, 224, POSTGRES_AT_SET_BLOCKS, 40, 0, NOT_SAID, 24, 32},
    {POSTGRES_GENERATION, 128, 112, 56, 16, 32, 40, 48},
    {POSTGRES_GENERATION, 152, 136, 56, 16, 32, 40, 48},
    {POSTGRES_GENERATION, 152, 136, 48, NOT_SAID, 24, 32, 40},
    {POSTGRES_GENERATION, OLD_GENERATION, 96, 48, NOT_SAID, 24, 32, 40},
    {POSTGRES_BUMP, 112, 96, 32, NOT_SAID, NOT_SAID, 16, 24},
    {POSTGRES_BUMP, 112, 96, 40, 16, NOT_SAID, 24, 32}, /* with MEMORY_CONTEXT_CHECKING */
};
#define N_RELEASES (sizeof releases / sizeof *releases)
#define N_FORMS (sizeof forms / sizeof *forms)

static uint64_t word_at(const struct postgres *p, hs_addr address)
{
    uint64_t word = 0;
    (void)hs_image_u64(p->process->image, address, &word);
    return word;
}

/* ---- chunks */

/* Returns the size of the chunk in a masked header; UINT64_MAX: it can be none. The header says
 * where the chunk is in its block, too, which proves it. */
static uint64_t masked_bytes(const struct postgres *p, const struct postgres_block *block,
                             unsigned kind, hs_addr at, uint64_t mask)
{
    uint64_t value = mask >> p->chunks->shift & VALUE_MASK;

    if ((mask & ID_BITS) != (kind == POSTGRES_ALLOC_SET ? ID_ALLOC_SET : ID_GENERATION))
        return UINT64_MAX;
    if ((mask >> (p->chunks->shift - 1) & 1) != 0) /* external: alone in its block */
        return at == block->first && (mask ^ EXTERNAL_MAGIC) >> p->chunks->shift == 0
                   ? block->used - at - p->chunks->header_bytes
                   : UINT64_MAX;
    if ((mask >> OFFSET_BIT & OFFSET_MASK) != at - block->begin)
        return UINT64_MAX;
    if (kind == POSTGRES_GENERATION)
        return value;
    return value < POSTGRES_FREE_LISTS ? (uint64_t)LEAST_CHUNK << value : UINT64_MAX;
}

unsigned hs_postgres_header_bytes(const struct postgres *postgres,
                                  const struct postgres_block *block)
{
    switch (postgres->contexts[block->context].form->kind) {
    case POSTGRES_BUMP:
        return 0; /* all that is in use is one */
    case POSTGRES_GENERATION:
        if (!postgres->chunks->is_masked) /* its block as well */
            return postgres->chunks->header_bytes + WORD;
        return postgres->chunks->header_bytes;
    default:
        return postgres->chunks->header_bytes;
    }
}

/* Can it be a header without a mask? A set's ends with its context, or with the next free chunk:
 * not with a hdrmask, behind what was asked for. A Generation's has its block. */
static bool is_plain(const struct postgres *p, const struct postgres_block *block, unsigned kind,
                     hs_addr at, uint64_t last)
{
    if (kind == POSTGRES_GENERATION)
        return word_at(p, at + p->chunks->header_bytes - WORD) == block->begin;
    return last % WORD == 0;
}

bool hs_postgres_spend(struct postgres *postgres, uint64_t effort)
{
    if (postgres->effort < effort)
        return false;
    postgres->effort -= effort;
    return true;
}

bool hs_postgres_next_chunk(const struct postgres *postgres, const struct postgres_block *block,
                            hs_addr *at, struct postgres_chunk *ret)
{
    const struct postgres_context *context = &postgres->contexts[block->context];
    const unsigned kind = context->form->kind;
    const uint64_t n_header = hs_postgres_header_bytes(postgres, block);

    if (kind == POSTGRES_BUMP) {
        *ret = (struct postgres_chunk){.begin = *at, .end = block->used};
        *at = block->used;
        return ret->begin < ret->end;
    }
    if (block->used - *at < n_header)
        return false;
    uint64_t last = word_at(postgres, *at + n_header - WORD);
    uint64_t n_bytes = postgres->chunks->is_masked ? masked_bytes(postgres, block, kind, *at, last)
                                                   : word_at(postgres, *at);
    if (kind == POSTGRES_GENERATION && n_bytes < HS_USER_END)
        n_bytes = (n_bytes + WORD - 1) / WORD * WORD;
    if (n_bytes % WORD != 0 || n_bytes > block->used - *at - n_header ||
        (n_bytes == 0 && kind == POSTGRES_ALLOC_SET))
        return false;
    if (!postgres->chunks->is_masked && !is_plain(postgres, block, kind, *at, last))
        return false;
    ret->begin = *at + n_header;
    ret->end = ret->begin + n_bytes;
    ret->is_free = block->is_empty || (!postgres->chunks->is_masked && last != context->address);
    *at = ret->end;
    return true;
}

hs_addr hs_postgres_free_list(const struct postgres *postgres,
                              const struct postgres_context *context, unsigned which)
{
    return word_at(postgres, context->address + SET_FREE_LISTS + (hs_addr)which * WORD);
}

bool hs_postgres_is_listed(const struct postgres *postgres, hs_addr chunk, unsigned which)
{
    uint64_t mask = word_at(postgres, chunk + postgres->chunks->header_bytes - WORD);
    uint64_t value = mask >> (postgres->chunks->shift - 1) & (VALUE_MASK << 1 | 1);

    return (mask & ID_BITS) == ID_ALLOC_SET && value == (uint64_t)which << 1; /* not external */
}

hs_addr hs_postgres_next_free(const struct postgres *postgres, hs_addr chunk)
{
    return word_at(postgres, chunk + postgres->chunks->header_bytes);
}

/* Do the chunks end just where the block's used part does, and are they as many as it says? Says
 * what they have in common. */
static bool chunks_fit(struct postgres *p, struct postgres_block *block)
{
    const struct postgres_form *form = p->contexts[block->context].form;
    struct postgres_chunk chunk;
    hs_addr at = block->first;
    uint64_t n_chunks = 0, n_live = 0;

    while (hs_postgres_spend(p, 1) && hs_postgres_next_chunk(p, block, &at, &chunk)) {
        n_chunks++;
        n_live += !chunk.is_free;
    }
    block->is_single = n_chunks == 1 && n_live == 1;
    return at == block->used && (form->counts == NOT_SAID || n_chunks == block->n_chunks);
}

/* ---- blocks */

/* Reads the header of a block; false when it says what cannot be. */
static bool read_block(const struct postgres *p, uint32_t number, const struct postgres_form *form,
                       hs_addr at, struct postgres_block *ret)
{
    const struct postgres_context *context = &p->contexts[number];
    const uint8_t *bytes = hs_image_bytes(p->process->image, at, form->header_bytes);

    if (bytes == NULL || at % WORD != 0)
        return false;
    *ret = (struct postgres_block){.begin = at,
                                   .first = at + form->header_bytes,
                                   .used = hs_load_u64(bytes + form->used),
                                   .end = hs_load_u64(bytes + form->end),
                                   .context = number};
    if (form->owner != NOT_SAID && hs_load_u64(bytes + form->owner) != context->address)
        return false;
    if (form->counts != NOT_SAID) {
        uint32_t n_chunks = hs_load_u32(bytes + form->counts);
        uint32_t n_free = hs_load_u32(bytes + form->counts + 4);
        if (n_free > n_chunks)
            return false;
        ret->n_chunks = n_chunks;
        ret->is_empty = n_free == n_chunks;
        ret->is_unsure = n_free != 0 && !ret->is_empty && p->chunks->is_masked;
    }
    return ret->first <= ret->used && ret->used <= ret->end &&
           hs_carve_is_one_piece(p->process, at, ret->end) && (ret->used | ret->end) % WORD == 0;
}

/* The first block, and the one behind another; 0: there is none. A list that is not linked
 * backwards as it is forwards is none: then `*ret_is_sound` is cleared. */
static hs_addr next_block(const struct postgres *p, const struct postgres_context *context,
                          const struct postgres_form *form, hs_addr previous, bool *ret_is_sound)
{
    hs_addr head = context->address + form->head;
    bool is_ring = form->kind != POSTGRES_ALLOC_SET;
    hs_addr from = previous != 0 ? previous + (is_ring ? NODE_NEXT : BLOCK_NEXT)
                                 : head + (is_ring ? NODE_NEXT : 0);
    hs_addr next = word_at(p, from);

    if (next == 0 || (is_ring && next == head))
        return 0;
    hs_addr back = word_at(p, next + (is_ring ? 0 : BLOCK_PREV));
    *ret_is_sound &= back == (previous == 0 && is_ring ? head : previous);
    return next;
}

/* Does it have no block, and say so? Only an old Generation may. */
static bool is_empty_ring(const struct postgres *p, const struct postgres_context *context,
                          const struct postgres_form *form)
{
    const hs_addr head = context->address + form->head;

    return form->kind == POSTGRES_GENERATION && form->object_bytes == OLD_GENERATION &&
           word_at(p, head) == head && word_at(p, head + NODE_NEXT) == head;
}

/* Appends the blocks; false when something of them cannot be. */
static hs_status list_blocks(struct postgres *p, uint32_t number, const struct postgres_form *form,
                             bool *ret_is_sound, struct hs_error *err)
{
    struct postgres_context *context = &p->contexts[number];
    uint64_t n_bytes = 0;
    bool is_sound = true;

    context->form = form;
    for (hs_addr at = next_block(p, context, form, 0, &is_sound); at != 0 && is_sound;
         at = next_block(p, context, form, at, &is_sound)) {
        struct postgres_block block;
        is_sound &= hs_postgres_spend(p, POSTGRES_LOOK) &&
                    read_block(p, number, form, at, &block) && chunks_fit(p, &block);
        if (!is_sound)
            break;
        n_bytes += block.end - at;
        HS_TRY(HS_GROW(&p->blocks, &p->blocks_capacity, p->n_blocks + 1, err));
        p->blocks[p->n_blocks++] = block;
        context->n_blocks++;
    }
    /* An AllocSet counts itself with its first block, a Generation does not. */
    bool has_all =
        n_bytes == context->said_bytes || n_bytes + form->object_bytes == context->said_bytes;
    *ret_is_sound =
        is_sound && has_all && (context->n_blocks != 0 || is_empty_ring(p, context, form));
    return HS_OK;
}

static void forget_blocks(struct postgres *p, struct postgres_context *context)
{
    p->n_blocks = context->first_block;
    context->n_blocks = 0;
    context->form = NULL;
}

/* Is it a form of the release whose chunks these are? */
static bool is_of_release(const struct postgres *p, const struct postgres_form *form)
{
    bool is_late = p->chunks->set_bytes == 200;

    switch (form->kind) {
    case POSTGRES_ALLOC_SET:
        return form->object_bytes == p->chunks->set_bytes;
    case POSTGRES_GENERATION:
        return (form->object_bytes == 128) == is_late &&
               (form->owner != NOT_SAID) == p->chunks->is_masked;
    default: /* a block says whose it is where chunks say what was asked for */
        return is_late && (form->owner != NOT_SAID) == (p->chunks->header_bytes != WORD);
    }
}

hs_status hs_postgres_read_blocks(struct postgres *postgres, uint32_t context, struct hs_error *err)
{
    bool is_sound = false;

    postgres->contexts[context].first_block = postgres->n_blocks;
    for (size_t i = 0; i < N_FORMS; i++) {
        if (!is_of_release(postgres, &forms[i]))
            continue;
        HS_TRY(list_blocks(postgres, context, &forms[i], &is_sound, err));
        if (is_sound)
            return HS_OK;
        forget_blocks(postgres, &postgres->contexts[context]);
    }
    return HS_OK;
}

hs_status hs_postgres_find_release(struct postgres *postgres, struct hs_error *err)
{
    for (size_t i = 0; i < N_RELEASES; i++) {
        postgres->chunks = &releases[i];
        HS_TRY(hs_postgres_read_blocks(postgres, 0, err));
        if (postgres->contexts[0].form != NULL)
            return HS_OK;
    }
    postgres->chunks = NULL;
    return HS_OK;
}
