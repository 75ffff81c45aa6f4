/* The loop of the browser: waits for a key, has the model do what it says, draws. */
#ifndef HS_BROWSE_KEYS_H
#define HS_BROWSE_KEYS_H

#include "model.h"

/* Runs the browser until q, a signal or the end of the terminal. The screen is open. Failures of
 * single questions are said on the screen; what is left is of the snapshot itself. HS_LIMIT when a
 * signal ends it, HS_IO when the terminal is gone. */
hs_status hs_browse_run(struct hs_browse *browse, struct hs_error *err);

#endif
