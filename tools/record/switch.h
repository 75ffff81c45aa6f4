/* record --switch: one word of a recorded process says whether it samples. */
#ifndef HS_RECORD_SWITCH_H
#define HS_RECORD_SWITCH_H

#include "options.h"

/* Writes that word (heapsnap/recorded.h) into the process; nothing is stopped. HS_TARGET when
 * there is
 * no such process, it does not record, or we may not. */
hs_status hs_record_switch(const struct hs_invocation *inv, struct hs_error *err);

#endif
