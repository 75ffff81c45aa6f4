/* The packets that recorded processes have not sent yet (recorder/held.h): taken from time to time,
 * when a process begins another program, and when it has ended. */
#ifndef HS_RECORD_HELD_H
#define HS_RECORD_HELD_H

#include <sys/types.h>

#include "base/alloc.h"

struct hs_held;

struct hs_held_list {
    /* Is called for each packet that is taken; borrowed. */
    void (*take)(void *context, const uint8_t *bytes, size_t n_bytes);
    void *context;
    struct hs_held *areas; /* owned */
    size_t n_areas, capacity;
    uint64_t looked_ns;
    uint64_t n_torn; /* packets that were being written when their process ended */
    unsigned ocaml;  /* enum hs_record_ocaml: of the last process that had such a runtime */
};

/* Takes over a descriptor that came from a process, which may be anything. `pid` is who sent it:
 * what that one held before ends with the program that it was. Of more than some hundred the oldest
 * goes. */
void hs_held_add(struct hs_held_list *list, int fd, pid_t pid);
/* Takes what is held, unless it is being changed just then: whoever changes it so often sends it
 * before long. Lets go of processes that are gone. Looks every 400 ms at most. */
void hs_held_look(struct hs_held_list *list);
/* Ends the list when everything has ended: takes all and lets go. */
void hs_held_finish(struct hs_held_list *list);

#endif
