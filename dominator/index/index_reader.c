#include <assert.h>

#include "index_write.h"

hs_status index_reader_open(struct index_writer *writer, enum index_section section,
                            hs_packed_skip *skip, struct index_reader *ret, struct hs_error *err)
{
    const struct index_extent *extent = &writer->header.sections[section];
    struct index_reader reader = {0};
    const uint8_t *bytes;

    assert(index_write_has(writer, section));
    HS_TRY(index_output_view(writer->out, extent->offset, extent->offset + extent->n_bytes,
                             &reader.map, &bytes, err));
    hs_status status = hs_packed_open(
        bytes, extent->n_bytes, index_n_cells(&writer->header, section), skip, &reader.packed, err);
    if (status != HS_OK) {
        hs_map_close(&reader.map);
        return status;
    }
    reader.packed.n_values = index_n_values(&writer->header, section);
    reader.packed.is_mapped = reader.map.bytes != NULL;
    *ret = reader;
    return HS_OK;
}

void index_reader_close(struct index_reader *reader)
{
    hs_packed_close(&reader->packed);
    hs_map_close(&reader->map);
}
