/* The state of an open index. */
#ifndef HS_INDEX_PRIVATE_H
#define HS_INDEX_PRIVATE_H

#include "index/index.h"
#include "index_file.h"
#include "index_output.h"

struct hs_index {
    struct index_file file;
    struct hs_packed_pool pool; /* of its sections, where there is a limit */
    struct index_output memory; /* what the file is in; closed when it is mapped */
    char *path;                 /* owned; NULL when it has none */
    bool was_built;
    bool is_damaged; /* an answer met damage */
};

#endif
