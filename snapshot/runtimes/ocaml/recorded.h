/* Samples that the recorder has Gc.Memprof take (recorder/record_ocaml_start.c): the runtime's
 * table has each sample's number and where its block lies now, the recorder's table has by that
 * number the id in the trace and the backtrace. */
#ifndef HS_OCAML_RECORDED_H
#define HS_OCAML_RECORDED_H

#include "roots.h"

/* Copies, and later reads, the recorder's tables: gives samples their ids and sites. Samples of
 * other numbers, of the process that this one was forked from, are left out. Without a recorder
 * nothing changes. */
hs_status hs_ocaml_walk_recorded(struct hs_root_walk *walk);

/* Tells whether a value leads to a block that the recorder gave the runtime: its callbacks. */
bool hs_ocaml_is_recorders(const struct hs_ocaml *rt, uint64_t value);

#endif
