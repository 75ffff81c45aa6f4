/* Begins to sample the heap of an OCaml runtime, with nothing linked to the program: calls
 * caml_memprof_start with callbacks that are blocks of ours.
 *
 * When: at the one moment of a start that the runtime shows by itself. It asks readlink for its own
 * program (caml_executable_name) when its heap is there and no code of OCaml has run (startup_nat.c
 * of 4.12 to 5.4).
 *
 * How: a block of OCaml outside of its heap is a header of colour 3, which no collector follows
 * (4.x: black; 5.x: not markable), and its fields. A closure has code, arity 1 and where its
 * environment begins. Code of OCaml has its argument in rax; caml_c_call takes it from there to C,
 * on the right stack. What a callback returns is read at once, so that `Some number` is a block in
 * the thread's own storage.
 *
 * A program that uses Gc.Memprof itself comes first: caml_memprof_start and _stop are preceded by
 * functions that end our sampling. What the program sees is then as without us. */
#include "record_hook.h"
#include "record_interpose.h"
#include "record_ocaml.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COLOUR UINT64_C(3)
#define TAG_CLOSURE 247U
#define TAG_DOUBLE 253U
#define ARITY (UINT64_C(1) << 56 | 2 << 1 | 1) /* 1 argument; its environment is field 2 */
#define UNIT UINT64_C(1)
#define NONE UINT64_C(1)
#define IS_EXCEPTION 2U   /* the low two bits of what caml_callback_exn returns */
#define CALLER_BYTES 512U /* caml_executable_name is shorter */
#define SOURCE_CUSTOM 2U
#define WOSIZE_SHIFT 10

/* Code of OCaml, and functions that stand before those of the runtime. */
void hs_record_ocaml_minor(void);
void hs_record_ocaml_major(void);
void hs_record_ocaml_promote(void);
void hs_record_ocaml_dealloc(void);
void hs_record_ocaml_call_start(void);
void hs_record_ocaml_before_start(void);
void hs_record_ocaml_before_stop(void);

/* They are given to the code below, which the linker leaves to this file. */
struct hs_record_ocaml_code {
    void *c_call;                     /* caml_c_call */
    void *start, *stop;               /* the primitives, behind the jump to us */
    uint64_t rate, n_frames, tracker; /* the arguments of start: values of OCaml */
};
extern struct hs_record_ocaml_code hs_record_ocaml_code __attribute__((visibility("hidden")));
struct hs_record_ocaml_code hs_record_ocaml_code;

uint64_t hs_record_ocaml_on_minor(const uint64_t *info);
uint64_t hs_record_ocaml_on_major(const uint64_t *info);
uint64_t hs_record_ocaml_on_promote(uint64_t kept);
uint64_t hs_record_ocaml_on_dealloc(uint64_t kept);
void hs_record_ocaml_give_way(uint64_t *arguments);

__asm__(".pushsection .text\n"
        ".hidden hs_record_ocaml_code\n"
        ".macro hs_record_callback name, to\n"
        ".hidden \\name\n.globl \\name\n.type \\name, @function\n"
        "\\name:\n movq %rax, %rdi\n leaq \\to(%rip), %rax\n jmp *hs_record_ocaml_code(%rip)\n"
        ".size \\name, . - \\name\n"
        ".endm\n"
        "hs_record_callback hs_record_ocaml_minor, hs_record_ocaml_on_minor\n"
        "hs_record_callback hs_record_ocaml_major, hs_record_ocaml_on_major\n"
        "hs_record_callback hs_record_ocaml_promote, hs_record_ocaml_on_promote\n"
        "hs_record_callback hs_record_ocaml_dealloc, hs_record_ocaml_on_dealloc\n"
        ".hidden hs_record_ocaml_call_start\n.globl hs_record_ocaml_call_start\n"
        ".type hs_record_ocaml_call_start, @function\n"
        "hs_record_ocaml_call_start:\n"
        " movq hs_record_ocaml_code+24(%rip), %rdi\n movq hs_record_ocaml_code+32(%rip), %rsi\n"
        " movq hs_record_ocaml_code+40(%rip), %rdx\n movq hs_record_ocaml_code+8(%rip), %rax\n"
        " jmp *hs_record_ocaml_code(%rip)\n"
        ".size hs_record_ocaml_call_start, . - hs_record_ocaml_call_start\n"
        /* The collector may move what the arguments lead to: they are taken back from memory. */
        ".hidden hs_record_ocaml_before_start\n.globl hs_record_ocaml_before_start\n"
        ".type hs_record_ocaml_before_start, @function\n"
        "hs_record_ocaml_before_start:\n .cfi_startproc\n"
        " subq $24, %rsp\n .cfi_adjust_cfa_offset 24\n"
        " movq %rdi, (%rsp)\n movq %rsi, 8(%rsp)\n movq %rdx, 16(%rsp)\n"
        " movq %rsp, %rdi\n call hs_record_ocaml_give_way\n"
        " movq (%rsp), %rdi\n movq 8(%rsp), %rsi\n movq 16(%rsp), %rdx\n"
        " addq $24, %rsp\n .cfi_adjust_cfa_offset -24\n"
        " jmp *hs_record_ocaml_code+8(%rip)\n .cfi_endproc\n"
        ".size hs_record_ocaml_before_start, . - hs_record_ocaml_before_start\n"
        ".hidden hs_record_ocaml_before_stop\n.globl hs_record_ocaml_before_stop\n"
        ".type hs_record_ocaml_before_stop, @function\n"
        "hs_record_ocaml_before_stop:\n .cfi_startproc\n"
        " pushq %rdi\n .cfi_adjust_cfa_offset 8\n xorl %edi, %edi\n"
        " call hs_record_ocaml_give_way\n popq %rdi\n .cfi_adjust_cfa_offset -8\n"
        " jmp *hs_record_ocaml_code+16(%rip)\n .cfi_endproc\n"
        ".size hs_record_ocaml_before_stop, . - hs_record_ocaml_before_stop\n"
        ".popsection\n");
_Static_assert(offsetof(struct hs_record_ocaml_code, start) == 8 &&
                   offsetof(struct hs_record_ocaml_code, stop) == 16 &&
                   offsetof(struct hs_record_ocaml_code, rate) == 24 &&
                   offsetof(struct hs_record_ocaml_code, n_frames) == 32 &&
                   offsetof(struct hs_record_ocaml_code, tracker) == 40,
               "the code knows them by their places");

static struct {
    uint8_t *executable_name;
    uint64_t (*callback)(uint64_t, uint64_t);
    uint64_t (*discard)(uint64_t); /* since 5.3 */
    void (*add_root)(uint64_t *);
    void (*remove_root)(uint64_t *);
    uint64_t profile; /* of ours, a block since 5.3; a root while we sample */
    uint32_t is_sampling, has_begun;
    ssize_t (*readlink)(const char *, char *, size_t);
} ocaml = {.profile = UNIT};

/* ---- callbacks: on any thread that runs OCaml */

static __thread struct {
    uint64_t header, field;
} some __attribute__((tls_model("initial-exec")));

static uint64_t some_of(uint64_t number)
{
    some.header = UINT64_C(1) << WOSIZE_SHIFT | COLOUR << 8;
    some.field = number << 1 | 1;
    return (uint64_t)(uintptr_t)&some.field;
}

/* {samples; words; source; backtrace}: numbers are tagged. */
static uint64_t allocated(const uint64_t *info, enum hs_record_ocaml_source source)
{
    const uint64_t *frames = (const uint64_t *)(uintptr_t)info[3];
    struct hs_record_ocaml_sample sample = {
        .n_words = info[1] >> 1,
        .n_samples = info[0] >> 1,
        .source = info[2] >> 1 == SOURCE_CUSTOM ? HS_RECORD_OUTSIDE : source,
        .frames = frames};
    uint64_t number;

    if ((info[3] & 1) == 0) {
        uint64_t n = frames[-1] >> WOSIZE_SHIFT;

        sample.n_frames = n < HS_RECORD_OCAML_FRAMES ? (unsigned)n : HS_RECORD_OCAML_FRAMES;
    }
    return hs_record_ocaml_allocated(&sample, &number) ? some_of(number) : NONE;
}

__attribute__((used)) uint64_t hs_record_ocaml_on_minor(const uint64_t *info)
{
    return allocated(info, HS_RECORD_MINOR);
}

__attribute__((used)) uint64_t hs_record_ocaml_on_major(const uint64_t *info)
{
    return allocated(info, HS_RECORD_MAJOR);
}

__attribute__((used)) uint64_t hs_record_ocaml_on_promote(uint64_t kept)
{
    return hs_record_ocaml_promoted(kept >> 1) ? some_of(kept >> 1) : NONE;
}

__attribute__((used)) uint64_t hs_record_ocaml_on_dealloc(uint64_t kept)
{
    hs_record_ocaml_freed(kept >> 1);
    return UNIT;
}

/* ---- giving way */

/* Ends our sampling, if it goes on, before the program's own. `arguments` are three values of
 * OCaml, or NULL. */
__attribute__((used)) void hs_record_ocaml_give_way(uint64_t *arguments)
{
    uint64_t (*stop)(uint64_t) = NULL;

    if (__atomic_exchange_n(&ocaml.is_sampling, 0, __ATOMIC_ACQ_REL) == 0)
        return;
    memcpy(&stop, &hs_record_ocaml_code.stop, sizeof stop);
    for (unsigned i = 0; i < 3 && arguments != NULL; i++)
        ocaml.add_root(&arguments[i]);
    (void)stop(UNIT);
    if ((ocaml.profile & 1) == 0) {
        (void)ocaml.discard(ocaml.profile);
        ocaml.remove_root(&ocaml.profile);
    }
    for (unsigned i = 0; i < 3 && arguments != NULL; i++)
        ocaml.remove_root(&arguments[i]);
    hs_record_ocaml_became(HS_RECORD_OCAML_OF_PROGRAM);
}

/* ---- the beginning */

/* Finds a symbol: dlsym gives data pointers for functions. */
static bool find(const char *name, void *ret)
{
    return (*(void **)ret = dlsym(RTLD_DEFAULT, name)) != NULL;
}

static bool has(const char *name)
{
    return dlsym(RTLD_DEFAULT, name) != NULL;
}

/* Makes a block of n fields at words[*at], and returns it as a value. */
static uint64_t make_block(uint64_t *words, unsigned *at, unsigned n, unsigned tag)
{
    uint64_t *header = &words[*at];

    *header = (uint64_t)n << WOSIZE_SHIFT | COLOUR << 8 | tag;
    *at += 1 + n;
    return (uint64_t)(uintptr_t)(header + 1);
}

static uint64_t make_closure(uint64_t *words, unsigned *at, void (*code)(void))
{
    uint64_t closure = make_block(words, at, 2, TAG_CLOSURE);
    uint64_t *fields = (uint64_t *)(uintptr_t)closure;

    memcpy(fields, &code, sizeof code);
    fields[1] = ARITY;
    return closure;
}

/* Makes all blocks, in the anchor: there a dump knows them to be ours. Returns the closure that
 * calls start. */
static uint64_t make_blocks(void)
{
    struct hs_record_ocaml_code *code = &hs_record_ocaml_code;
    uint64_t *words = heapsnap_record_anchor.ocaml_blocks, *fields;
    double rate = 8 / (double)heapsnap_record_anchor.period_bytes;
    unsigned at = 0;

    rate = rate < 1 ? rate : 1;
    code->rate = make_block(words, &at, 1, TAG_DOUBLE);
    memcpy((void *)(uintptr_t)code->rate, &rate, sizeof rate);
    code->n_frames = HS_RECORD_OCAML_FRAMES << 1 | 1;
    code->tracker = make_block(words, &at, 5, 0);
    fields = (uint64_t *)(uintptr_t)code->tracker;
    fields[0] = make_closure(words, &at, hs_record_ocaml_minor);
    fields[1] = make_closure(words, &at, hs_record_ocaml_major);
    fields[2] = make_closure(words, &at, hs_record_ocaml_promote);
    fields[3] = fields[4] = make_closure(words, &at, hs_record_ocaml_dealloc);
    return make_closure(words, &at, hs_record_ocaml_call_start);
}

/* Finds the functions of a runtime that is known: 4.12 to 4.14, and since 5.3. */
static enum hs_record_ocaml find_runtime(void)
{
    struct hs_record_ocaml_code *code = &hs_record_ocaml_code;
    bool is_five = has("caml_domain_spawn"), is_able = has("caml_memprof_sample_block");

    if (!has("caml_globals"))
        return HS_RECORD_OCAML_BYTECODE;
    if (is_five && !is_able)
        return HS_RECORD_OCAML_UNABLE;
    if ((!is_five && !has("caml_memprof_main_ctx")) || has("caml_alloc_local") ||
        (is_five && !find("caml_memprof_discard", &ocaml.discard)) ||
        !find("caml_memprof_start", &code->start) || !find("caml_memprof_stop", &code->stop) ||
        !find("caml_c_call", &code->c_call) || !find("caml_callback_exn", &ocaml.callback) ||
        !find("caml_register_generational_global_root", &ocaml.add_root) ||
        !find("caml_remove_generational_global_root", &ocaml.remove_root))
        return HS_RECORD_OCAML_UNKNOWN;
    hs_record_ocaml_is_new(is_five);
    return HS_RECORD_OCAML_SAMPLES;
}

static enum hs_record_ocaml begin(void)
{
    struct hs_record_ocaml_code *code = &hs_record_ocaml_code;
    enum hs_record_ocaml what = find_runtime();
    uint64_t result;

    if (what != HS_RECORD_OCAML_SAMPLES)
        return what;
    if (!hs_record_hook(code->stop, hs_record_ocaml_before_stop, &code->stop) ||
        !hs_record_hook(code->start, hs_record_ocaml_before_start, &code->start))
        return HS_RECORD_OCAML_GUARDED;
    result = ocaml.callback(make_blocks(), UNIT);
    if ((result & 3) == IS_EXCEPTION)
        return HS_RECORD_OCAML_REFUSED;
    if ((result & 1) == 0) {
        ocaml.profile = result;
        ocaml.add_root(&ocaml.profile);
    }
    ocaml.is_sampling = 1;
    return HS_RECORD_OCAML_SAMPLES;
}

static void begin_once(void)
{
    bool is_wanted;

    if (!hs_record_ocaml_may_begin(&is_wanted) ||
        __atomic_exchange_n(&ocaml.has_begun, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    hs_record_ocaml_became(is_wanted ? begin() : HS_RECORD_OCAML_UNWANTED);
}

/* The program's own file, asked for by the runtime itself. */
HS_RECORD_EXPORT ssize_t readlink(const char *path, char *text, size_t n_bytes)
{
    const uint8_t *caller = __builtin_return_address(0);
    ssize_t (*next)(const char *, char *, size_t) = ocaml.readlink;
    ssize_t result =
        next != NULL ? next(path, text, n_bytes) : syscall(SYS_readlink, path, text, n_bytes);

    if (__builtin_expect(ocaml.executable_name != NULL, 0) &&
        (uint64_t)(caller - ocaml.executable_name) < CALLER_BYTES)
        begin_once();
    return result;
}

__attribute__((constructor)) static void look_for_runtime(void)
{
    (void)find("caml_executable_name", &ocaml.executable_name);
    *(void **)&ocaml.readlink = dlsym(RTLD_NEXT, "readlink");
}
