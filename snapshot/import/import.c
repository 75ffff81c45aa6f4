/* Chooses the reader by the kind of file. */
#include "import/import.h"

#include "maker.h"
#include "readers.h"

hs_status hs_import(const struct hs_import_options *options, struct hs_out *out,
                    struct hs_import_report *ret, struct hs_error *err)
{
    static hs_status (*const readers[HS_N_IMPORTS])(struct maker *, struct hs_import_report *,
                                                    struct hs_error *) = {
        [HS_IMPORT_V8] = hs_v8_import,
        [HS_IMPORT_HPROF] = hs_hprof_import,
        [HS_IMPORT_GRAPH] = hs_tables_import,
    };
    struct maker maker;
    struct hs_import_report report = {0};
    maker_init(options, out, &maker);
    hs_status status = readers[options->from](&maker, &report, err);
    maker_fini(&maker);
    if (status == HS_OK)
        *ret = report;
    return status;
}
