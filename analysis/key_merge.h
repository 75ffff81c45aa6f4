/* Rows of a key file that come under the same name more than once. */
#ifndef HS_ANALYSIS_KEY_MERGE_H
#define HS_ANALYSIS_KEY_MERGE_H

#include "analysis/key_file.h"

/* Rows of one list by their names: those of one name, parent and form are one row. */
struct key_merge {
    struct hs_snap_keys *table;
    enum hs_key_list list;
    struct hs_table by_name; /* owned */
};

hs_status key_merge_add(struct key_merge *merge, const char *name, const struct hs_key_row *row,
                        struct hs_error *err);
/* Sorts the list, largest first, and keeps HS_KEY_ROWS_MOST. Frees what the merge has. */
void key_merge_end(struct key_merge *merge);

#endif
