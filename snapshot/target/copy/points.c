/* The places where tests end us. */
#include <stddef.h>

#include "copy_private.h"

void (*hs_copy_point)(int point);
enum hs_copy_variant hs_copy_force;

void hs_copy_pass(enum hs_copy_point point)
{
    if (hs_copy_point != NULL)
        hs_copy_point((int)point);
}

void hs_copy_pass_seized(void)
{
    hs_copy_pass(HS_COPY_AT_SEIZED);
}

void hs_copy_pass_standing(void)
{
    hs_copy_pass(HS_COPY_AT_STANDING);
}

const char *hs_copy_point_name(int point)
{
    static const char *const names[HS_COPY_POINTS_END] = {
        [HS_COPY_AT_STOPPED] = "stopped",   [HS_COPY_AT_SAVED] = "saved",
        [HS_COPY_AT_FRAME] = "frame",       [HS_COPY_AT_ARMED] = "armed",
        [HS_COPY_AT_MASKED] = "masked",     [HS_COPY_AT_ASKED] = "asked",
        [HS_COPY_AT_BORN] = "born",         [HS_COPY_AT_BOUND] = "bound",
        [HS_COPY_AT_RETURNED] = "returned", [HS_COPY_AT_COPIED] = "copied",
        [HS_COPY_AT_ENDED] = "ended",       [HS_COPY_AT_REAPED] = "reaped",
        [HS_COPY_AT_UNMASKED] = "unmasked", [HS_COPY_AT_RESTORED] = "restored",
        [HS_COPY_AT_WHOLE] = "whole",       [HS_COPY_AT_LET_GO] = "let_go",
        [HS_COPY_AT_READ] = "read",         [HS_COPY_AT_GONE] = "gone",
        [HS_COPY_AT_SECOND] = "second",     [HS_COPY_AT_COLLECTED] = "collected",
        [HS_COPY_AT_STANDING] = "standing", [HS_COPY_AT_SEIZED] = "seized",
    };
    return point > 0 && point < HS_COPY_POINTS_END ? names[point] : NULL;
}
