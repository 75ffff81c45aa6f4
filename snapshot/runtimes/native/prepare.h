/* The preparation of the loaded objects: private to runtime.c. */
#ifndef HS_NATIVE_PREPARE_H
#define HS_NATIVE_PREPARE_H

#include "native.h"

/* Makes native->of_object and, unless names are not wanted, an empty native->ctypes. When the list
 * of objects is final. */
hs_status hs_native_prepare_objects(struct hs_native *native, struct hs_error *err);
/* Adds the debug information of the objects to native->ctypes, as far as memory has room for it
 * beside the tables of blocks: once these are reserved. */
hs_status hs_native_prepare_types(struct hs_native *native, struct hs_error *err);
void hs_native_forget_objects(struct hs_native *native);

#endif
