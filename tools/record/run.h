/* One recording: the program, the socket that its library sends packets to, and where they go. */
#ifndef HS_RECORD_RUN_H
#define HS_RECORD_RUN_H

#include <signal.h>
#include <sys/types.h>

#include "files.h"
#include "held.h"
#include "packet_queue.h"
#include "sender.h"
#include "translate.h"

struct hs_recording {
    /* The settings of the run; borrowed. */
    char **command;                /* argv of the program */
    const char *program, *library; /* paths */
    const char *output;            /* NULL: heapsnap.PID.trace; unused without keeps_file */
    const struct hs_out_access *access;
    const sigset_t *ignored;            /* signals that the program ignores from the start */
    uint64_t rate_bytes;                /* 0: the library's own */
    const char *stacks, *start, *ocaml; /* NULL: the library's own */
    bool with_children;
    bool keeps_file;          /* false later: it cannot be written */
    struct hs_sender *sender; /* or NULL */
    struct hs_namer *namer;
    /* The outcome of the run. */
    pid_t pid;
    int exit_code, exit_signal; /* of the program */
    uint64_t n_damaged, n_foreign;
    bool has_heard; /* anything of the library */
    bool is_failed; /* a trace is not whole, and that was said */
    struct hs_record_files files;
    struct hs_translator translator;
    /* The inside. */
    struct hs_record_file first; /* opened before the program begins */
    struct hs_packet_queue queue;
    struct hs_held_list held; /* what the processes have not sent */
    int socket, pid_fd;
    bool has_ended; /* the program */
};

/* Starts the program and stays until it has ended. Fails only when the program cannot be run;
 * whatever goes wrong with the trace is said, and is_failed. When the system has no process or no
 * descriptors for a recording this process becomes the program. */
hs_status hs_recording_run(struct hs_recording *recording, struct hs_error *err);
void hs_recording_fini(struct hs_recording *recording);

/* Starts the program, stopped before its first instruction, and its end of the socket closed here.
 * *ret_go: write a byte to let it run, close it to have it end. */
hs_status hs_recording_start(struct hs_recording *recording, int *ret_go, int *ret_trouble,
                             struct hs_error *err);

#endif
