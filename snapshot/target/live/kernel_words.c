#include "target/kernel_words.h"

#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "arch/sigframe.h"
#include "base/alloc.h"
#include "target_private.h"

/* Each may be a root; no program needs so many. */
#define KERNEL_WORDS_MAX ((size_t)1 << 20)
#define KERNEL_LOWEST UINT64_C(0x10000)
#define KERNEL_HIGHEST (UINT64_MAX >> 8) /* with tags above the address, perhaps */
#define KERNEL_THREADS_PER_CHECK 64

/* The mappings of a core come after its notes: until then all that might be an address is one. */
static bool words_is_address(const struct hs_target *target, uint64_t word)
{
    const struct hs_mapping *m = hs_target_mapping_at(target, word);

    if (target->n_mappings == 0)
        return word >= KERNEL_LOWEST && word <= KERNEL_HIGHEST;
    return m != NULL && !m->shared && (m->writable || m->inode == 0);
}

hs_status hs_kernel_words_add(struct hs_target *target, const struct hs_kernel_word *word,
                              struct hs_error *err)
{
    if (!words_is_address(target, word->word))
        return HS_OK;
    if (target->n_kernel_words >= KERNEL_WORDS_MAX) {
        target->untold |= HS_UNTOLD_MANY;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&target->kernel_words, &target->kernel_words_capacity,
                   target->n_kernel_words + 1, err));
    target->kernel_words[target->n_kernel_words++] = *word;
    return HS_OK;
}

/* ---- vector registers */

hs_status hs_kernel_words_of_state(struct hs_target *target, pid_t tid, const uint8_t *bytes,
                                   size_t n_bytes, struct hs_error *err)
{
    struct hs_kernel_word held = {.place = HS_KERNEL_VECTOR, .tid = tid};

    for (size_t at = 0; n_bytes - at >= sizeof held.word; at += sizeof held.word) {
        uint64_t before = held.word;
        memcpy(&held.word, bytes + at, sizeof held.word);
        if (held.word != 0 && held.word != before) /* one pointer is often all over a register */
            HS_TRY(hs_kernel_words_add(target, &held, err));
    }
    return HS_OK;
}

hs_status hs_kernel_words_of_threads(struct hs_target *target, struct hs_error *err)
{
    _Alignas(64) uint8_t bytes[HS_SIGFRAME_BYTES_MAX];
    size_t n_others = 0;

    for (size_t i = 0; i < target->n_kernel_words; i++) /* those of an earlier stop go */
        if (target->kernel_words[i].place >= HS_KERNEL_EPOLL)
            target->kernel_words[n_others++] = target->kernel_words[i];
    target->n_kernel_words = n_others;
    for (size_t i = 0; i < target->n_threads; i++) {
        if (i % KERNEL_THREADS_PER_CHECK == 0) /* all of them stand still for it */
            HS_TRY(hs_freeze_check(target, err));
        struct iovec state = {bytes, sizeof bytes};
        pid_t tid = target->threads[i].tid;
        if (ptrace(PTRACE_GETREGSET, tid, (void *)HS_ARCH_STATE_NOTE, &state) == 0)
            HS_TRY(hs_kernel_words_of_state(target, tid, bytes, state.iov_len, err));
    }
    return HS_OK;
}
