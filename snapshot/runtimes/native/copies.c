#include "copies.h"

#include <stdlib.h>

#include "arch/processor.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "disguise.h"

enum {
    COPIES_LEAST_BYTES = 152, /* of a struct sigaction */
    COPIES_MOST_BYTES = 1024,
    COPIES_MASK_BYTES = 128, /* its mask, of which the kernel writes the first word */
    COPIES_OTHERS = 3,       /* handler, flags and restorer lead to no block */
};

/* A word of a variable that leads to a block. */
struct copies_word {
    hs_addr at, target;
    size_t leaf;
};

struct copies {
    struct copies_word *words; /* owned; by address */
    size_t n;
};

static bool is_candidate(const struct hs_root_leaf *leaf)
{
    return leaf->is_strangers && leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.address != 0 &&
           leaf->root.tier == HS_TIER_FIRM;
}

static int by_address(const void *left, const void *right)
{
    const struct copies_word *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static hs_status copies_list(const struct hs_roots *roots, struct copies *copies,
                             struct hs_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < roots->n_leaves; i++)
        n += is_candidate(&roots->leaves[i]);
    HS_TRY(HS_ALLOC(&copies->words, n, err));
    for (size_t i = 0; i < roots->n_leaves; i++)
        if (is_candidate(&roots->leaves[i]))
            copies->words[copies->n++] =
                (struct copies_word){roots->leaves[i].root.address, roots->leaves[i].target, i};
    if (copies->n != 0)
        qsort(copies->words, copies->n, sizeof *copies->words, by_address);
    return HS_OK;
}

static const struct copies_word *word_at(const struct copies *copies, hs_addr at)
{
    size_t low = HS_FIRST_FROM(copies->words, copies->n, at, at);

    return low < copies->n && copies->words[low].at == at ? &copies->words[low] : NULL;
}

/* Tells whether the word stands there three times, so far from each other. */
static bool is_copied(const struct copies *copies, const struct copies_word *word, uint64_t bytes)
{
    const struct copies_word *second = word_at(copies, word->at + bytes);
    const struct copies_word *third = word_at(copies, word->at + 2 * bytes);

    return second != NULL && third != NULL && second->target == word->target &&
           third->target == word->target;
}

/* Tells whether another word near it is copied at the same distance, and words between the copies
 * lead nowhere, as in a table of one pointer none does. */
static bool is_record(const struct copies *copies, size_t at, uint64_t bytes)
{
    const struct copies_word *words = copies->words;
    uint64_t n_others = bytes / HS_WORD_BYTES;
    bool has_other = false;

    for (size_t i = at; i < copies->n && words[i].at < words[at].at + bytes; i++)
        n_others--;
    for (size_t i = at + 1; i < copies->n && words[i].at - words[at].at < COPIES_MASK_BYTES; i++)
        has_other |= is_copied(copies, &words[i], bytes);
    for (size_t i = at; i-- > 0 && words[at].at - words[i].at < COPIES_MASK_BYTES;)
        has_other |= is_copied(copies, &words[i], bytes);
    return has_other && n_others >= COPIES_OTHERS;
}

static void lower(struct hs_roots *roots, const struct copies_word *word)
{
    hs_root_lower(&roots->leaves[word->leaf].root, HS_TIER_DOUBTFUL, HS_REASON_COPIED_STACK);
}

static void lower_copies(struct hs_roots *roots, const struct copies *copies, size_t at)
{
    const struct copies_word *word = &copies->words[at];

    for (size_t i = at + 1; i < copies->n; i++) {
        uint64_t bytes = copies->words[i].at - word->at;
        if (bytes > COPIES_MOST_BYTES)
            return;
        if (bytes < COPIES_LEAST_BYTES || copies->words[i].target != word->target ||
            !is_copied(copies, word, bytes) || !is_record(copies, at, bytes))
            continue;
        for (unsigned k = 0; k < 3; k++)
            lower(roots, word_at(copies, word->at + k * bytes));
        return;
    }
}

/* ---- registers that setjmp saved */

/* Tells whether a jmp_buf begins at an address: its mangled words are a stack pointer and an
 * address of code. */
static bool is_jump_buffer(const struct hs_dump *dump, uint64_t guard, hs_addr at)
{
    uint64_t sp, pc;

    if (!hs_image_u64(&dump->image, at + HS_ARCH_JUMP_SP * HS_WORD_BYTES, &sp) ||
        !hs_image_u64(&dump->image, at + HS_ARCH_JUMP_PC * HS_WORD_BYTES, &pc))
        return false;
    sp = hs_arch_unmangle(sp, guard);
    const struct hs_mapping *stack = hs_target_mapping_at(&dump->target, sp);
    const struct hs_mapping *code =
        hs_target_mapping_at(&dump->target, hs_arch_unmangle(pc, guard));
    return sp % HS_WORD_BYTES == 0 && stack != NULL && stack->writable && code != NULL &&
           code->executable;
}

/* Tells whether a word is one of the registers in a jmp_buf, which stand before the mangled. */
static bool is_saved_register(const struct hs_dump *dump, uint64_t guard, hs_addr at)
{
    for (unsigned word = 0; word < HS_ARCH_JUMP_SP; word++)
        if (is_jump_buffer(dump, guard, at - word * HS_WORD_BYTES))
            return true;
    return false;
}

static void lower_registers(struct hs_native *native)
{
    const uint64_t guard = hs_disguise_begin(native).guard;

    for (size_t i = 0; i < native->roots.n_leaves && guard != 0; i++) {
        struct hs_root *root = &native->roots.leaves[i].root;
        if ((root->kind == HS_ROOT_GLOBAL || root->kind == HS_ROOT_TLS) && root->address != 0 &&
            root->tier < HS_TIER_DOUBTFUL && is_saved_register(native->dump, guard, root->address))
            hs_root_lower(root, HS_TIER_DOUBTFUL, HS_REASON_COPIED_STACK);
    }
}

hs_status hs_copies_find(struct hs_native *native, struct hs_error *err)
{
    struct copies copies = {0};
    hs_status status = copies_list(&native->roots, &copies, err);

    for (size_t i = 0; i < copies.n && status == HS_OK; i++)
        lower_copies(&native->roots, &copies, i);
    hs_free(copies.words);
    lower_registers(native);
    return status;
}
