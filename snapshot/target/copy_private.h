/* What the parts of a frozen copy share: freeze.c, copy_*.c. See target/freeze.h and
 * docs/decisions/012-a-frozen-copy.md. */
#ifndef HS_COPY_PRIVATE_H
#define HS_COPY_PRIVATE_H

#include "target/freeze.h"
#include "target_private.h"

/* ---- the fixed points of an injection, in the order in which they are passed */
enum hs_copy_point {
    HS_COPY_AT_STOPPED = 1, /* all threads stopped, nothing touched */
    HS_COPY_AT_SAVED,       /* areas that a copy lacks are read */
    HS_COPY_AT_FRAME,       /* the frame stands in the stack, options of T are set */
    HS_COPY_AT_ARMED,       /* T would return by the frame */
    HS_COPY_AT_MASKED,      /* no signal reaches T */
    HS_COPY_AT_ASKED,       /* T has made its first call (is it a subreaper?) */
    HS_COPY_AT_BORN,        /* M was born (direct: C); T is inside of clone */
    HS_COPY_AT_BOUND,       /* M ends with us (direct: C) */
    HS_COPY_AT_RETURNED,    /* T is back from clone */
    HS_COPY_AT_COPIED,      /* C was born; M is inside of clone. Not passed in direct mode */
    HS_COPY_AT_ENDED,       /* M was killed. Not passed in direct mode */
    HS_COPY_AT_REAPED,      /* T has waited for M. Not passed in direct mode */
    HS_COPY_AT_UNMASKED,    /* T has its signal mask again */
    HS_COPY_AT_RESTORED,    /* T has its registers again */
    HS_COPY_AT_WHOLE,       /* T came through a stop of its own, the stack is as it was */
    HS_COPY_AT_LET_GO,      /* all threads run; C lives */
    HS_COPY_AT_READ,        /* in resume: about to end C */
    HS_COPY_AT_GONE,        /* C was killed. Direct: it still waits for its second stop */
    HS_COPY_AT_SECOND,      /* direct only: T is armed for the second time, to wait for C */
    HS_COPY_AT_COLLECTED,   /* direct only: T has waited for C, not yet restored */
    HS_COPY_POINTS_END
};

/* Called at every point that is passed; NULL but in tests, which end us there or hang. */
extern void (*hs_copy_point)(int point);
/* "armed"; NULL for a number that is no point. */
const char *hs_copy_point_name(int point);
void hs_copy_pass(enum hs_copy_point point);
/* Tests: the variant to be used, whatever the process is. HS_COPY_NONE: none is forced. */
extern enum hs_copy_variant hs_copy_force;

#endif
