/* The readers: each reads maker->options->path and makes a whole snapshot of it. */
#ifndef HS_READERS_H
#define HS_READERS_H

#include "maker.h"

hs_status hs_v8_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err);
hs_status hs_hprof_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err);
hs_status hs_tables_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err);

#endif
