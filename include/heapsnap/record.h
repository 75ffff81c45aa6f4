/* Switch the recording of allocations on and off from inside the program:
 *
 *   #include <heapsnap/record.h>
 *
 *   heapsnap_record_start();
 *   ... what is to be looked at ...
 *   heapsnap_record_stop();
 *
 * Works when the recorder is there: linked (pkg-config heapsnap-record) or preloaded (by
 * `heapsnap record`, or LD_PRELOAD=libheapsnap-record.so). Where it is not, these functions do
 * nothing and say 0: a program that includes this header runs without it just as well.
 *
 * A recorder that is switched off takes no samples, but still follows those that it has until they
 * are freed. All functions may be called by any thread at any time; start, stop and is_on by signal
 * handlers too. C (from C99 with GNU extensions) and C++; gcc and clang. What is recorded, where it
 * goes and what it costs: docs/recording.md. */
#ifndef HEAPSNAP_RECORD_H
#define HEAPSNAP_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) extern int heapsnap_record_switch_v1(int is_on);
__attribute__((weak)) extern int heapsnap_record_is_on_v1(void);
__attribute__((weak)) extern int heapsnap_record_flush_v1(void);

/* Starts sampling. 1: samples are taken from now on. 0: there is no recorder here. */
static inline int heapsnap_record_start(void)
{
    return heapsnap_record_switch_v1 ? heapsnap_record_switch_v1(1) : 0;
}

/* Stops sampling. 0: there is no recorder here. */
static inline int heapsnap_record_stop(void)
{
    return heapsnap_record_switch_v1 ? heapsnap_record_switch_v1(0) : 0;
}

/* Returns 1 while samples are being taken. */
static inline int heapsnap_record_is_on(void)
{
    return heapsnap_record_is_on_v1 ? heapsnap_record_is_on_v1() : 0;
}

/* Writes what is held back of the trace. 1: all of it is written; 0: some is lost, or there is no
 * recorder here. */
static inline int heapsnap_record_flush(void)
{
    return heapsnap_record_flush_v1 ? heapsnap_record_flush_v1() : 0;
}

#ifdef __cplusplus
}
#endif

#endif
