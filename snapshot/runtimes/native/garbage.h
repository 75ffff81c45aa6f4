/* The unreached objects that Python's collector will free, and those that nobody will.
 *
 * An object whose count of references is higher than the number of words in unreached blocks that
 * refer to it has an owner that gave up its reference without saying so: the collector leaves it
 * and all that it leads to alone for ever. The others are garbage that it has yet to find. It finds
 * them the same way (`subtract_refs` and `move_unreachable` of CPython's gcmodule.c), among what
 * was made since it last looked.
 *
 * It does not look into objects of types without tp_traverse, numpy's arrays of objects among them:
 * what these refer to has references that it does not see. Where that leads back to them, nobody
 * frees any of it. */
#ifndef HS_NATIVE_GARBAGE_H
#define HS_NATIVE_GARBAGE_H

#include "scan.h"

/* Marks what hangs on objects that nobody will free in scan->leaked, then what hangs on the others
 * as unsure. To be called between begin and end of a scan, when all that roots reach is marked;
 * nothing to do without Python's objects. Where there is no memory to count references, all are
 * taken for garbage. Linear in the words of unreached blocks. Resident: a bit for each block, and
 * meanwhile a byte, backed as far as they are set. */
hs_status hs_garbage_mark(struct hs_scan *scan, struct hs_error *err);

#endif
