/* The words that a block would retain by the conservative policy, beside what it retains by the
 * snapshot's own: the figures of a second index. */
#ifndef HS_QUERY_OTHER_POLICY_H
#define HS_QUERY_OTHER_POLICY_H

#include "hub.h"

/* Finds the conservative index of the source, or the view's own where both say the same. Opened
 * when it is first asked for, and computed and kept beside the snapshot where there is none: that
 * costs what `heapsnap index --policy conservative` does, and says so. Borrowed until the source
 * goes. */
hs_status hs_sql_conservative_index(struct hs_sql_source *source, struct hs_index **ret,
                                    struct hs_error *err);

#endif
