/* links: hs_analysis */
#include "analysis/chunk_pass.h"

#include "unit.h"

#include "fail_each.h"
#include "made_view.h"

enum { N_CHUNKS = 3, N_BLOCKS = (N_CHUNKS - 1) * HS_CHUNK_BLOCKS + 5 };

struct told {
    uint64_t n, last, total;
    uint64_t ends_at; /* asks for an end then; 0: never */
};

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct told *told = context;
    assert_int_equal(done, told->last + 1); /* each chunk once, behind it */
    told->n++;
    told->last = done;
    told->total = total;
    return told->ends_at == 0 || done < told->ends_at;
}

static struct made_view made;

static int set_up(void **state)
{
    made_list(&made.builder, N_BLOCKS);
    made_view_open(&made);
    return 0;
}

static int tear_down(void **state)
{
    made_view_close(&made);
    return 0;
}

static void every_block_once_in_order(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct told told = {0};
    const struct hs_progress progress = {tell, &told};
    struct hs_view view = made.view;
    hs_node next = view.n_tree;
    view.session.progress = &progress;
    struct hs_chunk_pass pass = hs_chunk_pass_of(&view, HS_COL_SIZES, "reading");
    while (hs_chunk_pass_next(&pass, &err)) {
        assert_int_equal(pass.chunk.first, next);
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++)
            assert_int_equal(pass.chunk.words[i], 3);
        next += pass.chunk.n_blocks;
    }
    assert_int_equal(hs_chunk_pass_end(&pass), HS_OK);
    assert_int_equal(next, view.n_tree + N_BLOCKS);
    assert_int_equal(told.n, N_CHUNKS);
    assert_int_equal(told.total, N_CHUNKS);
}

static void ends_with_what_the_caller_says(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    unsigned n = 0;
    struct hs_chunk_pass pass = hs_chunk_pass_of(&made.view, HS_COL_TYPES, NULL);
    while (hs_chunk_pass_next(&pass, &err))
        pass.status = ++n == 2 ? HS_FORMAT : HS_OK;
    assert_int_equal(n, 2);
    assert_int_equal(hs_chunk_pass_end(&pass), HS_FORMAT);
}

static void ends_when_interrupted(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct told told = {.ends_at = 1};
    const struct hs_progress progress = {tell, &told};
    struct hs_view view = made.view;
    unsigned n = 0;
    view.session.progress = &progress;
    struct hs_chunk_pass pass = hs_chunk_pass_of(&view, HS_COL_TYPES, "reading");
    while (hs_chunk_pass_next(&pass, &err))
        n++;
    assert_int_equal(n, 1);
    assert_int_equal(hs_chunk_pass_end(&pass), HS_LIMIT);
}

static hs_status read_all(struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(&made.view, HS_COL_ALL, NULL);
    while (hs_chunk_pass_next(&pass, err))
        continue;
    return hs_chunk_pass_end(&pass);
}

static void out_of_memory(void **state)
{
    FAIL_EACH (each, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(each, read_all(&err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_once_in_order),
        cmocka_unit_test(ends_with_what_the_caller_says),
        cmocka_unit_test(ends_when_interrupted),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
