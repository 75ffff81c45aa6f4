/* links: hs_dump hs_native hs_ocaml hs_heaps hs_runtimes hs_process hs_format hs_target hs_symbols
 * hs_base */
/* What a dump of a child of ours would meet. */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dump/diagnosis.h"
#include "live_child.h"
#include "seeds.h"
#include "shipped_rules.h"

enum { CHILD_BYTES = 64 << 20 };

static struct hs_error err;

static void body_large(struct live_shared *shared)
{
    char *memory =
        mmap(NULL, CHILD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, CHILD_BYTES);
    live_child_ready(shared);
    for (;;)
        pause();
}

static const struct hs_check *check_named(const struct hs_diagnosis *diagnosis, const char *name)
{
    for (size_t i = 0; i < diagnosis->n_checks; i++)
        if (strcmp(diagnosis->checks[i].name, name) == 0)
            return &diagnosis->checks[i];
    fail_msg("no check '%s'", name);
    return NULL;
}

static void expect(const struct hs_diagnosis *diagnosis, const char *name, enum hs_verdict verdict,
                   const char *found)
{
    const struct hs_check *check = check_named(diagnosis, name);
    if (check->verdict != verdict || strstr(check->found, found) == NULL)
        fail_msg("%s: %s: '%s', not '%s'", name, hs_verdict_name(check->verdict), check->found,
                 found);
}

static void diagnose(pid_t pid, struct hs_budget *budget, struct hs_diagnosis *ret)
{
    const struct hs_dump_options options = {.pid = pid, .budget = budget, .rules = shipped_rules()};
    if (hs_diagnose_dump(&options, ret, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static void a_child_of_ours(void **state)
{
    static const char *const names[] = {"machine", "runtime",  "allocator",  "stop",  "memory",
                                        "disk",    "binaries", "debug_info", "unwind"};
    struct live_child child = live_child_start(body_large);
    struct hs_diagnosis diagnosis;
    diagnose(child.pid, NULL, &diagnosis);
#if defined(HS_SANITIZED)
    assert_ptr_equal(hs_diagnosis_refusal(&diagnosis), check_named(&diagnosis, "allocator"));
    expect(&diagnosis, "allocator", HS_VERDICT_REFUSED, "Sanitizer");
#else
    assert_null(hs_diagnosis_refusal(&diagnosis));
    expect(&diagnosis, "allocator", HS_VERDICT_OK, "glibc");
#endif
    size_t first = diagnosis.n_checks - sizeof names / sizeof *names;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(diagnosis.checks[first + i].name, names[i]);
    expect(&diagnosis, "binaries", HS_VERDICT_OK, "of the build that was loaded");
    expect(&diagnosis, "disk", HS_VERDICT_OK, "nothing but the snapshot");
    assert_true(live_runs_free(child.pid));
    live_child_end(&child);
}

/* From plenty to too little: the copy in memory, in a file, and no dump at all. */
static void budgets(void **state)
{
    struct live_child child = live_child_start(body_large);
    struct hs_diagnosis diagnosis;
    struct hs_budget budget;
    hs_budget_init((uint64_t)1 << 30, NULL, 1, &budget);
    diagnose(child.pid, &budget, &diagnosis);
    expect(&diagnosis, "memory", HS_VERDICT_OK, "allowed are");
    expect(&diagnosis, "disk", HS_VERDICT_OK, "nothing but the snapshot");
    hs_budget_init((uint64_t)90 << 20, NULL, 1, &budget);
    diagnose(child.pid, &budget, &diagnosis);
    expect(&diagnosis, "memory", HS_VERDICT_OK, "with the copy in a temporary file");
    expect(&diagnosis, "disk", HS_VERDICT_OK, "which has the room");
    hs_budget_init((uint64_t)90 << 20, "/nowhere/at/all", 1, &budget);
    diagnose(child.pid, &budget, &diagnosis);
    assert_int_equal(check_named(&diagnosis, "disk")->verdict, HS_VERDICT_REFUSED);
    hs_budget_init((uint64_t)20 << 20, NULL, 1, &budget);
    diagnose(child.pid, &budget, &diagnosis);
    expect(&diagnosis, "memory", HS_VERDICT_REFUSED, "needs at least");
    assert_non_null(strstr(check_named(&diagnosis, "memory")->hint, "--memory"));
    budget.bound_by = "its group"; /* then an option would not help */
    diagnose(child.pid, &budget, &diagnosis);
    assert_string_equal(check_named(&diagnosis, "memory")->hint, "its group allows no more");
    live_child_end(&child);
}

static void body_end(struct live_shared *shared)
{
    live_child_ready(shared);
}

static void one_that_has_ended(void **state)
{
    struct live_child child = live_child_start(body_end);
    struct hs_diagnosis diagnosis;
    assert_true(live_wait_state(child.pid, 'Z'));
    diagnose(child.pid, NULL, &diagnosis);
    expect(&diagnosis, "zombie", HS_VERDICT_REFUSED, "zombie");
    assert_string_equal(diagnosis.checks[diagnosis.n_checks - 1].name, "zombie");
    live_child_end(&child);
}

/* Each allocation in turn fails: out of memory is said to be that, or costs one answer. */
static void out_of_memory(void **state)
{
    struct live_child child = live_child_start(body_large);
    struct hs_diagnosis diagnosis;
    const struct hs_dump_options options = {.pid = child.pid};
    uint64_t before = hs_alloc_count();
    diagnose(child.pid, NULL, &diagnosis);
    uint64_t n = hs_alloc_count() - before, n_failed = 0;
    for (uint64_t i = 1; i <= n; i += 1 + n / HS_SEEDS(200)) {
        hs_alloc_fail_at(i, false);
        hs_status status = hs_diagnose_dump(&options, &diagnosis, &err);
        hs_alloc_fail_at(0, false);
        if (status != HS_OK)
            assert_int_equal(status, HS_LIMIT);
        n_failed += status != HS_OK;
    }
    assert_true(n_failed > 0);
    assert_true(live_runs_free(child.pid));
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_ours),
        cmocka_unit_test(budgets),
        cmocka_unit_test(one_that_has_ended),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
