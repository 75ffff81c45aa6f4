/* links: hs_base */
#include "fail_each.h"

#include "unit.h"

bool fail_each_next(struct fail_each *f)
{
    enum { MOST = 20000 };
    if (f->nth == 0)
        f->n_live = hs_alloc_live();
    else if (!f->keeps && f->status != HS_OK && hs_alloc_live() != f->n_live)
        fail_msg("allocation %ju fails: %jd are not freed", (uintmax_t)f->nth,
                 (intmax_t)(hs_alloc_live() - f->n_live));
    if (f->is_over) {
        assert_true(f->n_failed >= f->at_least && f->n_failed != 0);
        return false;
    }
    assert_true(++f->nth < MOST);
    return true;
}

void fail_each_begin(struct fail_each *f)
{
    bool is_sticky = f->mode == FAIL_REST || (f->mode == FAIL_BOTH && f->nth % 2 == 0);
    f->n_calls = hs_alloc_count();
    hs_alloc_fail_at(f->nth, is_sticky);
}

hs_status fail_each_end(struct fail_each *f, hs_status status)
{
    f->is_over = hs_alloc_count() - f->n_calls < f->nth;
    hs_alloc_fail_at(0, false);
    f->status = status;
    f->n_failed += status != HS_OK;
    if (f->is_over || (f->may_do_without && status == HS_OK))
        assert_int_equal(status, HS_OK);
    else
        assert_int_equal(status, HS_LIMIT);
    return status;
}
