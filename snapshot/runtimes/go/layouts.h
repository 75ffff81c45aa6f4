/* The layouts of the Go runtime's structures: the columns of columns.def (private to
 * snapshot/runtimes/go). */
#ifndef HS_GO_LAYOUTS_H
#define HS_GO_LAYOUTS_H

#include "base/types.h"

struct hs_go_layout {
    unsigned minor;   /* 19: Go 1.19 */
    const char *name; /* "1.19" */
    unsigned column;  /* of columns.def and waits.def, from 0 */
#define COLUMN(structure, member, ...) int32_t structure##_##member;
#include "columns.def"
#undef COLUMN
};

/* Finds the layout of Go 1.`minor`; NULL: it is not known. */
const struct hs_go_layout *hs_go_layout(unsigned minor);
/* Returns the reason of a goroutine's wait, "chan receive"; NULL: none is known by this number. */
const char *hs_go_wait_reason(const struct hs_go_layout *layout, unsigned number);
/* "1.19, 1.21": those that are known. */
const char *hs_go_layout_names(void);

#endif
