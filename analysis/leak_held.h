/* The blocks that surely live: all that chains of sure edges lead to from a root. */
#ifndef HS_ANALYSIS_LEAK_HELD_H
#define HS_ANALYSIS_LEAK_HELD_H

#include "analysis/leak_set.h"

/* Sets bits of `held`, a bit for each node; and of `on_stack` for what such a chain leads to from a
 * register, or from a slot of a stack, in which no variable is known to live, and for nothing that
 * is held. An index by the policy firm knows what is held by its tiers, types of --pointers-in
 * included. One search over the graph of sure edges, in memory where the budget has room for it, or
 * by passes over files (passes/passes.h), is for what stacks hold besides, for holders, and where
 * the index is conservative and something doubtful. */
hs_status hs_leak_find_held(const struct hs_view *view, const struct hs_leak_holders *holders,
                            struct hs_bitmap *held, struct hs_bitmap *on_stack,
                            struct hs_error *err);

/* The two searches, which find the same. */
hs_status hs_leak_held_in_memory(const struct hs_view *view, const struct hs_leak_holders *holders,
                                 struct hs_bitmap *held, struct hs_bitmap *on_stack,
                                 struct hs_error *err);
hs_status hs_leak_held_by_passes(const struct hs_view *view, const struct hs_leak_holders *holders,
                                 struct hs_bitmap *held, struct hs_bitmap *on_stack,
                                 struct hs_error *err);

#endif
