/* No program here has tokio. For tests that stand in for the debug information. */
#ifndef HS_TESTS_FAKE_TASKS_H
#define HS_TESTS_FAKE_TASKS_H

#include "symbols/ctypes.h"

bool hs_ctypes_task_header(struct hs_ctypes *types, hs_type_file file, struct hs_ctask_header *ret)
{
    (void)types, (void)file, (void)ret;
    return false;
}

bool hs_ctypes_task(struct hs_ctypes *types, hs_type_file file, hs_addr poll, struct hs_ctask *ret)
{
    (void)types, (void)file, (void)poll, (void)ret;
    return false;
}

#endif
