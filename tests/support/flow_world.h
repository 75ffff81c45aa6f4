/* A world (native_world.h) in which types flow from what is known to blocks. */
#ifndef HS_TESTS_FLOW_WORLD_H
#define HS_TESTS_FLOW_WORLD_H

#include "unit.h"

#include "native_world.h"

static struct world *w;
static struct hs_flow flow;

static inline int tear_down(void **state)
{
    (void)state;
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static inline void run(void)
{
    world_seal(w);
    if (hs_native_flow(&w->native, &flow, &world_err) != HS_OK)
        fail_msg("%s", world_err.message);
}

static inline void is(hs_addr block, const char *name)
{
    assert_string_equal(world_type_of(w, &flow, block), name);
}

#endif
