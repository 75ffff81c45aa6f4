/* The state of a thread for live/stop.c and live/let_go.c: hs_thread.state. */
#ifndef HS_THREAD_STATE_H
#define HS_THREAD_STATE_H

enum thread_state {
    THREAD_LISTED,
    THREAD_SEIZED,
    THREAD_INTERRUPTED,
    THREAD_STOPPED,
    THREAD_DYING,
    THREAD_GONE
};

#endif
