/* A process beside ours that says why ours was ended: who gets SIGKILL says nothing. It stands in a
 * session of its own, takes no signal of a terminal, holds none of our files but standard error,
 * and ends when we do. It knows us by a pidfd: never another process.
 *
 * Where the kernel gives us no timer it also ends us. It is started while we are small, takes a
 * fork (0.3 ms), and wakes 20 times a second, more often where a limit is short. */
#ifndef HS_LIVE_WITNESS_H
#define HS_LIVE_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HS_WITNESS_TEXT_BYTES 400

/* Once per process, as long as it lives; no failure: it is then missing. */
void hs_witness_start(void (*say)(const char *text, size_t n_bytes));
/* Ends the witness and collects it. */
void hs_witness_end(void);
/* Sets what the witness says when we are ended while process `held` is held. */
void hs_witness_words(pid_t held, const char *text);
/* Sets how long the witness may sleep between two looks, in ns: 50 ms at most, and where it is 0.
 * Until it is set it looks often. */
void hs_witness_look_each(uint64_t ns);
/* Tells the witness when we are to be ended, by hs_now_ns(); 0: nothing is held. Where a timer does
 * that the witness comes a little after it. */
void hs_witness_tell(uint64_t kill_at_ns, bool has_timer);
/* Until told otherwise: it is seized, and runs; we are ended when we are stopped for so long. */
void hs_witness_seized(uint64_t most_ns);
/* Until told otherwise: it is held so long after a SIGCONT, and we do not run. */
void hs_witness_attend(uint64_t hold_ns);
/* The last look before the SIGCONT was seen; 0: it was not. */
uint64_t hs_witness_continued_at(void);
/* A copy of it lives, and we are stopped: it ends with us when so little memory is left to the
 * process. 0: there is none. */
void hs_witness_guard_room(uint64_t room_bytes);

#endif
