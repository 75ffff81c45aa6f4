#include "index_resume.h"

#include "index_file.h"

/* Sections behind one that is not whole were written for another. */
static hs_status sections_accept(const struct index_file *file, struct index_header *header,
                                 struct hs_error *err)
{
    bool whole = true;

    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++) {
        if (!whole || !index_file_section_fits(file->header, i, file->n_bytes))
            whole = i == INDEX_REACHABLE && whole;
        else {
            hs_status status = index_file_section_verify(file, i, err);
            if (status == HS_LIMIT)
                return status;
            whole = status == HS_OK || i == INDEX_REACHABLE;
            if (status == HS_OK)
                header->sections[i] = file->header->sections[i];
        }
    }
    if (header->sections[INDEX_PREDECESSORS].n_bytes != 0)
        header->n_predecessors = file->header->n_predecessors;
    if (header->sections[INDEX_RETAINED].n_bytes != 0) {
        header->reached = file->header->reached;
        header->unreached = file->header->unreached;
    }
    if (header->sections[INDEX_OWNERS].n_bytes != 0) {
        header->n_sets = file->header->n_sets;
        header->n_other_sets = file->header->n_other_sets;
        header->other_sets = file->header->other_sets;
    }
    return HS_OK;
}

hs_status index_resume_adopt(struct index_output *out, const struct hs_snap *snap,
                             struct index_header *header, struct hs_error *err)
{
    struct index_file file = {.n_bytes = index_output_size(out)};
    hs_status status = HS_OK;

    if (file.n_bytes < index_packed_begin(header->n_tree))
        return HS_OK;
    HS_TRY(index_output_view(out, 0, file.n_bytes, &file.map, &file.bytes, err));
    file.header = (const void *)file.bytes;
    if (index_file_check_header(file.header, snap, header->policy, err) == HS_OK)
        status = sections_accept(&file, header, err);
    index_file_close(&file);
    return status;
}
