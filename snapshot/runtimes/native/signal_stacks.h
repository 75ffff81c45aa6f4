/* Alternate signal stacks, whose addresses the kernel tells nobody: large blocks that no root
 * reaches may be some, so they and what hangs on them are unsure. */
#ifndef HS_NATIVE_SIGNAL_STACKS_H
#define HS_NATIVE_SIGNAL_STACKS_H

#include "scan.h"

/* Marks blocks that may be such stacks as unsure. Each thread has one at most: more blocks of one
 * size are none of them, or not all. Sizes that share a number by chance are taken for one. To be
 * called between begin and end of a scan; nothing to do in a program that does not call
 * sigaltstack. Two walks over all blocks, 256 KiB meanwhile. */
hs_status hs_signal_stacks_mark(struct hs_scan *scan, struct hs_error *err);

#endif
