/* Wraps CPython's domains MEM and OBJ. The domain RAW is malloc, and what the others ask malloc for
 * (large blocks; all blocks under PYTHONMALLOC=malloc) is counted there: then the bytes that are
 * left until the next sample have changed when the allocator beneath returns, and are not counted
 * here. So no block is counted twice, whatever lies beneath. */
#include "record_interpose.h"
#include "record_python.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#define SLOW HS_RECORD_SLOW

enum { DOMAIN_MEM = 1, DOMAIN_OBJ = 2, N_DOMAINS = 3 };

struct allocator { /* PyMemAllocatorEx */
    void *context;
    void *(*malloc)(void *, size_t);
    void *(*calloc)(void *, size_t, size_t);
    void *(*realloc)(void *, void *, size_t);
    void (*free)(void *, void *);
};
struct pool {
    struct allocator next;
    uint32_t n_proofs;  /* small blocks that malloc was not asked for, one after the other */
    uint32_t n_careful; /* calls that did not take the quick way */
};
static struct pool pools[N_DOMAINS];

/* obmalloc has no blocks of more than 512 bytes in its pools, and to what its debug hooks add. */
#define SMALL_BYTES 448U
#define PROOFS 64U

static struct {
    void (*get)(int, struct allocator *);
    void (*set)(int, const struct allocator *);
    int (*call_later)(int (*)(void *), void *);
    bool is_checked;
} python;

SLOW static void *sample(void *block, size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);

    python.is_checked = true;
    if (n_samples != 0)
        hs_record_allocated(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

/* The thread's `left` was `left` before the block was made. Jumps to `sample`. */
static inline __attribute__((always_inline)) void *made(void *block, size_t n_bytes, uint64_t left)
{
    struct hs_record_thread *thread = &hs_record_thread;

    if (block == NULL || thread->left != left)
        return block;
    if (__builtin_expect(n_bytes >= left, 0))
        return sample(block, n_bytes);
    thread->left = left - n_bytes;
    return block;
}

HS_RECORD_POOL __attribute__((noinline)) static void *careful_malloc(struct pool *pool,
                                                                     size_t n_bytes)
{
    uint64_t left = hs_record_thread.left;
    void *block = pool->next.malloc(pool->next.context, n_bytes);

    pool->n_careful++;
    if (n_bytes <= SMALL_BYTES && pool->n_proofs < PROOFS)
        pool->n_proofs = hs_record_thread.left == left ? pool->n_proofs + 1 : 0;
    return made(block, n_bytes, left);
}

/* Has no frame of its own where small blocks are known to come from pools. */
HS_RECORD_POOL static void *pool_malloc(void *context, size_t n_bytes)
{
    struct hs_record_thread *thread = &hs_record_thread;
    struct pool *pool = context;

    if (__builtin_expect(
            n_bytes > SMALL_BYTES || n_bytes >= thread->left || pool->n_proofs < PROOFS, 0))
        return careful_malloc(pool, n_bytes);
    thread->left -= n_bytes;
    return pool->next.malloc(pool->next.context, n_bytes);
}

/* A block that was made is not larger than can be. */
HS_RECORD_POOL static void *pool_calloc(void *context, size_t n, size_t each_bytes)
{
    const struct allocator *next = &((const struct pool *)context)->next;
    uint64_t left = hs_record_thread.left;

    return made(next->calloc(next->context, n, each_bytes), n * each_bytes, left);
}

HS_RECORD_POOL __attribute__((noinline)) static void *realloc_sample(const struct allocator *next,
                                                                     void *block, size_t n_bytes)
{
    const struct hs_record_frame *frame = hs_record_caller();
    struct hs_record_thread *thread = &hs_record_thread;
    struct hs_record_slot old;
    bool was_sample = hs_record_take_out(block, &old);
    uint64_t left = thread->left;
    void *moved = next->realloc(next->context, block, n_bytes);
    uint32_t n_samples = 0;

    if (was_sample && moved == NULL)
        hs_record_put_back(&old);
    else if (was_sample)
        hs_record_gone(&old);
    if (moved != NULL && thread->left == left && hs_record_passes(n_bytes))
        n_samples = hs_record_decide(n_bytes);
    if (n_samples != 0)
        hs_record_allocated(moved, n_bytes, n_samples, frame);
    return moved;
}

HS_RECORD_POOL static void *pool_realloc(void *context, void *block, size_t n_bytes)
{
    const struct allocator *next = &((const struct pool *)context)->next;
    uint64_t left = hs_record_thread.left;

    if (__builtin_expect(block != NULL && hs_record_maybe(block), 0))
        return realloc_sample(next, block, n_bytes);
    return made(next->realloc(next->context, block, n_bytes), n_bytes, left);
}

SLOW static void free_sample(const struct allocator *next, void *block)
{
    hs_record_freed(block);
    next->free(next->context, block);
}

static void pool_free(void *context, void *block)
{
    const struct allocator *next = &((const struct pool *)context)->next;

    if (__builtin_expect(hs_record_maybe(block), 0))
        free_sample(next, block);
    else
        next->free(next->context, block);
}

static void wrap(int domain)
{
    const struct allocator own = {.context = &pools[domain],
                                  .malloc = pool_malloc,
                                  .calloc = pool_calloc,
                                  .realloc = pool_realloc,
                                  .free = pool_free};

    python.get(domain, &pools[domain].next);
    python.set(domain, &own);
}

/* Finds a function: dlsym gives data pointers for functions. */
static bool find(const char *name, void *ret)
{
    return (*(void **)ret = dlsym(RTLD_DEFAULT, name)) != NULL;
}

/* Checks, between two instructions of Python's and with its lock, that the wrapper is still asked.
 * Where it is not, it is put before what is there now. */
static int check(void *unused)
{
    (void)unused;
    for (int domain = DOMAIN_MEM; domain <= DOMAIN_OBJ; domain++) {
        struct pool *pool = &pools[domain];
        uint32_t n_before = pool->n_careful;
        struct allocator now;

        pool->n_proofs = 0;
        python.get(domain, &now);
        now.free(now.context, now.malloc(now.context, 1));
        if (pool->n_careful == n_before)
            wrap(domain);
    }
    return 0;
}

/* PYTHONMALLOC and -X dev put allocators in place of the wrappers when the interpreter starts: seen
 * to once, unless a wrapper has taken a sample by then. */
static void after_sample(void)
{
    if (python.is_checked)
        return;
    python.is_checked = true;
    (void)python.call_later(check, NULL);
}

/* Before `main`; not in programs that run with more rights than their caller. The linker is told
 * the name, as nobody calls it. */
__attribute__((constructor)) void hs_record_pools_begin(void);
void hs_record_pools_begin(void)
{
    if (getauxval(AT_SECURE) != 0 || !find("PyMem_GetAllocator", &python.get) ||
        !find("PyMem_SetAllocator", &python.set))
        return;
    hs_record_python_find();
    wrap(DOMAIN_MEM);
    wrap(DOMAIN_OBJ);
    if (find("Py_AddPendingCall", &python.call_later))
        hs_record_python.after_sample = after_sample;
}
