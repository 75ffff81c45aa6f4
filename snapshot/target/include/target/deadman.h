/* The words with which a dump is ended that holds its process for too long. In nearly all cases it
 * ends by itself (HS_LIMIT). Where it cannot, because a step of it hangs or because somebody has
 * stopped or frozen the dumping process, two timers end that process, and the kernel then lets the
 * target go on. docs/decisions/023-a-bound-that-binds.md */
#ifndef HS_TARGET_DEADMAN_H
#define HS_TARGET_DEADMAN_H

#include <stddef.h>

struct hs_deadman_voice {
    /* Says a message, and a hint after a newline. Called in a signal handler, and in a process of
     * its own whose standard error alone is open: async-signal-safe. */
    void (*say)(const char *text, size_t n_bytes);
    int exit_code; /* after it was said in the handler; the other end is SIGKILL */
};

/* Before the first hs_target_open. Without a voice the first timer's end is SIGALRM, and both are
 * silent. */
void hs_deadman_speak(const struct hs_deadman_voice *voice);

#endif
