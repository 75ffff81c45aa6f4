/* Roots that are in no memory of the program: what it gave to epoll, timers, pipes and the like,
 * and what is in its vector registers. */
#include <stdlib.h>
#include <string.h>

#include "roots.h"
#include "target/kernel_words.h"

static int compare_words(const void *a, const void *b)
{
    const struct hs_kernel_word *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->fd != y->fd)
        return x->fd < y->fd ? -1 : 1;
    if (x->of_fd != y->of_fd)
        return x->of_fd < y->of_fd ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

static hs_status kernel_name(struct hs_native *native, const struct hs_kernel_word *word,
                             hs_str *ret, struct hs_error *err)
{
    switch (word->place) {
    case HS_KERNEL_EPOLL:
        return hs_native_name(native, ret, err, "epoll %u data of file %u", word->fd, word->of_fd);
    case HS_KERNEL_TIMER:
        return hs_native_name(native, ret, err, "timer %u value", word->of_fd);
    case HS_KERNEL_EVENTFD:
        return hs_native_name(native, ret, err, "eventfd %u count", word->fd);
    case HS_KERNEL_URING:
        return hs_native_name(native, ret, err, "io_uring %u request", word->fd);
    case HS_KERNEL_SIGNAL:
        return hs_native_name(native, ret, err, "signal %u value", word->of_fd);
    case HS_KERNEL_FILE:
        return hs_native_name(native, ret, err, "in file %u, which has no name", word->fd);
    case HS_KERNEL_ROBUST:
        return hs_native_name(native, ret, err, "list of robust mutexes");
    case HS_KERNEL_BASE:
        return hs_native_name(native, ret, err, "base of a segment");
    case HS_KERNEL_QUEUE:
        return hs_native_name(native, ret, err, "in pipe or socket %u", word->fd);
    default:
        return hs_native_name(native, ret, err, "vector register");
    }
}

static const char *kernel_group(const struct hs_kernel_word *word)
{
    static const char *const names[] = {
        [HS_KERNEL_VECTOR] = "registers", [HS_KERNEL_SIGNAL] = "signals",
        [HS_KERNEL_QUEUE] = "pipes",      [HS_KERNEL_EPOLL] = "epoll",
        [HS_KERNEL_TIMER] = "timers",     [HS_KERNEL_EVENTFD] = "eventfd",
        [HS_KERNEL_URING] = "io_uring",   [HS_KERNEL_FILE] = "files",
        [HS_KERNEL_ROBUST] = "threads",   [HS_KERNEL_BASE] = "registers",
    };
    return names[word->place];
}

/* Adds a word as a root, in the group of its thread's registers or of what the kernel keeps for the
 * process. The kernel gives such a word back and does nothing else with it, so that it is of the
 * runtime's tier: a variable says whose the block is, if any leads to it. */
static hs_status add_kernel_word(struct hs_native *native, const struct hs_kernel_word *word,
                                 struct hs_error *err)
{
    bool is_vector = word->place == HS_KERNEL_VECTOR;
    struct hs_root_leaf leaf = {
        .root = {.kind = is_vector ? HS_ROOT_REGISTER : HS_ROOT_REGISTERED,
                 .certainty = HS_CONSERVATIVE,
                 .tier = is_vector ? HS_TIER_DOUBTFUL : HS_TIER_RUNTIME,
                 .reason = is_vector ? HS_REASON_NO_VARIABLE : HS_REASON_KERNEL_WORD,
                 .field = HS_NO_FIELD}};
    struct hs_heap_block block;
    enum hs_pointer how;

    if (!hs_native_resolve(native, word->word, &how, &block))
        return HS_OK;
    bool is_of_thread = is_vector || word->place == HS_KERNEL_BASE;
    if (is_of_thread)
        HS_TRY(hs_native_name(native, &leaf.group_module, err, "thread %d", word->tid));
    else
        HS_TRY(hs_native_name(native, &leaf.group_module, err, "kernel"));
    HS_TRY(hs_native_name(native, &leaf.group_unit, err, "%s", kernel_group(word)));
    HS_TRY(kernel_name(native, word, &leaf.root.name, err));
    leaf.root.module = leaf.group_module;
    if (is_of_thread)
        leaf.root.thread = (uint32_t)word->tid;
    return hs_native_add_word(native, word->word, &leaf, 0, err);
}

/* Adds the second segment base of each thread, which a program may have set (arch_prctl,
 * ARCH_SET_GS). */
static hs_status add_bases(struct hs_native *native, struct hs_error *err)
{
    const struct hs_target *target = &native->dump->target;

    for (size_t i = 0; i < target->n_threads; i++) {
        struct hs_kernel_word held = {.place = HS_KERNEL_BASE, .tid = target->threads[i].tid};
        held.word = hs_regs_second_base(&target->threads[i].regs);
        if (held.word != 0)
            HS_TRY(add_kernel_word(native, &held, err));
    }
    return HS_OK;
}

hs_status hs_native_collect_kernel(struct hs_native *native, struct hs_error *err)
{
    struct hs_target *target = &native->dump->target;

    if (target->core == NULL)
        HS_TRY(hs_kernel_words_of_files(target, err));
    if (target->n_kernel_words > 1)
        qsort(target->kernel_words, target->n_kernel_words, sizeof *target->kernel_words,
              compare_words);
    for (size_t i = 0; i < target->n_kernel_words; i++)
        if (i == 0 || compare_words(&target->kernel_words[i - 1], &target->kernel_words[i]) != 0)
            HS_TRY(add_kernel_word(native, &target->kernel_words[i], err));
    return add_bases(native, err);
}
