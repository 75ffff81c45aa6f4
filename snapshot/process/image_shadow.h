/* The parts of an image that stand for reserved memory of the target. */
#ifndef HS_PROCESS_IMAGE_SHADOW_H
#define HS_PROCESS_IMAGE_SHADOW_H

#include "process/image.h"

/* Reserves bytes and bits for [shadow->begin, shadow->end); on failure *shadow is as it was. */
hs_status hs_image_shadow_reserve(struct hs_paged *paged, struct hs_image_shadow *shadow,
                                  struct hs_error *err);
void hs_image_shadow_fini(const struct hs_paged *paged, const struct hs_image_shadow *shadow);

/* Marks every page as absent; the bytes stay. */
void hs_image_shadow_forget(const struct hs_image_shadow *shadow);

/* Marks the pages of [begin, end), which lies in the shadow, as present. */
void hs_image_shadow_set_present(const struct hs_image_shadow *shadow, hs_addr begin, hs_addr end);

/* Returns the bytes of the present pages in [begin, end), which lies in the shadow. */
uint64_t hs_image_shadow_present_bytes(const struct hs_image_shadow *shadow, hs_addr begin,
                                       hs_addr end);

/* The first present part of [begin, end), which lies in the shadow; false: none. */
bool hs_image_shadow_present_part(const struct hs_image_shadow *shadow, hs_addr begin, hs_addr end,
                                  hs_addr *ret_begin, hs_addr *ret_end);

#endif
