/* links: hs_index */
#include "index/index_progress.h"

#include "unit.h"

struct heard {
    char phase[128];
    uint64_t done, total;
    bool goes_on;
};

static bool hear(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct heard *heard = context;
    strncpy(heard->phase, phase, sizeof heard->phase - 1);
    heard->done = done;
    heard->total = total;
    return heard->goes_on;
}

static void says(struct index_progress *progress, const char *phase, const char *text,
                 uint64_t done)
{
    struct hs_error err = HS_ERROR_INIT;
    struct heard *heard = progress->heard->context;
    assert_int_equal(hs_progress_tell(&progress->counted, phase, done, 100, &err), HS_OK);
    assert_string_equal(heard->phase, text);
}

static void counts_passes(void **state)
{
    struct heard heard = {.goes_on = true};
    struct hs_progress outer = {hear, &heard};
    struct index_progress progress;
    index_progress_init(&outer, &progress);
    says(&progress, "looking for ephemerons", "looking for ephemerons", 1);
    says(&progress, "reversing the graph", "reversing the graph, pass 1 of 12", 7);
    assert_int_equal(heard.done, 7);
    assert_int_equal(heard.total, 100);
    says(&progress, "reading the graph", "reversing the graph, pass 1 of 12", 99);
    assert_int_equal(heard.done, 7); /* the pass's, not the sweep's */
    says(&progress, "placing the forest", "placing the forest, pass 4 of 12", 0);
    says(&progress, "adding up retained sizes", "adding up retained sizes, pass 9 of 12", 0);
    says(&progress, "placing the forest", "placing the forest, pass 9 of 12", 0); /* never back */
    says(&progress, "writing the dominator tree", "writing the dominator tree, pass 12 of 12", 0);
}

static void ends_when_asked(void **state)
{
    struct heard heard = {.goes_on = false};
    struct hs_progress outer = {hear, &heard};
    struct hs_error err = HS_ERROR_INIT;
    struct index_progress progress;
    index_progress_init(&outer, &progress);
    assert_int_equal(hs_progress_tell(&progress.counted, "reading the graph", 1, 2, &err),
                     HS_LIMIT);
    assert_string_equal(err.message, "interrupted while reading the graph");
    index_progress_init(NULL, &progress);
    assert_int_equal(hs_progress_tell(&progress.counted, "reading the graph", 1, 2, &err), HS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_passes),
        cmocka_unit_test(ends_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
