/* The finished work of an earlier run that was interrupted. */
#ifndef HS_INDEX_RESUME_H
#define HS_INDEX_RESUME_H

#include "index_format.h"
#include "index_output.h"

/* Takes the sections of the output that are whole into *header, which has a key and none. What is
 * damaged, cut or of another snapshot is left out, and so is what was written behind it. Costs one
 * read of what there is. HS_LIMIT alone fails. */
hs_status index_resume_adopt(struct index_output *out, const struct hs_snap *snap,
                             struct index_header *header, struct hs_error *err);

#endif
