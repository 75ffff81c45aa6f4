/* What is known of the loaded objects: private to dump.c. */
#ifndef HS_NATIVE_PREPARE_H
#define HS_NATIVE_PREPARE_H

#include "native.h"

/* Looks for the separate debug file of every object that was not asked about yet: in the
 * directories of the options and /usr/lib/debug, as the target sees it and as we do. One that is
 * there and cannot be used is told in native->debug_notes. Before the stop, and again for what was
 * loaded since. Nothing with --no-names. Fails with HS_LIMIT. */
hs_status hs_native_find_debug(struct hs_native *native, struct hs_error *err);
/* Makes native->of_object and, unless names are not wanted, native->ctypes. When the list of
 * objects is final. */
hs_status hs_native_prepare_objects(struct hs_native *native, struct hs_error *err);

#endif
