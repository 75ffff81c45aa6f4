/* links: hs_import hs_format */
/* Any bytes as a heap snapshot of V8: a sound snapshot, or an error that names the fault. */
#include "format/writer_internal.h"
#include "import_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    hs_snap_writer_set_level(1);
    hs_import_hold(bytes, n_bytes, HS_IMPORT_V8);
    return 0;
}
