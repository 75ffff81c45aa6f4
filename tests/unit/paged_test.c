/* links: hs_base */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/paged.h"
#include "fail_each.h"

#define PAGE HS_PAGED_PAGE_BYTES

static struct hs_error err;
static struct hs_budget budget;
static uint64_t resident_bytes; /* windows are as large as with so much */

static int set_up(void **state)
{
    hs_budget_init((uint64_t)256 << 20, NULL, 1, &budget);
    err = (struct hs_error)HS_ERROR_INIT;
    resident_bytes = 0;
    return 0;
}

static int set_up_large_windows(void **state)
{
    set_up(state);
    hs_budget_init((uint64_t)8 << 30, NULL, 1, &budget);
    resident_bytes = (uint64_t)4 << 30;
    return 0;
}

static void must(hs_status status)
{
    if (status != HS_OK)
        fail_msg("%s", err.message);
}

static struct hs_paged *make(void)
{
    struct hs_paged *paged = NULL;
    must(hs_paged_new(&budget, resident_bytes, &paged, &err));
    hs_paged_shrink(paged, resident_bytes);
    assert_int_equal(paged->most * paged->window_bytes, HS_PAGED_MIN_BYTES);
    return paged;
}

static uint8_t *reserve(struct hs_paged *paged, uint64_t n_bytes)
{
    uint8_t *at = NULL;
    must(hs_paged_reserve(paged, n_bytes, &at, &err));
    return at;
}

static uint8_t *pages_new(size_t n_bytes)
{
    void *pages = NULL;
    must(hs_pages_alloc(n_bytes, 1, &pages, &err));
    return pages;
}

/* What word `i` of page `page` holds: two pages in five are zero. */
static uint64_t word_of(size_t page, size_t i)
{
    return page % 5 < 2 ? 0 : page * 0x9e3779b97f4a7c15u ^ i;
}

static void fill(uint8_t *bytes, size_t first_page, size_t n)
{
    for (size_t page = 0; page < n; page++)
        for (size_t i = 0; i < PAGE / 8; i++) {
            uint64_t word = word_of(first_page + page, i);
            memcpy(bytes + page * PAGE + i * 8, &word, sizeof word);
        }
}

static bool page_agrees(const uint8_t *at, size_t page)
{
    uint8_t expected[PAGE];
    fill(expected, page, 1);
    return memcmp(at, expected, PAGE) == 0;
}

static size_t resident_pages(const uint8_t *at, size_t n_bytes)
{
    size_t n = n_bytes / PAGE, n_resident = 0;
    unsigned char *in = malloc(n);
    assert_non_null(in);
    assert_int_equal(mincore((void *)(uintptr_t)at, n_bytes, in), 0);
    for (size_t i = 0; i < n; i++)
        n_resident += in[i] & 1;
    free(in);
    return n_resident;
}

/* Far more than may be resident reads as it was stored, forward, backward and anywhere. */
static void reads_as_stored_and_keeps_the_bound(void **state)
{
    enum { N = 16 * 1024 }; /* pages: 64 MiB, eight times the bound */
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    fill(bytes, 0, N);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    for (size_t page = 0; page < N; page++)
        assert_true(page_agrees(at + page * PAGE, page));
    uint64_t n_forward = paged->n_faults;
    assert_true(n_forward <= N * PAGE / paged->window_bytes / 4); /* read ahead */
    for (size_t page = N; page-- > 0;)
        assert_true(page_agrees(at + page * PAGE, page));
    for (size_t i = 0; i < 2000; i++) {
        size_t page = (size_t)(i * 2654435761u % N);
        assert_true(page_agrees(at + page * PAGE, page));
        if (i % 100 == 0)
            assert_true(resident_pages(at, N * PAGE) * PAGE <= HS_PAGED_MIN_BYTES);
    }
    assert_int_equal(memcmp(at, bytes, N * PAGE), 0); /* one call over all windows */
    must(hs_paged_check(paged, &err));
    assert_int_equal(budget.used_bytes - HS_BUDGET_BASE_BYTES, HS_PAGED_MIN_BYTES);
    hs_paged_free(paged);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* A word alone brings one window, the smallest that may be; what is read in several places in turn
 * is read ahead in each. */
static void windows_are_as_large_as_needed(void **state)
{
    enum { N = 16 * 1024, N_WORDS = 2000, N_PLACES = 5 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    memset(bytes, 1, N * PAGE);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    for (size_t i = 0; i < N_WORDS; i++)
        assert_int_equal(at[i * 2654435761u % N * PAGE], 1);
    assert_true(paged->n_faults > N_WORDS / 2);
    assert_true(paged->read_bytes <= 2 * paged->n_faults * HS_PAGED_MIN_WINDOW_BYTES);
    uint64_t before = paged->n_faults;
    for (size_t page = 0; page < N / N_PLACES; page++)
        for (size_t place = 0; place < N_PLACES; place++)
            assert_int_equal(at[(place * (N / N_PLACES) + page) * PAGE], 1);
    assert_true(paged->n_faults - before <= N * PAGE / paged->window_bytes / 4);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* The number of windows is bounded by that of mappings, not what may be resident. */
static void windows_grow_with_what_is_resident(void **state)
{
    static const struct {
        uint64_t mib;
        size_t window_bytes;
    } all[] = {{1, 16 << 10},     {256, 16 << 10},   {257, 32 << 10},     {1024, 64 << 10},
               {1025, 128 << 10}, {4096, 256 << 10}, {1 << 20, 256 << 10}};

    hs_budget_init((uint64_t)8 << 30, NULL, 1, &budget);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hs_paged *paged = NULL;
        must(hs_paged_new(&budget, all[i].mib << 20, &paged, &err));
        assert_int_equal(paged->window_bytes, all[i].window_bytes);
        assert_true(paged->most <= 16384);
        hs_paged_free(paged);
    }
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

/* Zeros are on no disk, and neither is what was never stored. */
static void holes_take_no_disk(void **state)
{
    enum { N = 4096 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, (uint64_t)1 << 40), *bytes = pages_new(N * PAGE);
    struct stat about;

    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    assert_int_equal(paged->written_bytes, 0);
    fill(bytes, 2, 1);
    must(hs_paged_store(paged, at + ((uint64_t)1 << 39), bytes, N * PAGE, &err));
    assert_int_equal(paged->written_bytes, PAGE);
    assert_int_equal(fstat(paged->file.fd, &about), 0);
    assert_true(about.st_blocks * 512 <= 16 * (off_t)PAGE);
    assert_true(page_agrees(at + ((uint64_t)1 << 39), 2));
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(at[(i * 2654435761u) % ((uint64_t)1 << 39)], 0);
    assert_int_equal(at[((uint64_t)1 << 40) - 1], 0);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* Every begin and end near borders of windows; what lies beside stays as it was. */
static void stores_pieces_anywhere(void **state)
{
    enum { N = 64 * 5 + 3 }; /* the last window is a part of one */
    static const size_t places[] = {0,   1,   2,   63,  64,  65,  66,  127, 128, 129,
                                    191, 192, 193, 255, 256, 257, 319, 320, 321, 322};
    enum { N_PLACES = sizeof places / sizeof *places };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE),
            *model = pages_new(N * PAGE);

    for (size_t i = 0; i < N_PLACES; i++)
        for (size_t j = i + 1; j < N_PLACES; j++) {
            size_t first = places[i], n = places[j] - first;
            fill(bytes, i * 1000 + j * 7, n);
            memcpy(model + first * PAGE, bytes, n * PAGE);
            must(hs_paged_store(paged, at + first * PAGE, bytes, n * PAGE, &err));
            assert_int_equal(memcmp(at, model, N * PAGE), 0);
        }
    must(hs_paged_check(paged, &err));
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
    hs_pages_free(model, N * PAGE, 1);
}

/* Pieces that are kept go to the file when their windows are dropped, and come back from there. */
static void kept_pieces_are_written_late(void **state)
{
    enum { N = 64 * 64 * 3 }; /* pages; a piece of two in each of 192 windows, of which 32 fit */
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    for (int round = 0; round < 3; round++) {
        for (size_t window = 0; window < N / 64; window++) {
            size_t page = window * 64 + (window * 7 + (size_t)round * 20) % 62;
            memset(bytes + page * PAGE, (int)(window + 1), 2 * PAGE);
            must(hs_paged_store(paged, at + page * PAGE, bytes + page * PAGE, 2 * PAGE, &err));
        }
        assert_true(resident_pages(at, N * PAGE) * PAGE <= HS_PAGED_MIN_BYTES);
    }
    assert_int_equal(memcmp(at, bytes, N * PAGE), 0);
    must(hs_paged_check(paged, &err));
    hs_paged_clear(paged);
    uint64_t written_bytes = paged->written_bytes;
    must(hs_paged_store(paged, at, bytes, PAGE, &err));
    hs_paged_clear(paged); /* what is forgotten is not written */
    assert_int_equal(paged->written_bytes, written_bytes);
    memset(bytes, 1, PAGE);
    must(hs_paged_store(paged, at, bytes, PAGE, &err));
    assert_int_equal(fcntl(paged->file.fd, F_SETFL, O_RDONLY), 0);
    int lost = open("/dev/full", O_RDWR);
    assert_true(lost >= 0 && dup2(lost, paged->file.fd) >= 0);
    close(lost);
    hs_paged_expect(paged, at + 64 * PAGE, N * PAGE);
    hs_paged_expect(paged, at + 3000 * PAGE, N * PAGE);
    hs_paged_expect(paged, at + 6000 * PAGE, N * PAGE);
    assert_int_equal(hs_paged_check(paged, &err), HS_IO);
    assert_int_equal(err.sys_errno, ENOSPC);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* A second copy uses the same disk and shows nothing of the first one. */
static void clears_and_uses_its_slots_again(void **state)
{
    enum { N = 1024 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    memset(bytes, 0xaa, N * PAGE);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    uint32_t n_slots = paged->n_slots;
    assert_int_equal(at[5 * PAGE], 0xaa);
    hs_paged_clear(paged);
    for (size_t i = 0; i < N * PAGE; i += 511)
        assert_int_equal(at[i], 0);
    fill(bytes, 0, N);
    must(hs_paged_store(paged, at + 3 * PAGE, bytes + 3 * PAGE, (N - 6) * PAGE, &err));
    for (size_t page = 0; page < N; page++)
        assert_true(page >= 3 && page < N - 3 ? page_agrees(at + page * PAGE, page)
                                              : at[page * PAGE + 17] == 0);
    assert_int_equal(paged->n_slots, n_slots);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

static void expected_windows_come_at_once(void **state)
{
    enum { N = 2048 }; /* all that may be resident */
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    fill(bytes, 0, N);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    hs_paged_expect(paged, at + 100 * PAGE + 5, 900 * PAGE);
    for (size_t page = 100; page < 1000; page++)
        assert_true(page_agrees(at + page * PAGE, page));
    assert_int_equal(paged->n_faults, 0);
    hs_paged_expect(paged, at, UINT64_MAX); /* as much as fits in half of the bound */
    assert_true(resident_pages(at, N * PAGE) * PAGE <= HS_PAGED_MIN_BYTES);
    hs_paged_expect(paged, bytes, PAGE); /* none of its own */
    hs_paged_expect(paged, at, 0);
    for (size_t page = 0; page < N; page++)
        assert_true(page_agrees(at + page * PAGE, page));
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* A file system that knows no O_DIRECT: the same bytes, and the cache is left alone. */
static void works_through_the_page_cache(void **state)
{
    enum { N = 6 * 1024 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    if (paged->is_direct) {
        assert_int_equal(fcntl(paged->file.fd, F_SETFL, fcntl(paged->file.fd, F_GETFL) & ~O_DIRECT),
                         0);
        paged->is_direct = false;
    }
    fill(bytes, 0, N);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    assert_true(paged->unsynced_bytes < (uint64_t)8 << 20);
    assert_int_equal(memcmp(at, bytes, N * PAGE), 0);
    must(hs_paged_check(paged, &err));
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* A full disk: the write that crosses the end is cut short, the next one fails. */
static void a_full_disk_is_told(void **state)
{
    enum { N = 1024 };
    struct rlimit old, small = {.rlim_cur = 100 * PAGE};
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    memset(bytes, 1, N * PAGE);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    hs_status status = hs_paged_store(paged, at, bytes, N * PAGE, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, HS_IO);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_non_null(strstr(err.message, "copy of the process"));
    assert_non_null(strstr(err.hint, "--spill-dir"));
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err)); /* there is room again */
    assert_int_equal(memcmp(at, bytes, N * PAGE), 0);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

/* What cannot be read back is zero and told afterwards, once and for all. */
static void a_lost_file_is_told(void **state)
{
    enum { N = 256 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    memset(bytes, 1, N * PAGE);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    must(hs_paged_check(paged, &err));
    assert_int_equal(ftruncate(paged->file.fd, 3 * PAGE), 0);
    assert_int_equal(at[2 * PAGE], 1);
    assert_int_equal(at[70 * PAGE], 0);
    assert_int_equal(hs_paged_check(paged, &err), HS_IO);
    assert_int_equal(err.sys_errno, EIO);
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
    must(hs_paged_check(NULL, &err));
}

static sigjmp_buf back;

static void jump_back(int number)
{
    siglongjmp(back, number);
}

/* Faults that are not ours go to whoever handled them before; then everything is as it was. */
static void faults_of_others_are_passed_on(void **state)
{
    struct sigaction ours = {.sa_handler = jump_back, .sa_flags = SA_NODEFER}, old, now;
    assert_int_equal(sigaction(SIGSEGV, &ours, &old), 0);
    struct hs_paged *one = make(), *two = make();
    uint8_t *at = reserve(one, PAGE);
    volatile uint8_t *hole = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(hole != MAP_FAILED);
    if (sigsetjmp(back, 1) == 0) {
        (void)*hole;
        fail_msg("no fault");
    }
    assert_int_equal(at[5], 0);
    hs_paged_free(one); /* not in the order of making */
    uint8_t *other = reserve(two, PAGE);
    assert_int_equal(other[0], 0);
    hs_paged_free(two);
    assert_int_equal(sigaction(SIGSEGV, &old, &now), 0);
    assert_true(now.sa_handler == jump_back);
    munmap((void *)(uintptr_t)hole, PAGE);
}

static void a_stray_write_still_ends_us(void **state)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        struct hs_paged *paged = make();
        (void)reserve(paged, PAGE);
        volatile uintptr_t nowhere = 64;
        *(volatile uint8_t *)nowhere = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* What a child with paged memory ends as: its wait status. */
static int ends_as(void (*run)(struct hs_paged *, uint8_t *))
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        struct hs_paged *paged = make();
        run(paged, reserve(paged, PAGE));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void send_one(struct hs_paged *paged, uint8_t *at)
{
    (void)raise(SIGSEGV);
}

static void jump_into(struct hs_paged *paged, uint8_t *at)
{
    void (*code)(void);
    if (at[0] == 0) { /* it is there now, and still no code */
        memcpy(&code, &at, sizeof code);
        code();
    }
}

static void use_freed(struct hs_paged *paged, uint8_t *at)
{
    hs_paged_free(paged);
    *(volatile uint8_t *)at = 1;
}

/* A signal that was sent is no fault: it does not happen again by itself. */
static void ends_of_all_kinds(void **state)
{
    void (*const runs[])(struct hs_paged *, uint8_t *) = {send_one, jump_into, use_freed};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int status = ends_as(runs[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    }
}

static void a_sent_signal_may_be_ignored(void **state)
{
    void (*old)(int) = signal(SIGSEGV, SIG_IGN);
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, PAGE);

    assert_int_equal(raise(SIGSEGV), 0);
    assert_int_equal(at[9], 0); /* and the handler is still there */
    hs_paged_free(paged);
    assert_true(signal(SIGSEGV, old) == SIG_IGN);
}

static void end_well(int number)
{
    sigset_t now;
    bool is_asked = pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGUSR1);
    _exit(number == SIGSEGV && is_asked ? 42 : 1);
}

/* Takes more of the stack than there is, whatever the compiler thinks of it. */
static size_t use_up_stack(volatile uint8_t *above, size_t depth)
{
    volatile uint8_t here[4096];
    here[0] = (uint8_t)(above[0] + depth);
    return depth == 0 ? here[0] : use_up_stack(here, depth - 1) + here[0];
}

static void overflow(struct hs_paged *paged, uint8_t *at)
{
    static uint8_t stack[1 << 16];
    struct sigaction action = {.sa_handler = end_well, .sa_flags = SA_ONSTACK};
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct rlimit small = {(rlim_t)1 << 20, (rlim_t)1 << 20};
    uint8_t first = at[0]; /* on the usual stack */

    hs_paged_free(paged);
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
        setrlimit(RLIMIT_STACK, &small) != 0)
        _exit(2);
    paged = make(); /* behind the other */
    at = reserve(paged, PAGE);
    _exit(use_up_stack(at, 1 << 16) == first ? 3 : 4);
}

/* Whoever tells of such ends goes on to be told, on his stack and under his mask. */
static void an_overflown_stack_is_passed_on(void **state)
{
    int status = ends_as(overflow);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void *read_in_thread(void *at)
{
    const uint8_t *bytes = at;
    size_t n_wrong = 0;
    for (size_t page = 0; page < 16 * 1024; page++)
        n_wrong += !page_agrees(bytes + page * PAGE, page);
    return n_wrong == 0 ? NULL : at;
}

/* One thread at a time may be another each time. */
static void serves_any_thread(void **state)
{
    enum { N = 16 * 1024 };
    struct hs_paged *paged = make();
    uint8_t *at = reserve(paged, N * PAGE), *bytes = pages_new(N * PAGE);

    fill(bytes, 0, N);
    must(hs_paged_store(paged, at, bytes, N * PAGE, &err));
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *wrong = at;
        assert_int_equal(pthread_create(&thread, NULL, read_in_thread, at), 0);
        assert_int_equal(pthread_join(thread, &wrong), 0);
        assert_null(wrong);
    }
    must(hs_paged_check(paged, &err));
    hs_paged_free(paged);
    hs_pages_free(bytes, N * PAGE, 1);
}

static hs_status make_all(struct hs_paged **ret)
{
    uint8_t *at;
    HS_TRY(hs_paged_new(&budget, 0, ret, &err));
    for (int i = 0; i < 20; i++)
        HS_TRY(hs_paged_reserve(*ret, PAGE, &at, &err));
    return HS_OK;
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 80) {
        struct hs_paged *paged = NULL;
        (void)FAIL_EACH_TRY(each, make_all(&paged));
        hs_paged_free(paged);
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
}

static void refuses_what_cannot_be(void **state)
{
    struct hs_paged *paged = NULL;
    uint8_t *at;

    budget.limit_bytes = budget.used_bytes + HS_PAGED_MIN_BYTES - 1;
    assert_int_equal(hs_paged_new(&budget, 0, &paged, &err), HS_LIMIT);
    assert_null(paged);
    budget.limit_bytes++;
    paged = make();
    assert_int_equal(hs_paged_reserve(paged, 0, &at, &err), HS_LIMIT);
    assert_int_equal(hs_paged_reserve(paged, UINT64_MAX, &at, &err), HS_LIMIT);
    assert_int_equal(hs_paged_reserve(paged, (uint64_t)1 << 49, &at, &err), HS_LIMIT);
    hs_paged_free(paged);
    hs_paged_free(NULL);
    budget.spill_dir = "/nonexistent";
    paged = NULL;
    assert_int_equal(hs_paged_new(&budget, 0, &paged, &err), HS_IO);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_as_stored_and_keeps_the_bound, set_up),
        cmocka_unit_test_setup(windows_are_as_large_as_needed, set_up),
        cmocka_unit_test_setup(windows_grow_with_what_is_resident, set_up),
        cmocka_unit_test_setup(holes_take_no_disk, set_up),
        cmocka_unit_test_setup(stores_pieces_anywhere, set_up),
        cmocka_unit_test_setup(stores_pieces_anywhere, set_up_large_windows),
        cmocka_unit_test_setup(kept_pieces_are_written_late, set_up),
        cmocka_unit_test_setup(kept_pieces_are_written_late, set_up_large_windows),
        cmocka_unit_test_setup(clears_and_uses_its_slots_again, set_up),
        cmocka_unit_test_setup(expected_windows_come_at_once, set_up),
        cmocka_unit_test_setup(expected_windows_come_at_once, set_up_large_windows),
        cmocka_unit_test_setup(works_through_the_page_cache, set_up),
        cmocka_unit_test_setup(a_full_disk_is_told, set_up),
        cmocka_unit_test_setup(a_lost_file_is_told, set_up),
        cmocka_unit_test_setup(faults_of_others_are_passed_on, set_up),
        cmocka_unit_test_setup(a_stray_write_still_ends_us, set_up),
        cmocka_unit_test_setup(ends_of_all_kinds, set_up),
        cmocka_unit_test_setup(a_sent_signal_may_be_ignored, set_up),
        cmocka_unit_test_setup(an_overflown_stack_is_passed_on, set_up),
        cmocka_unit_test_setup(serves_any_thread, set_up),
        cmocka_unit_test_setup(every_allocation_may_fail, set_up),
        cmocka_unit_test_setup(refuses_what_cannot_be, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
