/* The formats of `export --to`, each a file export_NAME.c with one struct hs_exporter
 * hs_exporter_NAME, and a line here. */
#ifndef HS_EXPORT_EXPORTERS_H
#define HS_EXPORT_EXPORTERS_H

#include "export/exporter.h"

/* clang-format off */
#define HS_EXPORTERS(exporter)                                                                     \
    exporter(graph)      /* nodes.tsv and edges.tsv in a directory */                              \
    exporter(v8)         /* a .heapsnapshot for Chrome's DevTools and memlab */                    \
    exporter(parquet)    /* tables of a fleet, for DuckDB, ClickHouse, Spark */                    \
    exporter(perfetto)   /* a heap graph for ui.perfetto.dev */                                    \
    exporter(hprof)      /* a heap dump of Java for VisualVM and Eclipse MAT */                    \
    exporter(folded)     /* stacks for flame graphs */                                             \
    exporter(pprof)      /* a profile for go tool pprof and continuous profilers */                \
    exporter(speedscope) /* for speedscope.app */                                                  \
    exporter(heaptrack)  /* for heaptrack_print and heaptrack_gui */                               \
    exporter(callgrind)  /* for callgrind_annotate and KCachegrind */                              \
    exporter(ncdu)       /* folders for ncdu -f */                                                 \
    exporter(dot)        /* one neighbourhood, for Graphviz */                                     \
    exporter(sqlite)     /* a database file */                                                     \
    exporter(prometheus) /* gauges for a textfile collector */
/* clang-format on */

/* The names as the choices of an option: a static string. */
#define HS_EXPORTER_CHOICE(name) "|" #name
#define HS_EXPORTER_CHOICES ((HS_EXPORTERS(HS_EXPORTER_CHOICE)) + 1)

#define HS_EXPORTER_OBJECT(name) extern const struct hs_exporter hs_exporter_##name;
HS_EXPORTERS(HS_EXPORTER_OBJECT)

/* The exporters, by the number of the choice. */
extern const struct hs_exporter *const hs_exporters[];
extern const char *const hs_exporter_names[];

#endif
