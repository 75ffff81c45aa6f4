/* The list of exporters as tables. */
#include "export/exporters.h"

#define EXPORTER(name) &hs_exporter_##name,
#define NAME(name) #name,

const struct hs_exporter *const hs_exporters[] = {HS_EXPORTERS(EXPORTER)};
const char *const hs_exporter_names[] = {HS_EXPORTERS(NAME)};

hs_status hs_export_view(const struct hs_exporter *exporter, struct hs_view *view,
                         const struct hs_export_target *target, struct hs_error *err)
{
    struct hs_stack_tree tree = {0};
    if (exporter->write_stacks == NULL)
        return exporter->write(view, target, err);
    hs_status status = hs_stack_tree_of_view(view, &tree, err);
    if (status == HS_OK)
        status = exporter->write_stacks(&tree, target, err);
    hs_stack_tree_fini(&tree);
    return status;
}
