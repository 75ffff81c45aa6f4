/* The frames of one stack, innermost first, on the copy.
 *
 *   high ->  | return address | saved registers | locals, temporaries | <- low, of the same frame
 *
 * By frame tables; where they end (code made at run time, hand-written code, a damaged stack) by
 * the frame pointer; where that leads nowhere, by the first word above that looks like a return
 * address. Each step rises, so that any stack ends. */
#ifndef HS_NATIVE_FRAMES_H
#define HS_NATIVE_FRAMES_H

#include "native.h"

enum hs_frame_method { HS_FRAME_BY_TABLES, HS_FRAME_BY_POINTER, HS_FRAME_BY_GUESS };

struct hs_frames {
    struct hs_native *native; /* borrowed: frame tables are opened at need */
    struct hs_stack_extent extent;
    bool has_extent;
    /* The frame at hand. */
    uint32_t number;        /* from 1 */
    struct hs_registers r;  /* pc and sp known */
    bool is_return_address; /* pc is where a call will return; else it stands at pc */
    hs_addr low, high;      /* its words in the thread's own stack; equal when there are none */
    struct hs_frame step;   /* cfa, the caller, where registers were saved */
    uint8_t method;         /* how `step` was found */
    /* After the last one. */
    hs_addr end;         /* what lies in [end, extent.end) belongs to no frame */
    bool is_whole;       /* the tables said that nothing called the last frame */
    uint32_t n_switches; /* private */
    bool was_inside;     /* private: some frame had words in the own stack */
};

/* Stands before the first frame of a thread's stack. */
void hs_frames_begin(struct hs_native *native, const struct hs_thread *thread,
                     struct hs_frames *ret);
/* Goes on to the next frame; false behind the last one. About a microsecond. */
bool hs_frames_next(struct hs_frames *frames);
/* Counts the frames that follow the one at hand. */
uint32_t hs_frames_left(const struct hs_frames *frames);

#endif
