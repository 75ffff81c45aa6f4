/* The words of a stack that are pointers, as the collector finds them: mgcmark.go
 * (scanframeworker), stkframe.go (getStackMap), traceback.go. */
#include <limits.h>
#include <string.h>

#include "arch/registers.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "goroutines.h"

/* symtab.go: the numbers of the tables. */
enum { PCDATA_STACK_MAP = 1, FUNCDATA_ARGUMENTS = 0, FUNCDATA_LOCALS = 1, FUNCDATA_OBJECTS = 2 };
enum { STATUS_RUNNING = 2, STATUS_SYSCALL = 3, GOBUF_PC = 8 };
enum { OBJECT_BYTES = 16, OBJECTS_MAX = 4096, MAP_WORDS_MAX = 1 << 20, RETURN_BYTES = 8 };
enum frame_kind { FRAME_PLAIN, FRAME_LAST, FRAME_PREEMPTED };

/* A frame: [sp, fp) are its words and the return address, from fp on are its arguments. */
struct frame {
    hs_addr pc, sp, fp;
    const struct hs_go_frame_map *map;
    bool is_interrupted; /* anywhere: no stack map holds there */
};

struct walk {
    struct hs_go_goroutines *gs;
    const struct hs_go_goroutine *g;
    const uint8_t *bytes; /* of the stack */
    hs_status (*visit)(void *context, hs_addr at, uint64_t word, bool is_exact,
                       struct hs_error *err);
    void *context;
    struct hs_error *err;
};

/* ---- what is known of a frame by its instruction */

static enum frame_kind kind_of(const char *name)
{
    static const char *const last[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go",
                                       "runtime.mcall", "runtime.morestack"};

    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        if (strcmp(name, last[i]) == 0)
            return FRAME_LAST;
    return strcmp(name, "runtime.asyncPreempt") == 0 ? FRAME_PREEMPTED : FRAME_PLAIN;
}

/* Tells whether a function is the runtime's, or waits for somebody else: a lock of sync, a file
 * descriptor. */
static bool is_of_runtime(const char *name)
{
    static const char *const prefixes[] = {"runtime.", "sync.", "internal/"};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Tells whether an instruction is of a source file of the runtime: time.Sleep is written there, and
 * has the name of another package. */
static bool is_in_runtime(const struct hs_go_heap *heap, const struct hs_go_function *function,
                          hs_addr pc)
{
    static const char folder[] = "runtime/", before[] = "/src/";
    char file[HS_GO_NAME_BYTES];
    uint32_t line;

    if (!hs_go_line(heap, function, pc, file, sizeof file, &line))
        return false;
    const char *source = strstr(file, before), *name = source == NULL ? file : source;
    name += source == NULL ? 0 : sizeof before - 1;
    return strncmp(name, folder, sizeof folder - 1) == 0 &&
           strchr(name + sizeof folder - 1, '/') == NULL;
}

/* Finds the bits of one of a function's stack maps: {i32 n, i32 words, n * bits}. */
static const uint8_t *read_bits(const struct hs_go_heap *heap, hs_addr table, int32_t number,
                                uint32_t *ret_n_words)
{
    const uint8_t *head = table == 0 ? NULL : hs_go_bytes(heap, table, 2 * sizeof(uint32_t));

    *ret_n_words = 0;
    if (head == NULL)
        return NULL;
    uint32_t n = hs_load_u32(head), n_words = hs_load_u32(head + sizeof n);
    if (n_words == 0 || n_words > MAP_WORDS_MAX || (uint32_t)number >= n)
        return NULL;
    uint64_t n_bytes = (n_words + CHAR_BIT - 1) / CHAR_BIT;
    const uint8_t *bits =
        hs_go_bytes(heap, table + 2 * sizeof n + (uint32_t)number * n_bytes, n_bytes);
    if (bits != NULL)
        *ret_n_words = n_words;
    return bits;
}

static void read_map(const struct hs_go_heap *heap, hs_addr pc, struct hs_go_frame_map *map)
{
    const struct hs_go_function *f = &map->function;
    char name[HS_GO_NAME_BYTES];
    int32_t number = -1;
    uint64_t n_objects = 0;

    if (hs_go_function_name(heap, f, name, sizeof name)) {
        map->kind = (uint8_t)kind_of(name);
        map->is_of_runtime = is_of_runtime(name) || is_in_runtime(heap, f, pc);
    }
    if (!hs_go_pc_value(heap, f, f->pcsp, pc, &map->depth))
        map->depth = -1;
    uint32_t table = hs_go_pcdata(heap, f, PCDATA_STACK_MAP);
    if (table == 0 || !hs_go_pc_value(heap, f, table, pc, &number) || number < 0)
        number = 0; /* before anything is in the frame: that of its beginning holds */
    map->locals = read_bits(heap, hs_go_funcdata(heap, f, FUNCDATA_LOCALS), number, &map->n_locals);
    map->arguments =
        read_bits(heap, hs_go_funcdata(heap, f, FUNCDATA_ARGUMENTS), number, &map->n_arguments);
    map->objects = hs_go_funcdata(heap, f, FUNCDATA_OBJECTS);
    if (map->objects == 0 || !hs_go_u64(heap, map->objects, &n_objects) || n_objects > OBJECTS_MAX)
        n_objects = 0;
    map->n_objects = (uint32_t)n_objects;
}

/* Finds what is known of a frame by an instruction of the call; NULL: it is no code of the program.
 */
static hs_status find_map(struct hs_go_goroutines *gs, hs_addr pc,
                          const struct hs_go_frame_map **ret, struct hs_error *err)
{
    const uint64_t *known = hs_dict_find(&gs->frame_of_pc, pc);
    struct hs_go_frame_map map = {.depth = -1};

    *ret = NULL;
    if (known != NULL) {
        *ret = &gs->frames[*known];
        return HS_OK;
    }
    if (!hs_go_function_at(gs->heap, pc, &map.function))
        return HS_OK;
    read_map(gs->heap, pc, &map);
    HS_TRY(HS_GROW(&gs->frames, &gs->frames_capacity, gs->n_frames + 1, err));
    HS_TRY(hs_dict_put(&gs->frame_of_pc, pc, gs->n_frames, err));
    gs->frames[gs->n_frames] = map;
    *ret = &gs->frames[gs->n_frames++];
    return HS_OK;
}

/* ---- from frame to frame */

static const struct hs_regs *running_regs(const struct walk *w)
{
    const struct hs_go_layout *l = w->gs->heap->layout;
    const struct hs_target *target = &w->gs->heap->dump->target;
    uint64_t tid =
        hs_go_member(w->gs->heap, hs_go_member(w->gs->heap, w->g->g, l->g_m), l->m_procid);

    for (size_t i = 0; i < target->n_threads; i++) {
        const struct hs_regs *regs = &target->threads[i].regs;
        if ((uint64_t)target->threads[i].tid == tid && hs_regs_sp(regs) >= w->g->stack_begin &&
            hs_regs_sp(regs) < w->g->stack_end)
            return regs;
    }
    return NULL;
}

/* Finds where the goroutine goes on. What a thread runs now was interrupted anywhere; all else
 * stands at a call. */
static struct frame first_frame(const struct walk *w, const struct hs_regs **ret_regs)
{
    struct frame first;
    const struct hs_go_heap *heap = w->gs->heap;
    const struct hs_go_layout *l = heap->layout;

    *ret_regs = w->g->status == STATUS_RUNNING ? running_regs(w) : NULL;
    first = (struct frame){.is_interrupted = *ret_regs != NULL};
    if (*ret_regs != NULL) {
        first.pc = hs_regs_pc(*ret_regs);
        first.sp = hs_regs_sp(*ret_regs);
        return first;
    }
    bool in_call =
        w->g->status == STATUS_SYSCALL && hs_go_member(heap, w->g->g, l->g_syscallsp) != 0;
    first.sp = hs_go_member(heap, w->g->g, in_call ? l->g_syscallsp : l->g_sched);
    first.pc = hs_go_member(heap, w->g->g, in_call ? l->g_syscallpc : l->g_sched + GOBUF_PC);
    return first;
}

/* Completes a frame. False: the stack ends here, or is damaged. */
static hs_status complete(const struct walk *w, struct frame *frame, bool *ret_goes_on)
{
    *ret_goes_on = false;
    if (frame->sp < w->g->stack_begin || frame->sp >= w->g->stack_end ||
        frame->sp % HS_WORD_BYTES != 0)
        return HS_OK;
    HS_TRY(find_map(w->gs, frame->pc, &frame->map, w->err));
    bool has_begun = frame->map == NULL || frame->map->function.entry != frame->pc;
    if (!frame->is_interrupted && has_begun) /* the call itself stands before what it returns to */
        HS_TRY(find_map(w->gs, frame->pc - 1, &frame->map, w->err));
    if (frame->map == NULL || frame->map->depth < 0 || frame->map->depth % HS_WORD_BYTES != 0)
        return HS_OK;
    uint64_t n = (uint64_t)frame->map->depth + RETURN_BYTES;
    if (n > w->g->stack_end - frame->sp)
        return HS_OK;
    frame->fp = frame->sp + n;
    *ret_goes_on = true;
    return HS_OK;
}

static uint64_t word_at(const struct walk *w, hs_addr at)
{
    return at < w->g->stack_begin || w->g->stack_end - at < HS_WORD_BYTES || at >= w->g->stack_end
               ? 0
               : hs_load_u64(w->bytes + (at - w->g->stack_begin));
}

/* The frame that called another. */
static struct frame caller_of(const struct walk *w, const struct frame *frame)
{
    return (struct frame){.pc = word_at(w, frame->fp - RETURN_BYTES),
                          .sp = frame->fp,
                          .is_interrupted = frame->map->kind == FRAME_PREEMPTED};
}

/* ---- stack objects */

/* Adds the objects of a frame: {i32 offset, i32 bytes, i32 bytes with pointers, u32 bits}, whose
 * offset is to the end of the locals when negative, else to the arguments. */
static hs_status add_objects(const struct walk *w, const struct frame *frame, hs_addr end_of_locals)
{
    const struct hs_go_heap *heap = w->gs->heap;

    for (uint32_t i = 0; i < frame->map->n_objects; i++) {
        const uint8_t *bytes = hs_go_bytes(
            heap, frame->map->objects + HS_WORD_BYTES + (uint64_t)i * OBJECT_BYTES, OBJECT_BYTES);
        if (bytes == NULL)
            return HS_OK;
        int32_t offset = (int32_t)hs_load_u32(bytes);
        uint32_t n_bytes = hs_load_u32(bytes + 4), pointer_bytes = hs_load_u32(bytes + 8);
        hs_addr begin = (offset < 0 ? end_of_locals : frame->fp) + (uint64_t)(int64_t)offset;
        if (begin < frame->sp || begin >= w->g->stack_end || n_bytes > w->g->stack_end - begin ||
            pointer_bytes > n_bytes || begin % HS_WORD_BYTES != 0)
            continue;
        HS_TRY(HS_GROW(&w->gs->objects, &w->gs->objects_capacity, w->gs->n_objects + 1, w->err));
        w->gs->objects[w->gs->n_objects++] =
            (struct hs_go_stack_object){.begin = begin,
                                        .n_bytes = n_bytes,
                                        .n_pointer_bytes = pointer_bytes,
                                        .bits = heap->module.rodata + hs_load_u32(bytes + 12),
                                        .entry = frame->map->function.entry,
                                        .sp = frame->sp};
    }
    return HS_OK;
}

/* Remembers the object that a word of the stack leads to. Frames ascend, and their objects. */
static hs_status see_object(const struct walk *w, uint64_t word)
{
    struct hs_go_goroutines *gs = w->gs;
    size_t at = HS_FIRST_ABOVE(gs->objects, gs->n_objects, begin, word);

    if (at == 0 || word - gs->objects[at - 1].begin >= gs->objects[at - 1].n_bytes ||
        gs->objects[at - 1].is_seen)
        return HS_OK;
    gs->objects[at - 1].is_seen = true;
    HS_TRY(HS_GROW(&gs->waiting, &gs->waiting_capacity, gs->n_waiting + 1, w->err));
    gs->waiting[gs->n_waiting++] = at - 1;
    return HS_OK;
}

static hs_status see_word(const struct walk *w, hs_addr at, uint64_t word, bool is_exact)
{
    if (word == 0)
        return HS_OK;
    if (word >= w->g->stack_begin && word < w->g->stack_end)
        return see_object(w, word);
    return w->visit(w->context, at, word, is_exact, w->err);
}

static hs_status see_objects(const struct walk *w)
{
    struct hs_go_goroutines *gs = w->gs;

    while (gs->n_waiting != 0) {
        struct hs_go_stack_object object = gs->objects[gs->waiting[--gs->n_waiting]];
        uint64_t n_words = object.n_pointer_bytes / HS_WORD_BYTES;
        const uint8_t *bits =
            hs_go_bytes(gs->heap, object.bits, (n_words + CHAR_BIT - 1) / CHAR_BIT);
        gs->frame_entry = object.entry;
        gs->frame_sp = object.sp;
        for (uint64_t i = 0; bits != NULL && i < n_words; i++)
            if ((bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) != 0) {
                hs_addr at = object.begin + i * HS_WORD_BYTES;
                HS_TRY(see_word(w, at, word_at(w, at), true));
            }
    }
    return HS_OK;
}

/* ---- the words of a frame */

static hs_status see_bits(const struct walk *w, hs_addr begin, const uint8_t *bits,
                          uint32_t n_words)
{
    for (uint32_t i = 0; bits != NULL && i < n_words; i++)
        if ((bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) != 0) {
            hs_addr at = begin + (uint64_t)i * HS_WORD_BYTES;
            HS_TRY(see_word(w, at, word_at(w, at), true));
        }
    return HS_OK;
}

static hs_addr end_of_locals(const struct frame *frame)
{
    hs_addr end = frame->fp - RETURN_BYTES;
    return end > frame->sp ? end - HS_WORD_BYTES : end; /* the caller's frame pointer lies there */
}

static hs_status see_frame(const struct walk *w, const struct frame *frame)
{
    const struct hs_go_frame_map *map = frame->map;
    hs_addr end = end_of_locals(frame);

    w->gs->frame_entry = map->function.entry;
    w->gs->frame_sp = frame->sp;
    if (frame->is_interrupted) {
        w->gs->n_interrupted++;
        for (hs_addr at = frame->sp; at < frame->fp; at += HS_WORD_BYTES)
            HS_TRY(see_word(w, at, word_at(w, at), false));
    } else {
        w->gs->n_exact++;
        if ((uint64_t)map->n_locals * HS_WORD_BYTES <= end - frame->sp)
            HS_TRY(see_bits(w, end - (uint64_t)map->n_locals * HS_WORD_BYTES, map->locals,
                            map->n_locals));
    }
    return see_bits(w, frame->fp, map->arguments, map->n_arguments);
}

/* Goes over the frames, twice: where the stack objects are must be known before any word leads to
 * one. */
static hs_status walk_frames(const struct walk *w, struct frame frame, bool sees)
{
    bool goes_on;

    for (;;) {
        HS_TRY(complete(w, &frame, &goes_on));
        if (!goes_on) {
            w->gs->n_cut += sees;
            return HS_OK;
        }
        HS_TRY(sees ? see_frame(w, &frame) : add_objects(w, &frame, end_of_locals(&frame)));
        if (frame.map->kind == FRAME_LAST)
            return HS_OK;
        frame = caller_of(w, &frame);
    }
}

static hs_status see_registers(const struct walk *w, const struct hs_regs *regs)
{
    struct hs_registers registers = hs_registers_of(regs);

    for (unsigned i = 0; i < HS_N_DATA_REGISTERS; i++)
        HS_TRY(see_word(w, w->g->stack_begin, registers.value[i], false));
    return HS_OK;
}

/* Sets the bytes of the stack; false: it has none. */
static bool walk_begin(struct walk *w)
{
    const struct hs_go_goroutine *g = w->g;

    if (g->stack_begin >= g->stack_end)
        return false;
    w->bytes =
        hs_image_bytes(&w->gs->heap->dump->image, g->stack_begin, g->stack_end - g->stack_begin);
    return w->bytes != NULL;
}

/* Takes a frame's function as the outermost so far; of one that the compiler made, the call that it
 * was made for, where that was inlined. */
static void outline_frame(const struct walk *w, const struct frame *frame,
                          struct hs_go_outline *ret)
{
    const struct hs_go_heap *heap = w->gs->heap;
    const struct hs_go_function *function = &frame->map->function;
    char text[HS_GO_NAME_BYTES];

    bool is_named = function->id == heap->layout->function_wrapper
                        ? hs_go_inlined_name(heap, function, frame->pc - 1, text, sizeof text)
                        : hs_go_function_name(heap, function, text, sizeof text);
    if (!is_named)
        return;
    memcpy(ret->outer, text, sizeof text);
    if (ret->inner[0] == '\0' && !frame->map->is_of_runtime)
        memcpy(ret->inner, text, sizeof text);
}

hs_status hs_go_outline(struct hs_go_goroutines *gs, const struct hs_go_goroutine *g,
                        struct hs_go_outline *ret, struct hs_error *err)
{
    struct walk w = {.gs = gs, .g = g, .err = err};
    const struct hs_regs *regs;
    bool goes_on = walk_begin(&w);
    struct frame frame = first_frame(&w, &regs);

    ret->outer[0] = ret->inner[0] = '\0';
    while (goes_on) {
        HS_TRY(complete(&w, &frame, &goes_on));
        if (!goes_on || frame.map->kind == FRAME_LAST)
            break;
        outline_frame(&w, &frame, ret);
        frame = caller_of(&w, &frame);
    }
    return HS_OK;
}

hs_status hs_go_walk_stack(struct hs_go_goroutines *gs, const struct hs_go_goroutine *g,
                           hs_status (*visit)(void *context, hs_addr at, uint64_t word,
                                              bool is_exact, struct hs_error *err),
                           void *context, struct hs_error *err)
{
    struct walk w = {.gs = gs, .g = g, .visit = visit, .context = context, .err = err};
    const struct hs_regs *regs;

    if (!walk_begin(&w))
        return HS_OK;
    gs->n_objects = gs->n_waiting = 0;
    struct frame frame = first_frame(&w, &regs);
    HS_TRY(walk_frames(&w, frame, false));
    HS_TRY(walk_frames(&w, frame, true));
    gs->frame_entry = gs->frame_sp = 0;
    if (regs != NULL)
        HS_TRY(see_registers(&w, regs));
    hs_status status = see_objects(&w);
    gs->frame_entry = gs->frame_sp = 0;
    return status;
}
