/* The recorder's anchor and what it leads to (heapsnap/recorded.h), for those who read it: the
 * walker of its samples, and the runtime whose blocks it follows. All of it is hostile. */
#ifndef HS_HEAPS_RECORDER_H
#define HS_HEAPS_RECORDER_H

#include "base/strtab.h"
#include "process/image.h"
#include "snapshot/model.h"
#include <heapsnap/recorded.h>

struct hs_target;

/* Tells whether the numbers of an anchor are possible. What they lead to is looked at when it is
 * read. */
bool hs_recorder_is_sound(const struct hs_record_anchor *anchor);
/* Tells whether the anchor's pid is the target's, in whatever namespace of processes. */
bool hs_recorder_is_own(const struct hs_target *target, uint32_t pid);
/* Finds the frames of a stack that is whole, borrowed from the image; false for others. */
bool hs_recorder_stack(const struct hs_image *image, const struct hs_record_anchor *anchor,
                       uint32_t stack, const uint8_t **ret_frames, uint32_t *ret_n);
/* Fills in what it says of itself as a sampler of this kind. Control characters become '?'. */
hs_status hs_recorder_facts(const struct hs_record_anchor *anchor, uint8_t kind,
                            struct hs_strtab *strings, struct hs_sampler *ret,
                            struct hs_error *err);

#endif
