/* links: hs_boxed hs_symbols hs_base hs_dep_elf */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "boxed/frames.h"
#include "boxed/line_reader.h"
#include "boxed/serve.h"
#include "elf_writer.h"
#include "seeds.h"
#include "symbols/box/box_private.h"
#include "symbols/lines.h"

/* What a false box does with the file named "bomb". It is this program, started as the box would be
 * with the number of the fault in place of the memory it may have. */
enum fault {
    FAULT_NONE = 1000,
    /* when it is opened */
    FAULT_DIES,
    FAULT_LOOPS,
    FAULT_SLEEPS,
    FAULT_EATS_MEMORY,
    FAULT_SILENT_END, /* answers nothing and goes */
    FAULT_NOISE,
    FAULT_CUT_HEAD,
    FAULT_CUT_BODY,
    FAULT_LONG_BODY,
    FAULT_HUGE,
    FAULT_OLD_SERIAL,
    FAULT_OTHER_KIND,
    FAULT_OTHER_MAGIC,
    FAULT_OTHER_STATUS,
    FAULT_LIMIT,
    FAULT_LAST_OPEN = FAULT_LIMIT,
    /* when its rows or names are asked for */
    FAULT_ROW_DIES,
    FAULT_ROW_REGISTER,
    FAULT_ROW_CFA,
    FAULT_ROW_KIND,
    FAULT_ROW_EXPRESSION,
    FAULT_ROW_EXPRESSIONS,
    FAULT_ROW_ELSEWHERE,
    FAULT_ROW_NO_FUNCTION,
    FAULT_ROW_SHORT,
    FAULT_ROW_FLAG,
    FAULT_LAST_ROW = FAULT_ROW_FLAG,
    FAULT_TEXT_OPEN_END,
    FAULT_TEXT_NUL,
    FAULT_TEXT_EMPTY,
    FAULT_TEXT_LONG,
    FAULT_TEXT_SHORT,
    FAULT_LAST_TEXT = FAULT_TEXT_SHORT,
    /* after any answer */
    FAULT_ENDS_WHEN_IDLE,
    /* no fault of the bomb: what the box says of it is not printed as it is */
    FAULT_RUDE,
};

/* --- the false box --- */

static uint8_t body[BOX_MAX_BYTES + 4096];

static void say(const struct box_request *request, size_t n_body, struct box_reply head)
{
    head.magic ^= BOX_MAGIC;
    head.kind ^= request->kind;
    head.serial ^= request->serial;
    head.n_bytes += (uint32_t)n_body;
    struct iovec parts[2] = {{&head, sizeof(head)}, {body, n_body}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(0, &message, MSG_NOSIGNAL) < 0)
        _exit(3);
}

static void eat_memory(void)
{
    struct hs_box_confinement confinement;
    hs_box_confine(UINT64_C(64) << 20, &confinement);
    for (size_t n = 1 << 20;; n *= 2) {
        void *p = malloc(n);
        if (p == NULL)
            abort();
        memset(p, 1, n);
    }
}

/* True when the fault took the place of an answer. */
static bool misbehave_opening(enum fault fault, const struct box_request *request)
{
    memset(body, 0xa5, sizeof(body));
    switch (fault) {
    case FAULT_DIES:
        (void)raise(SIGSEGV);
        _exit(3);
    case FAULT_LOOPS:
        for (volatile unsigned i = 0;; i++)
            ;
    case FAULT_SLEEPS:
        for (;;)
            (void)pause();
    case FAULT_EATS_MEMORY:
        eat_memory();
        _exit(3);
    case FAULT_SILENT_END:
        _exit(0);
    case FAULT_NOISE:
        return send(0, body, 300, 0) > 0;
    case FAULT_CUT_HEAD:
        return send(0, request, sizeof(struct box_reply) - 1, 0) > 0;
    case FAULT_CUT_BODY:
        say(request, sizeof(struct box_opened) - 1, (struct box_reply){0});
        return true;
    case FAULT_LONG_BODY:
        say(request, sizeof(struct box_opened), (struct box_reply){.n_bytes = 1});
        return true;
    case FAULT_HUGE:
        say(request, BOX_MAX_BYTES + 1, (struct box_reply){0});
        return true;
    case FAULT_OLD_SERIAL:
        say(request, sizeof(struct box_opened), (struct box_reply){.serial = 1 << 20});
        return true;
    case FAULT_OTHER_KIND:
        say(request, sizeof(struct box_opened), (struct box_reply){.kind = 8});
        return true;
    case FAULT_OTHER_MAGIC:
        say(request, sizeof(struct box_opened), (struct box_reply){.magic = 1});
        return true;
    case FAULT_OTHER_STATUS:
        say(request, sizeof(struct box_opened), (struct box_reply){.status = HS_N_STATUS});
        return true;
    case FAULT_LIMIT:
        say(request, 10, (struct box_reply){.status = HS_LIMIT});
        return true;
    case FAULT_RUDE:
        memcpy(body, "\033[2Jbeware\n", 11);
        say(request, 11, (struct box_reply){.status = HS_FORMAT});
        return true;
    default:
        return false;
    }
}

/* Changes a row that was right. */
static size_t misbehave_row(enum fault fault, struct frame_row *row)
{
    size_t n = sizeof(*row) + row->n_expression_bytes;
    switch (fault) {
    case FAULT_ROW_DIES:
        abort();
    case FAULT_ROW_REGISTER:
        row->rules[3] = (struct frame_rule){.kind = FRAME_RULE_REGISTER, .number = HS_N_REGISTERS};
        return n;
    case FAULT_ROW_CFA:
        row->cfa.number = 200;
        return n;
    case FAULT_ROW_KIND:
        row->rules[HS_RIP].kind = FRAME_RULE_N_KINDS;
        return n;
    case FAULT_ROW_EXPRESSION:
        row->rules[0] =
            (struct frame_rule){.kind = FRAME_RULE_EXPRESSION, .at = 0xffff, .n_bytes = 0xffff};
        return n;
    case FAULT_ROW_EXPRESSIONS:
        row->n_expression_bytes = 0xffff;
        return sizeof(*row) + 0xffff;
    case FAULT_ROW_ELSEWHERE:
        row->begin += 0x1000000;
        row->end += 0x1000000;
        return n;
    case FAULT_ROW_NO_FUNCTION:
        row->begin = row->end = 0;
        return n;
    case FAULT_ROW_SHORT:
        return n - 1;
    case FAULT_ROW_FLAG:
        row->has_rules = 2;
        return n;
    default:
        return n;
    }
}

static size_t misbehave_text(enum fault fault)
{
    struct box_source head = {.line = 7, .n_file_bytes = 4, .n_name_bytes = 4};
    size_t n = sizeof(head) + 8;
    memcpy(body + sizeof(head), "abc\0def", 8);
    if (fault == FAULT_TEXT_OPEN_END)
        body[n - 1] = 'g';
    if (fault == FAULT_TEXT_NUL)
        body[sizeof(head) + 1] = 0;
    if (fault == FAULT_TEXT_EMPTY)
        head.n_file_bytes = 0, head.n_name_bytes = 8;
    if (fault == FAULT_TEXT_LONG)
        head.n_file_bytes = UINT32_MAX, head.n_name_bytes = 9;
    if (fault == FAULT_TEXT_SHORT)
        n = sizeof(head) - 1;
    memcpy(body, &head, sizeof(head));
    return n;
}

/* Answers for frames as the true box does, but for the bomb, and about names from its head. */
struct false_file {
    struct hs_elf *elf;
    struct hs_frame_tables *tables;
    bool is_bomb;
};

static void false_open(struct false_file *file, const struct box_request *request, const char *name,
                       int fd, enum fault fault)
{
    struct hs_error err = HS_ERROR_INIT;
    struct box_opened opened = {0};
    file->is_bomb = strcmp(name, "bomb") == 0;
    if (file->is_bomb && misbehave_opening(fault, request))
        return;
    if (request->kind == BOX_OPEN_FRAMES) {
        if (hs_elf_open_sections(fd, name, &file->elf, &err) != HS_OK ||
            hs_frame_tables_open(file->elf, &file->tables, &err) != HS_OK)
            _exit(4);
        opened.n_functions = hs_frame_tables_n_functions(file->tables);
    }
    memcpy(body, &opened, sizeof(opened));
    say(request, sizeof(opened), (struct box_reply){0});
}

static void false_answer(struct false_file *file, const struct box_request *request,
                         enum fault fault)
{
    fault = file->is_bomb ? fault : FAULT_NONE;
    if (request->kind == BOX_ROW) {
        struct frame_row row;
        memset(body, 0, sizeof(body));
        hs_frame_tables_row(file->tables, request->vaddr, &row, body + sizeof(row));
        size_t n = misbehave_row(fault, &row);
        memcpy(body, &row, sizeof(row));
        say(request, n, (struct box_reply){0});
    } else if (request->kind == BOX_CODE || request->kind == BOX_VARIABLE) {
        say(request, misbehave_text(fault), (struct box_reply){0});
    } else {
        hs_frame_tables_close(file->tables);
        hs_elf_close(file->elf);
        *file = (struct false_file){0};
        say(request, 0, (struct box_reply){0});
    }
}

static int run_false_box(enum fault fault)
{
    static struct false_file files[16];
    for (;;) {
        union {
            struct cmsghdr head;
            uint8_t bytes[CMSG_SPACE(sizeof(int))];
        } control;
        struct box_request request;
        char name[BOX_NAME_BYTES + 1] = "";
        struct iovec parts[2] = {{&request, sizeof(request)}, {name, BOX_NAME_BYTES}};
        struct msghdr message = {.msg_iov = parts,
                                 .msg_iovlen = 2,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof(control.bytes)};
        int fd = -1;
        if (recvmsg(0, &message, 0) <= 0)
            return 0;
        if (CMSG_FIRSTHDR(&message) != NULL)
            memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        if (fd >= 0)
            false_open(&files[request.file % 16], &request, name, fd, fault);
        else
            false_answer(&files[request.file % 16], &request, fault);
        if (fault == FAULT_ENDS_WHEN_IDLE)
            return 0;
    }
}

/* --- the asker --- */

static struct elf_writer w;
static const uint8_t debug_info[16];

/* This program's tables under other names: a new file each time, so that no two are the same. */
static struct hs_elf *sample(void)
{
    static const uint8_t table[] = {20,   0,    0,  0, 0,    0,    0,    0,  1,    'z',  'R', 0,
                                    1,    0x78, 16, 1, 0x03, 0x0c, 7,    8,  0x90, 1,    0,   0,
                                    16,   0,    0,  0, 28,   0,    0,    0,  0x10, 0x10, 0,   0,
                                    0x40, 0,    0,  0, 0,    0x41, 0x0e, 16, 0,    0,    0,   0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    elf_writer_init(&w);
    elf_writer_section(&w, ".eh_frame", SHT_PROGBITS, 0x2000, table, sizeof(table));
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, debug_info, sizeof(debug_info));
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    return elf;
}

static bool read_pattern(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    uint64_t word = at + 1;
    memcpy(ret, &word, n_bytes);
    return true;
}

static hs_status step_at(struct hs_cfi *cfi, hs_addr vaddr, struct hs_frame *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_memory_reader memory = {read_pattern, NULL};
    struct hs_registers r = {.known = HS_ALL_REGISTERS};
    r.value[HS_RSP] = 0x7000;
    r.value[HS_RIP] = vaddr;
    return hs_cfi_step(cfi, 0, &r, false, &memory, ret, &err);
}

static void check_answers(struct hs_cfi *cfi)
{
    struct hs_frame f;
    assert_int_equal(step_at(cfi, 0x1010, &f), HS_OK);
    assert_true(f.cfa == 0x7008 && f.caller.value[HS_RIP] == 0x7001);
    assert_int_equal(step_at(cfi, 0x1011, &f), HS_OK);
    assert_true(f.cfa == 0x7010);
    assert_int_equal(step_at(cfi, 0x1050, &f), HS_FORMAT);
}

/* Again from what is known nowhere yet. */
static void check_new_answers(struct hs_cfi *cfi, hs_addr vaddr)
{
    struct hs_frame f;
    assert_int_equal(step_at(cfi, vaddr, &f), HS_OK);
    assert_true(f.cfa == 0x7010);
}

static struct hs_dwarf_box *new_box(enum fault fault)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = NULL;
    struct hs_dwarf_box_options options = {.memory_bytes = fault};
    if (fault != FAULT_NONE)
        options.program = "/proc/self/exe";
    else
        options.memory_bytes = 0;
    options.answer_ms = fault == FAULT_LOOPS || fault == FAULT_SLEEPS ? 2000 : 0;
    assert_int_equal(hs_dwarf_box_new(&options, &box, &err), HS_OK);
    assert_int_equal(box->pid, 0); /* nothing is started that is not needed */
    return box;
}

static void check_note(const struct hs_dwarf_box *box, const char *what)
{
    assert_int_equal(hs_dwarf_box_n_notes(box), 1);
    assert_non_null(strstr(hs_dwarf_box_note(box, 0), "of 'bomb' are missing: its "));
    assert_non_null(strstr(hs_dwarf_box_note(box, 0), what));
}

static const char *note_of(enum fault fault)
{
    if (fault == FAULT_LOOPS || fault == FAULT_SLEEPS)
        return "took the reader too long";
    return fault == FAULT_LIMIT ? "is too much for the reader" : "broke the reader";
}

/* One is open, the bomb is opened and breaks the box; the one goes on, the bomb stays away. */
static void break_by_opening(enum fault fault)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(fault);
    struct hs_elf *good = sample(), *bad = sample();
    struct hs_cfi *cfi = NULL, *bomb = NULL;
    assert_int_equal(hs_cfi_open(box, good, "good", &cfi, &err), HS_OK);
    assert_int_equal(hs_cfi_n_functions(cfi), 1);
    check_answers(cfi);
    assert_int_equal(hs_cfi_open(box, bad, "bomb", &bomb, &err), HS_FORMAT);
    assert_null(bomb);
    check_note(box, note_of(fault));
    check_answers(cfi);
    assert_int_equal(box->generation, 1); /* all that was asked was known */
    check_new_answers(cfi, 0x1012);
    assert_int_equal(box->generation, 2);
    assert_int_equal(hs_cfi_open(box, bad, "bomb", &bomb, &err), HS_FORMAT);
    check_note(box, note_of(fault));
    check_new_answers(cfi, 0x1013);
    assert_int_equal(box->generation, 2);
    hs_cfi_close(cfi);
    hs_elf_close(good);
    hs_elf_close(bad);
    hs_dwarf_box_free(box);
}

static void survives_what_breaks_at_opening(void **state)
{
    for (enum fault fault = FAULT_DIES; fault <= FAULT_LAST_OPEN; fault++) {
#ifdef HS_SANITIZED
        if (fault == FAULT_EATS_MEMORY) /* no limit on the address space there */
            continue;
#endif
        break_by_opening(fault);
    }
}

static void break_by_row(enum fault fault)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(fault);
    struct hs_elf *good = sample(), *bad = sample();
    struct hs_cfi *cfi = NULL, *bomb = NULL;
    struct hs_frame f;
    assert_int_equal(hs_cfi_open(box, good, "good", &cfi, &err), HS_OK);
    assert_int_equal(hs_cfi_open(box, bad, "bomb", &bomb, &err), HS_OK);
    check_answers(cfi);
    assert_int_equal(step_at(bomb, 0x1012, &f), HS_FORMAT);
    check_note(box, "its frame tables broke the reader");
    assert_int_equal(step_at(bomb, 0x1012, &f), HS_FORMAT);
    check_note(box, "its frame tables broke the reader");
    check_new_answers(cfi, 0x1012);
    assert_int_equal(box->generation, 2);
    hs_cfi_close(bomb);
    hs_cfi_close(cfi);
    hs_elf_close(good);
    hs_elf_close(bad);
    hs_dwarf_box_free(box);
}

static void believes_no_row_beyond_its_bounds(void **state)
{
    for (enum fault fault = FAULT_ROW_DIES; fault <= FAULT_LAST_ROW; fault++)
        break_by_row(fault);
}

static void believes_no_text_beyond_its_bounds(void **state)
{
    for (enum fault fault = FAULT_TEXT_OPEN_END; fault <= FAULT_LAST_TEXT; fault++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_dwarf_box *box = new_box(fault);
        struct hs_elf *good = sample(), *bad = sample();
        struct hs_lines *lines = NULL, *bomb = NULL;
        assert_int_equal(hs_lines_open(box, good, "good", &lines, &err), HS_OK);
        assert_int_equal(hs_lines_open(box, bad, "bomb", &bomb, &err), HS_OK);
        for (int i = 0; i < 2; i++) {
            struct hs_source none = hs_lines_find_code(bomb, 0x1010);
            assert_string_equal(none.file, "");
            assert_string_equal(none.name, "");
            assert_int_equal(none.line, 0);
        }
        check_note(box, "names of 'bomb' are missing: its debug information broke the reader");
        struct hs_source source = hs_lines_find_variable(lines, 0x1010);
        assert_string_equal(source.file, "abc");
        assert_string_equal(source.name, "def");
        assert_int_equal(source.line, 7);
        hs_lines_close(bomb);
        hs_lines_close(lines);
        hs_elf_close(good);
        hs_elf_close(bad);
        hs_dwarf_box_free(box);
    }
}

/* A box that is ended between two questions, by whomever, is no file's fault. */
static void starts_again_when_ended_between_questions(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(FAULT_NONE);
    struct hs_elf *good = sample();
    struct hs_cfi *cfi = NULL;
    siginfo_t ended;
    assert_int_equal(hs_cfi_open(box, good, "good", &cfi, &err), HS_OK);
    check_answers(cfi);
    assert_int_equal(kill(box->pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)box->pid, &ended, WEXITED | WNOWAIT), 0);
    check_new_answers(cfi, 0x1012);
    assert_int_equal(box->generation, 2);
    assert_int_equal(hs_dwarf_box_n_notes(box), 0);
    hs_cfi_close(cfi);
    hs_elf_close(good);
    hs_dwarf_box_free(box);
}

/* One that ends after each answer is not started for ever, and ends nobody's dump. */
static void gives_up_a_box_that_ends_again_and_again(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(FAULT_ENDS_WHEN_IDLE);
    struct hs_elf *elf = sample();
    for (int i = 0; i < 2 * BOX_MAX_STARTS; i++) {
        struct hs_cfi *cfi = NULL;
        struct hs_frame f;
        if (hs_cfi_open(box, elf, "good", &cfi, &err) == HS_OK)
            assert_int_not_equal(step_at(cfi, 0x1012, &f), HS_OK);
        hs_cfi_close(cfi);
    }
    assert_true(box->generation <= BOX_MAX_STARTS);
    assert_true(hs_dwarf_box_n_notes(box) >= 1);
    assert_int_equal(box->pid, 0);
    hs_elf_close(elf);
    hs_dwarf_box_free(box);
}

static void gives_up_after_many_bombs(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(FAULT_DIES);
    struct hs_elf *bad[BOX_MAX_BREAKS + 2], *good = sample();
    struct hs_cfi *cfi = NULL, *none = NULL;
    struct hs_frame f;
    assert_int_equal(hs_cfi_open(box, good, "good", &cfi, &err), HS_OK);
    for (size_t i = 0; i < BOX_MAX_BREAKS + 2; i++) {
        bad[i] = sample();
        assert_int_equal(hs_cfi_open(box, bad[i], "bomb", &none, &err),
                         i < BOX_MAX_BREAKS ? HS_FORMAT : HS_IO);
    }
    assert_int_equal(hs_dwarf_box_n_notes(box), BOX_MAX_BREAKS + 1);
    assert_non_null(strstr(hs_dwarf_box_note(box, BOX_MAX_BREAKS), "8 files broke"));
    assert_int_equal(step_at(cfi, 0x1012, &f), HS_IO);
    hs_cfi_close(cfi);
    for (size_t i = 0; i < BOX_MAX_BREAKS + 2; i++)
        hs_elf_close(bad[i]);
    hs_elf_close(good);
    hs_dwarf_box_free(box);
}

static void says_that_the_program_is_missing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_dwarf_box_options options = {.program = "/nonexistent/heapsnap-dwarf"};
    hs_auto(hs_dwarf_box) *box = NULL;
    struct hs_elf *elf = sample();
    struct hs_cfi *cfi = NULL;
    struct hs_lines *lines = NULL;
    assert_int_equal(hs_dwarf_box_new(&options, &box, &err), HS_OK);
    assert_int_equal(hs_cfi_open(box, elf, NULL, &cfi, &err), HS_IO);
    assert_non_null(strstr(err.hint, "install heapsnap-dwarf"));
    assert_int_equal(hs_lines_open(box, elf, NULL, &lines, &err), HS_IO);
    assert_int_equal(hs_dwarf_box_n_notes(box), 1); /* once */
    assert_non_null(strstr(hs_dwarf_box_note(box, 0), "'/nonexistent/heapsnap-dwarf' cannot be"));
    assert_int_equal(hs_cfi_open(NULL, elf, NULL, &cfi, &err), HS_IO);
    assert_int_equal(hs_dwarf_box_n_notes(NULL), 0);
    hs_elf_close(elf);
}

static void repeats_nothing_that_could_steer_a_terminal(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(FAULT_RUDE);
    struct hs_elf *elf = sample();
    struct hs_cfi *cfi = NULL;
    assert_int_equal(hs_cfi_open(box, elf, "bomb", &cfi, &err), HS_FORMAT);
    assert_string_equal(err.message, "?[2Jbeware?");
    assert_int_equal(hs_dwarf_box_n_notes(box), 0);
    hs_elf_close(elf);
    hs_dwarf_box_free(box);
}

/* --- in the box as without --- */

static void compare_rows(struct hs_dwarf_box *box, const char *path)
{
    static uint8_t expected[sizeof(struct frame_row) + FRAME_ROW_EXPRESSION_BYTES];
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_frame_tables) *tables = NULL;
    struct box_file file;
    struct box_answer answer;
    hs_addr low, high;
    size_t n_rows = 0;
    if (hs_elf_open_path(path, &elf, &err) != HS_OK)
        return;
    assert_int_equal(hs_frame_tables_open(elf, &tables, &err), HS_OK);
    assert_int_equal(hs_box_file_open_(box, elf, path, BOX_OPEN_FRAMES, &file, &answer, &err),
                     HS_OK);
    assert_true(hs_elf_extent(elf, &low, &high));
    for (hs_addr at = low; at < high; at += (high - low) / HS_SEEDS(20000) + 1) {
        struct frame_row row;
        hs_frame_tables_row(tables, at, &row, expected + sizeof(row));
        memcpy(expected, &row, sizeof(row));
        assert_true(hs_frame_row_is_sound_(&row, at));
        assert_int_equal(hs_box_ask_(&file, BOX_ROW, at, &answer, &err), HS_OK);
        assert_int_equal(answer.n_bytes, sizeof(row) + row.n_expression_bytes);
        assert_memory_equal(answer.bytes, expected, answer.n_bytes);
        n_rows += row.has_rules;
    }
    assert_true(n_rows > 100);
    hs_box_file_close_(&file);
}

static void tells_the_rows_that_libdwarf_tells(void **state)
{
    static const char *const paths[] = {"/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6",
                                        "/lib64/libc.so.6", "/usr/bin/python3"};
    struct hs_dwarf_box *box = new_box(FAULT_NONE);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        compare_rows(box, paths[i]);
    assert_int_equal(box->generation, 1);
    hs_dwarf_box_free(box);
}

static void compare_sources(const struct hs_source *asked, struct hs_dwarf *dwarf,
                            const struct hs_dwarf_source *found)
{
    assert_string_equal(asked->file, hs_dwarf_text(dwarf, found->file));
    assert_string_equal(asked->name, hs_dwarf_text(dwarf, found->name));
    assert_int_equal(asked->line, found->line);
}

static void tells_the_names_that_libdwarf_tells(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_box *box = new_box(FAULT_NONE);
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_dwarf) *dwarf = NULL;
    hs_auto(hs_lines) *lines = NULL;
    size_t n, n_named = 0;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    assert_int_equal(hs_dwarf_open(elf, &dwarf, &err), HS_OK);
    assert_int_equal(hs_lines_open(box, elf, NULL, &lines, &err), HS_OK);
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);
    for (size_t i = 0; i < n; i++) {
        struct hs_dwarf_source found;
        hs_addr inside = symbols[i].vaddr + symbols[i].n_bytes / 2;
        assert_int_equal(hs_dwarf_find_code(dwarf, inside, &found, &err), HS_OK);
        struct hs_source source = hs_lines_find_code(lines, inside);
        compare_sources(&source, dwarf, &found);
        n_named += source.line != 0 && source.name[0] != '\0';
        assert_int_equal(hs_dwarf_find_variable(dwarf, symbols[i].vaddr, &found, &err), HS_OK);
        source = hs_lines_find_variable(lines, symbols[i].vaddr);
        compare_sources(&source, dwarf, &found);
    }
    assert_true(n_named > 30);
    assert_int_equal(hs_lines_n_damaged(lines), hs_dwarf_n_damaged(dwarf));
    hs_lines_close(HS_STEAL(lines));
    hs_dwarf_box_free(box);
}

/* What the true box could do if it were taken over: nothing. A child does it in its place. */
static void confines_itself(void **state)
{
#ifdef HS_SANITIZED
    skip();
#endif
    pid_t child = fork();
    if (child == 0) {
        struct hs_box_confinement confinement;
        int report = 0;
        hs_box_confine(UINT64_C(256) << 20, &confinement);
        report |= geteuid() == 0 && access("/proc/self/uid_map", R_OK) == 0 ? 1 : 0;
        report |= fopen("/etc/passwd", "r") != NULL ? 2 : 0;
        report |= socket(AF_UNIX, SOCK_STREAM, 0) >= 0 ? 4 : 0;
        report |= kill(getppid(), 0) == 0 ? 8 : 0;
        report |= fork() >= 0 ? 16 : 0;
        report |= malloc((size_t)1 << 29) != NULL ? 32 : 0;
        void *some = malloc((size_t)1 << 20);
        report |= some == NULL ? 64 : 0;
        free(some);
        _exit(report);
    }
    int report = -1;
    assert_int_equal(waitpid(child, &report, 0), child);
    assert_true(WIFEXITED(report));
    assert_int_equal(WEXITSTATUS(report), 0);
}

int main(int n_arguments, char **arguments)
{
    if (n_arguments == 2 && strcmp(arguments[0], BOX_PROGRAM) == 0)
        return run_false_box((enum fault)strtol(arguments[1], NULL, 10));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_what_breaks_at_opening),
        cmocka_unit_test(believes_no_row_beyond_its_bounds),
        cmocka_unit_test(believes_no_text_beyond_its_bounds),
        cmocka_unit_test(starts_again_when_ended_between_questions),
        cmocka_unit_test(gives_up_a_box_that_ends_again_and_again),
        cmocka_unit_test(gives_up_after_many_bombs),
        cmocka_unit_test(says_that_the_program_is_missing),
        cmocka_unit_test(repeats_nothing_that_could_steer_a_terminal),
        cmocka_unit_test(tells_the_rows_that_libdwarf_tells),
        cmocka_unit_test(tells_the_names_that_libdwarf_tells),
        cmocka_unit_test(confines_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
