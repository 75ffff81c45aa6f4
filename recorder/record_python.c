/* One loop of the interpreter (a frame of C) runs several frames of Python. Which ones it runs is
 * told by something that lies in the stack of the loop itself: in 3.11 the C frame that it is
 * linked by, from 3.12 on a frame without code below those that it runs. So stack pointers say
 * which frame of C they stand for, without a symbol, also where the compiler split the loop in two.
 */
#include "record_python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define AT_TYPE 8
#define OWNER_GENERATOR 1
#define OWNER_C 3
#define OWNER_C_14 4 /* another kind of them, since 3.14 */
#define UNIT_BYTES 2
#define TAGS UINT64_C(3) /* of 3.14, in what a frame refers to */
#define CALLERS_MAX 12U  /* frames of an allocator */
#define LOOKS_MAX                                                                  \
    (1U << 14) /* frames that are passed to find the ends of loops, for one sample \
                */
#define STEPS_MAX (4 * HS_RECORD_FRAMES_MAX) /* frames that are looked at closely */

struct hs_record_python hs_record_python;

const struct hs_python_layout *hs_record_python_layout(unsigned minor)
{
    return minor >= HS_RECORD_PYTHON_FIRST && minor <= HS_RECORD_PYTHON_LAST
               ? hs_python_layout(minor)
               : NULL;
}

#ifndef HS_RECORD_WRAP
/* Finds a symbol: dlsym gives data pointers for functions. */
static bool find(const char *name, void *ret)
{
    return (*(void **)ret = dlsym(RTLD_DEFAULT, name)) != NULL;
}

/* Builds without the lock have other objects. */
void hs_record_python_find(void)
{
    struct hs_record_python *python = &hs_record_python;
    const uint32_t *version = NULL;
    void *(*thread)(void) = NULL;
    void *unlocked = NULL;

    if (!find("Py_Version", &version) || *version >> 24 != 3 ||
        (python->layout = hs_record_python_layout(*version >> 16 & 255)) == NULL ||
        find("_Py_DecRefShared", &unlocked) || !find("PyCode_Type", &python->code_type) ||
        !find("PyUnicode_Type", &python->str_type) || !find("PyBytes_Type", &python->bytes_type))
        return;
    if (find("PyThreadState_GetUnchecked", &thread) || find("_PyThreadState_UncheckedGet", &thread))
        python->thread = thread;
}
#endif

extern const char __start_hs_record_pools[] __attribute__((weak, visibility("hidden")));
extern const char __stop_hs_record_pools[] __attribute__((weak, visibility("hidden")));

void hs_record_python_cut(struct hs_record_backtrace *backtrace)
{
    uint64_t begin = (uintptr_t)__start_hs_record_pools;
    uint64_t n_bytes = (uintptr_t)__stop_hs_record_pools - begin;
    unsigned n_inside = 0;

    for (unsigned i = 0; i < backtrace->n && i < CALLERS_MAX; i++) {
        if (backtrace->frames[i] - begin < n_bytes)
            n_inside = i + 1;
    }
    if (n_inside == 0 || n_inside == backtrace->n)
        return;
    backtrace->n -= n_inside;
    memmove(backtrace->frames, backtrace->frames + n_inside,
            backtrace->n * sizeof *backtrace->frames);
    memmove(backtrace->sp, backtrace->sp + n_inside, backtrace->n * sizeof *backtrace->sp);
}

/* Frames of one loop after the other, the innermost first. */
struct chain {
    const struct hs_python_layout *layout;
    uint64_t frame;  /* the next one; 0: none */
    uint64_t cframe; /* of the loop that runs it */
    unsigned n_looks, n_steps;
};

static uint64_t word_of(uint64_t object, uint16_t offset)
{
    return hs_record_script_word(object + offset);
}

static unsigned byte_of(uint64_t object, uint16_t offset)
{
    const uint8_t *byte = hs_record_script_bytes(object + offset, 1);

    return byte == NULL ? UINT8_MAX : *byte;
}

static void begin_chain(struct chain *chain)
{
    const struct hs_record_python *python = &hs_record_python;
    uint64_t thread = (uint64_t)(uintptr_t)python->thread();

    *chain = (struct chain){.layout = python->layout};
    /* The state is another thread's when this one allocates without the lock. */
    if (thread == 0 || word_of(thread, chain->layout->thread_pthread) != (uint64_t)pthread_self())
        return;
    chain->frame = chain->cframe = word_of(thread, chain->layout->thread_frame);
    if (chain->layout->cframe_frame != HS_PYTHON_NONE)
        chain->frame = word_of(chain->frame, chain->layout->cframe_frame);
}

static bool is_of_c(const struct chain *chain, uint64_t frame)
{
    unsigned owner = byte_of(frame, chain->layout->frame_owner);

    return owner == OWNER_C || owner == OWNER_C_14;
}

/* Returns the mark that lies in the stack of the loop that runs the next frame; 0: nothing that is
 * known. */
static uint64_t mark_of_loop(struct chain *chain)
{
    if (chain->frame == 0 || chain->layout->frame_is_entry != HS_PYTHON_NONE)
        return chain->frame == 0 ? 0 : chain->cframe;
    for (uint64_t at = chain->frame; at != 0 && chain->n_looks++ < LOOKS_MAX;
         at = word_of(at, chain->layout->frame_previous)) {
        if (is_of_c(chain, at))
            return at;
    }
    return 0;
}

/* A frame whose first instructions have not run yet is not there for Python, nor are those that the
 * interpreter makes for itself. */
static bool is_complete(const struct chain *chain, uint64_t frame, uint64_t code)
{
    const struct hs_python_layout *layout = chain->layout;
    uint64_t first = word_of(code, layout->code_first_traced) & UINT32_MAX;

    return byte_of(frame, layout->frame_owner) == OWNER_GENERATOR ||
           word_of(frame, layout->frame_instr) >= code + layout->code_bytes + UNIT_BYTES * first;
}

static uint64_t place_of(struct hs_record_table *table, const struct chain *chain, uint64_t frame)
{
    uint64_t code = word_of(frame, chain->layout->frame_code) & ~TAGS;

    if (code == 0 || word_of(code, AT_TYPE) != hs_record_python.code_type ||
        !is_complete(chain, frame, code))
        return 0;
    return hs_record_script_place(table, code, word_of(frame, chain->layout->frame_instr));
}

/* Adds all frames that one loop runs; at most n_max. */
static unsigned add_loop(struct hs_record_table *table, struct chain *chain, uint64_t *ret,
                         unsigned n_max)
{
    const struct hs_python_layout *layout = chain->layout;
    unsigned n = 0;

    for (bool is_last = false; !is_last && chain->frame != 0 && n < n_max;) {
        uint64_t frame = chain->frame;

        if (layout->frame_is_entry != HS_PYTHON_NONE)
            is_last = byte_of(frame, layout->frame_is_entry) != 0;
        else
            is_last = is_of_c(chain, frame);
        ret[n] = place_of(table, chain, frame);
        n += ret[n] != 0;
        chain->frame = ++chain->n_steps < STEPS_MAX ? word_of(frame, layout->frame_previous) : 0;
    }
    if (layout->frame_is_entry != HS_PYTHON_NONE)
        chain->cframe = word_of(chain->cframe, layout->cframe_previous);
    return n;
}

/* The frames that are mixed so far; under the recorder's lock. */
static uint64_t mixed[HS_RECORD_FRAMES_MAX];

bool hs_record_python_mix(struct hs_record_table *table, struct hs_record_backtrace *backtrace)
{
    struct chain chain;
    unsigned n = 0;

    hs_record_script_begin();
    begin_chain(&chain);
    if (chain.frame == 0)
        return false;
    uint64_t mark = mark_of_loop(&chain);
    for (unsigned i = 0; i < backtrace->n && n < HS_RECORD_FRAMES_MAX; i++) {
        uint64_t end = backtrace->sp[i + 1 < backtrace->n ? i + 1 : i];
        bool is_loop = false;

        while (mark != 0 && mark < end && n < HS_RECORD_FRAMES_MAX) {
            is_loop |= mark >= backtrace->sp[i];
            n += add_loop(table, &chain, mixed + n, HS_RECORD_FRAMES_MAX - n);
            mark = mark_of_loop(&chain);
        }
        if (!is_loop && n < HS_RECORD_FRAMES_MAX)
            mixed[n++] = backtrace->frames[i];
    }
    /* The walk of the stack has ended early. */
    while (chain.frame != 0 && n < HS_RECORD_FRAMES_MAX)
        n += add_loop(table, &chain, mixed + n, HS_RECORD_FRAMES_MAX - n);
    memcpy(backtrace->frames, mixed, n * sizeof *mixed);
    backtrace->n = n;
    return true;
}
