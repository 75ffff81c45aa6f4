#include "record_core.h"

#include "record_config.h"
#include "record_draw.h"
#include "record_ocaml.h"
#include "record_python.h"
#include "record_trace.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* A program without a loader allocates while the C library is not ready for us. */
#ifdef HS_RECORD_WRAP
#define STARTS_EARLY false
#else
#define STARTS_EARLY true
#endif

#define PUT_ASIDE 256U /* frees that signal handlers left to be entered */

enum state { STATE_NEW, STATE_STARTING, STATE_RECORDING, STATE_NEVER };

__thread struct hs_record_thread hs_record_thread;

__attribute__((visibility("default"))) struct hs_record_anchor heapsnap_record_anchor = {
    .version = HS_RECORD_VERSION, .bytes = sizeof heapsnap_record_anchor};

/* A note like that of heapsnap/register.h, with a type of its own. */
__asm__(".pushsection .note.heapsnap,\"a\",%note\n"
        ".balign 4\n"
        ".long 9, 16, 2\n"
        ".asciz \"heapsnap\"\n"
        ".balign 4\n"
        ".long 1, 0\n"
        ".hidden hs_record_anchor_\n"
        ".set hs_record_anchor_, heapsnap_record_anchor\n"
        ".quad hs_record_anchor_ - .\n"
        ".popsection\n");

static struct {
    uint32_t state; /* enum state */
    uint32_t lock;  /* 0: free, 1: held, 2: held and waited for */
    uint32_t n_threads;
    struct hs_record_config config;
    struct hs_record_chance chance;
    struct hs_record_table table;
    struct hs_record_trace trace;
    uint64_t seed;
    int64_t clock_us; /* from the monotonic clock to 1970 */
    uint64_t n_full;  /* samples that the table had no room for, and those of busy threads */
    uint32_t n_aside;
    uint64_t aside[PUT_ASIDE];
    struct utsname host;
} recorder;

/* The lock */

static void wait_for_lock(void)
{
    while (__atomic_exchange_n(&recorder.lock, 2, __ATOMIC_ACQUIRE) != 0)
        (void)syscall(SYS_futex, &recorder.lock, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void lock(void)
{
    uint32_t none = 0;

    if (!__atomic_compare_exchange_n(&recorder.lock, &none, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        wait_for_lock();
}

static void unlock(void)
{
    if (__atomic_exchange_n(&recorder.lock, 0, __ATOMIC_RELEASE) == 2)
        (void)syscall(SYS_futex, &recorder.lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Reads a clock in microseconds: the time of day at the start, and from then on one that never goes
 * back. */
static uint64_t clock_us(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_us(void)
{
    return clock_us(CLOCK_MONOTONIC) + (uint64_t)recorder.clock_us;
}

static enum state state_now(void)
{
    return (enum state)__atomic_load_n(&recorder.state, __ATOMIC_ACQUIRE);
}

static void publish_losses(void)
{
    heapsnap_record_anchor.n_lost =
        __atomic_load_n(&recorder.n_full, __ATOMIC_RELAXED) + recorder.trace.n_lost;
}

static void lose(void)
{
    (void)__atomic_add_fetch(&recorder.n_full, 1, __ATOMIC_RELAXED);
}

/* Enters a freed sample; called under the lock. */
static void enter_free(const struct hs_record_slot *slot)
{
    hs_record_trace_free(&recorder.trace, slot->id, now_us());
}

static void enter_put_aside(void)
{
    struct hs_record_slot slot;

    for (unsigned i = 0; i < PUT_ASIDE; i++) {
        uint64_t address = __atomic_exchange_n(&recorder.aside[i], 0, __ATOMIC_ACQ_REL);

        if (address == 0)
            continue;
        (void)__atomic_sub_fetch(&recorder.n_aside, 1, __ATOMIC_RELAXED);
        if (hs_record_table_take(&recorder.table, address, &slot))
            enter_free(&slot);
    }
}

static bool enter(void)
{
    if (state_now() != STATE_RECORDING || hs_record_thread.is_busy != 0)
        return false;
    hs_record_thread.is_busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    lock();
    if (__atomic_load_n(&recorder.n_aside, __ATOMIC_RELAXED) != 0)
        enter_put_aside();
    return true;
}

static void leave(void)
{
    publish_losses();
    unlock();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hs_record_thread.is_busy = 0;
}

static bool add_sample(const struct hs_record_slot *sample, const uint64_t *frames,
                       unsigned n_frames)
{
    struct hs_record_slot slot = *sample, old;
    uint64_t now = now_us();

    /* Its end was not seen: a handler had no place to put it, or another allocator gave it back. */
    if (!hs_record_is_key(slot.address) && hs_record_maybe((const void *)(uintptr_t)slot.address) &&
        hs_record_table_take(&recorder.table, slot.address, &old))
        hs_record_trace_free(&recorder.trace, old.id, now);
    slot.id = recorder.trace.next_id;
    slot.stack = hs_record_table_stack(&recorder.table, frames, n_frames);
    if (!hs_record_table_put(&recorder.table, &slot)) {
        lose();
        return false;
    }
    heapsnap_record_anchor.n_samples++;
    hs_record_trace_alloc(&recorder.trace, &slot, frames, n_frames, now);
    return true;
}

/* The start */

static void begin_output(void)
{
    const struct hs_record_config *config = &recorder.config;
    struct hs_record_trace *trace = &recorder.trace;
    bool is_open = false;

    trace->output.fd = -1;
    trace->holder = (struct hs_record_holder){NULL, NULL};
    trace->is_wanted = config->file != NULL || config->fd >= 0;
    if (config->fd >= 0)
        is_open = hs_record_output_socket(&trace->output, config->fd);
    if (is_open && config->holds)
        hs_record_held_open(&trace->holder, trace->output.fd);
    if (!is_open && config->file != NULL)
        is_open = hs_record_output_file(&trace->output, config->file, (long)trace->pid);
    (void)memcpy(heapsnap_record_anchor.trace_path, trace->output.path, HS_RECORD_PATH_BYTES);
    if (!is_open)
        heapsnap_record_anchor.trace_path[0] = '\0';
}

static bool begin(void)
{
    struct hs_record_anchor *anchor = &heapsnap_record_anchor;
    struct hs_record_trace *trace = &recorder.trace;
    struct hs_record_info info = {.parameters = "", .context = "heapsnap record"};

    trace->pid = (uint64_t)syscall(SYS_getpid);
    if (!hs_record_table_init(&recorder.table, anchor) || !hs_record_places_init(&trace->places))
        return false;
    hs_record_script_forget();
    hs_record_ocaml_forget();
    trace->stacks = anchor->stacks;
    recorder.clock_us = (int64_t)(clock_us(CLOCK_REALTIME) - clock_us(CLOCK_MONOTONIC));
    anchor->begun_us = now_us();
    anchor->period_bytes = recorder.config.period_bytes;
    anchor->pid = (uint32_t)trace->pid;
    anchor->n_samples = 0;
    recorder.n_full = 0;
    begin_output();
    (void)uname(&recorder.host);
    info.samples_per_word = 8 / (double)recorder.config.period_bytes;
    info.executable = trace->places.called;
    info.host = recorder.host.nodename;
    if (trace->is_wanted)
        hs_record_trace_begin(trace, &info, anchor->begun_us);
    publish_losses();
    __atomic_store_n(&anchor->is_enabled, recorder.config.is_on, __ATOMIC_RELEASE);
    __atomic_store_n(&anchor->magic, HS_RECORD_MAGIC, __ATOMIC_RELEASE);
    return true;
}

/* Starts as soon as there is an environment; not for programs that run with more rights than their
 * caller, whose environment is not to be trusted. */
static void start(void)
{
    uint32_t from = STATE_NEW;
    const void *chance = (const void *)(uintptr_t)getauxval(AT_RANDOM);
    int error = errno;
    bool is_begun;

    if (environ == NULL || !__atomic_compare_exchange_n(&recorder.state, &from, STATE_STARTING,
                                                        false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    hs_record_thread.is_busy = 1;
    is_begun = getauxval(AT_SECURE) == 0;
    if (is_begun) {
        hs_record_config_read(&recorder.config);
        hs_record_chance_init(&recorder.chance, recorder.config.period_bytes);
        if (chance != NULL)
            memcpy(&recorder.seed, chance, sizeof recorder.seed);
        recorder.seed ^= clock_us(CLOCK_REALTIME);
        if (recorder.config.seed != 0)
            recorder.seed = recorder.config.seed;
        is_begun = begin();
    }
    hs_record_thread.is_busy = 0;
    __atomic_store_n(&recorder.state, is_begun ? STATE_RECORDING : STATE_NEVER, __ATOMIC_RELEASE);
    errno = error;
}

/* Sampling */

uint32_t hs_record_decide(size_t n_bytes)
{
    struct hs_record_thread *thread = &hs_record_thread;
    uint32_t n_samples;

    if (state_now() == STATE_NEW && STARTS_EARLY)
        start();
    if (state_now() != STATE_RECORDING) {
        thread->left = state_now() == STATE_NEVER ? UINT64_MAX : 0;
        return 0;
    }
    if (thread->random == 0) {
        uint32_t number = __atomic_add_fetch(&recorder.n_threads, 1, __ATOMIC_RELAXED);

        thread->random = hs_record_seed(recorder.seed + number * UINT64_C(0x632be59bd9b4e019));
        thread->left = hs_record_gap(&recorder.chance, &thread->random);
        if (n_bytes < thread->left) {
            thread->left -= n_bytes;
            return 0;
        }
    }
    if (thread->left == 0)
        thread->left = 1;
    n_samples = hs_record_draw(&recorder.chance, &thread->random, n_bytes, &thread->left);
    if (__atomic_load_n(&heapsnap_record_anchor.is_enabled, __ATOMIC_RELAXED) == 0)
        return 0;
    if (thread->is_busy != 0) {
        lose();
        return 0;
    }
    return n_samples;
}

void hs_record_allocated(const void *block, size_t n_bytes, uint32_t n_samples,
                         const struct hs_record_frame *frame)
{
    struct hs_record_thread *thread = &hs_record_thread;
    struct hs_record_slot sample = {
        .address = (uint64_t)(uintptr_t)block, .bytes = n_bytes, .n_samples = n_samples};
    struct hs_record_backtrace backtrace;
    bool runs_python = false;
    int error = errno;

    if (thread->is_busy != 0)
        return;
    thread->is_busy = 1;
    hs_record_backtrace(frame, recorder.config.stacks, &thread->range, &backtrace);
    hs_record_python_cut(&backtrace);
    thread->is_busy = 0;
    if (enter()) {
        if (hs_record_python.thread != NULL && backtrace.n != 0)
            runs_python = hs_record_python_mix(&recorder.table, &backtrace);
        (void)add_sample(&sample, backtrace.frames, backtrace.n);
        leave();
    }
    if (runs_python && hs_record_python.after_sample != NULL)
        hs_record_python.after_sample();
    errno = error;
}

/* A handler that came into our own code on its thread cannot wait for the lock. */
static void put_aside(uint64_t address)
{
    for (unsigned i = 0; i < PUT_ASIDE; i++) {
        uint64_t none = 0;

        if (__atomic_compare_exchange_n(&recorder.aside[i], &none, address, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            (void)__atomic_add_fetch(&recorder.n_aside, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    lose();
}

bool hs_record_take_out(const void *block, struct hs_record_slot *ret)
{
    int error = errno;
    bool is_sample = false;

    if (enter()) {
        is_sample = hs_record_table_take(&recorder.table, (uint64_t)(uintptr_t)block, ret);
        leave();
    } else if (state_now() == STATE_RECORDING) {
        put_aside((uint64_t)(uintptr_t)block);
    }
    errno = error;
    return is_sample;
}

void hs_record_put_back(const struct hs_record_slot *slot)
{
    int error = errno;

    if (enter()) {
        if (!hs_record_table_put(&recorder.table, slot))
            lose();
        leave();
    }
    errno = error;
}

void hs_record_gone(const struct hs_record_slot *slot)
{
    int error = errno;

    if (enter()) {
        enter_free(slot);
        leave();
    }
    errno = error;
}

void hs_record_freed(const void *block)
{
    struct hs_record_slot slot;
    int error = errno;

    if (enter()) {
        if (hs_record_table_take(&recorder.table, (uint64_t)(uintptr_t)block, &slot))
            enter_free(&slot);
        leave();
    } else if (state_now() == STATE_RECORDING) {
        put_aside((uint64_t)(uintptr_t)block);
    }
    errno = error;
}

void hs_record_unloaded(void)
{
    if (enter()) {
        hs_record_trace_unloaded(&recorder.trace);
        hs_record_unwind_forget();
        hs_record_ocaml_forget();
        leave();
    }
}

/* Blocks that move */

/* Numbers of a process that this one was forked from are of another generation. */
static uint64_t number_of(uint64_t id)
{
    uint16_t generation = (uint16_t)heapsnap_record_anchor.ocaml_generation;

    return (uint64_t)generation << HS_RECORD_GENERATION_SHIFT | id;
}

static bool take_moving(uint64_t number, struct hs_record_slot *ret)
{
    for (unsigned source = HS_RECORD_MINOR; source <= HS_RECORD_OUTSIDE; source++) {
        if (hs_record_table_take(&recorder.table, hs_record_key(number, source), ret))
            return true;
    }
    return false;
}

/* At periods of less than a word every word is drawn, and stands for several samples. */
static uint64_t samples_of(uint64_t n_drawn)
{
    uint64_t period = recorder.config.period_bytes;
    uint64_t n = period >= sizeof(uint64_t) ? n_drawn : n_drawn * sizeof(uint64_t) / period;

    return n > UINT32_MAX ? UINT32_MAX : n;
}

bool hs_record_ocaml_allocated(const struct hs_record_ocaml_sample *sample, uint64_t *ret_number)
{
    uint64_t frames[HS_RECORD_FRAMES_MAX];
    struct hs_record_slot slot = {.bytes = sizeof(uint64_t) * sample->n_words,
                                  .n_samples = (uint32_t)samples_of(sample->n_samples)};
    unsigned n_frames = 0;
    bool is_entered = false;
    int error = errno;

    if (__atomic_load_n(&heapsnap_record_anchor.is_enabled, __ATOMIC_RELAXED) == 0)
        return false;
    if (!enter()) {
        lose();
        return false;
    }
    *ret_number = number_of(recorder.trace.next_id);
    slot.address = hs_record_key(*ret_number, sample->source);
    if (recorder.trace.next_id >> HS_RECORD_GENERATION_SHIFT == 0) {
        if (recorder.config.stacks != HS_RECORD_STACKS_NONE)
            n_frames = hs_record_ocaml_frames(&recorder.table, sample, frames);
        is_entered = add_sample(&slot, frames, n_frames);
    }
    leave();
    errno = error;
    return is_entered;
}

bool hs_record_ocaml_promoted(uint64_t number)
{
    struct hs_record_slot slot;
    bool is_known = false;
    int error = errno;

    if (!enter())
        return false;
    is_known = take_moving(number, &slot);
    if (is_known) {
        hs_record_trace_promote(&recorder.trace, slot.id, now_us());
        is_known = hs_record_table_put(&recorder.table, &slot);
    }
    leave();
    errno = error;
    return is_known;
}

void hs_record_ocaml_freed(uint64_t number)
{
    struct hs_record_slot slot;
    int error = errno;

    if (!enter())
        return;
    if (take_moving(number, &slot))
        enter_free(&slot);
    leave();
    errno = error;
}

bool hs_record_ocaml_may_begin(bool *ret_is_wanted)
{
    *ret_is_wanted = recorder.config.with_ocaml;
    return state_now() == STATE_RECORDING;
}

void hs_record_ocaml_became(enum hs_record_ocaml what)
{
    int error = errno;

    if (!enter())
        return;
    heapsnap_record_anchor.ocaml = what;
    if (what != HS_RECORD_OCAML_SAMPLES)
        hs_record_table_forget_moving(&recorder.table);
    hs_record_held_tell(&recorder.trace.holder, what);
    leave();
    errno = error;
}

/* Switches */

bool hs_record_flush(void)
{
    bool is_written = false;
    int error = errno;

    if (enter()) {
        is_written = hs_record_trace_flush(&recorder.trace, now_us());
        leave();
    }
    errno = error;
    return is_written;
}

bool hs_record_switch(bool is_on)
{
    if (state_now() == STATE_NEW)
        start();
    if (state_now() != STATE_RECORDING)
        return false;
    __atomic_store_n(&heapsnap_record_anchor.is_enabled, is_on, __ATOMIC_RELEASE);
    return true;
}

bool hs_record_is_on(void)
{
    return state_now() == STATE_RECORDING &&
           __atomic_load_n(&heapsnap_record_anchor.is_enabled, __ATOMIC_ACQUIRE) != 0;
}

static void toggle(int number)
{
    (void)number;
    (void)__atomic_xor_fetch(&heapsnap_record_anchor.is_enabled, 1, __ATOMIC_ACQ_REL);
}

/* Processes */

static __thread bool has_locked __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    if (enter())
        has_locked = true;
}

static void after_fork_in_parent(void)
{
    if (has_locked) {
        has_locked = false;
        leave();
    }
}

static void after_fork_in_child(void)
{
    bool is_recording = state_now() == STATE_RECORDING && recorder.config.with_children;

    recorder.lock = 0;
    if (has_locked) {
        has_locked = false;
        hs_record_thread.is_busy = 0;
    }
    if (state_now() != STATE_RECORDING)
        return;
    hs_record_held_close(&recorder.trace.holder); /* it is the parent's */
    if (!recorder.trace.output.is_socket || !is_recording)
        hs_record_output_close(&recorder.trace.output);
    recorder.state = STATE_NEVER;
    heapsnap_record_anchor.is_enabled = 0;
    if (!is_recording || hs_record_thread.is_busy != 0)
        return;
    /* Blocks of the parent's are not samples of ours. */
    __atomic_store_n(&heapsnap_record_anchor.magic, 0, __ATOMIC_RELEASE);
    hs_record_table_fini(&recorder.table);
    hs_record_places_fini(&recorder.trace.places);
    memset(recorder.aside, 0, sizeof recorder.aside);
    recorder.n_aside = 0;
    heapsnap_record_anchor.ocaml_generation++;
    recorder.seed = hs_record_seed(recorder.seed ^ (uint64_t)syscall(SYS_getpid));
    hs_record_thread.random = hs_record_thread.left = 0;
    if (begin()) {
        recorder.state = STATE_RECORDING;
        hs_record_held_tell(&recorder.trace.holder, heapsnap_record_anchor.ocaml);
    }
}

__attribute__((constructor)) static void set_up(void)
{
    struct sigaction action = {.sa_handler = toggle, .sa_flags = SA_RESTART};

    start();
    if (state_now() != STATE_RECORDING)
        return;
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (recorder.config.signal != 0)
        (void)sigaction(recorder.config.signal, &action, NULL);
}

__attribute__((destructor)) static void tear_down(void)
{
    (void)hs_record_flush();
}
