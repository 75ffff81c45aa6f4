/* The name of a frame, and the variables that live in it. */
#ifndef HS_NATIVE_FRAMES_LABEL_H
#define HS_NATIVE_FRAMES_LABEL_H

#include "frames.h"

struct hs_native_frame_label {
    hs_str unit; /* "#3 processCommand (server.c:4021)": the group of its slots */
    hs_str module, function, file;
    uint32_t line, number;
    uint8_t tier;    /* of its variables: see hs_native_is_interpreters */
    bool has_locals; /* `locals` are those of this frame */
    uint8_t n_outer; /* functions of the frame, inlined ones behind the real one, that are main or
                        called by main */
    bool is_c;       /* what it is written in */
    bool is_main;
};

/* Names the frame at hand. With `locals` NULL, or without debug information, by symbol alone.
 * Fails with HS_LIMIT. */
hs_status hs_native_label_frame(const struct hs_frames *frames, struct hs_locals *locals,
                                struct hs_native_frame_label *ret, struct hs_error *err);

#endif
