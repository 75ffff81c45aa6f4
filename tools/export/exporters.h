/* The formats of `export --to`, each a file export_NAME.c with hs_export_NAME, and a line here; the
 * option's choices and the call come from these lines. */
#ifndef HS_EXPORT_EXPORTERS_H
#define HS_EXPORT_EXPORTERS_H

#include "tool.h"

/* clang-format off */
#define HS_EXPORTERS(exporter)                                                                     \
    exporter(graph) /* nodes.tsv and edges.tsv in a directory */                                   \
    exporter(v8)    /* a .heapsnapshot for Chrome's DevTools and memlab */
/* clang-format on */

/* The names as the choices of an option: a static string. */
#define HS_EXPORTER_CHOICE(name) "|" #name
#define HS_EXPORTER_CHOICES ((HS_EXPORTERS(HS_EXPORTER_CHOICE)) + 1)

/* Writes the snapshot of the command line to what -o names; streams, a chunk of blocks at a time.
 */
#define HS_EXPORTER_FUNCTION(name)                                                    \
    hs_status hs_export_##name(struct hs_tool *tool, const struct hs_invocation *inv, \
                               struct hs_error *err);
HS_EXPORTERS(HS_EXPORTER_FUNCTION)

#endif
