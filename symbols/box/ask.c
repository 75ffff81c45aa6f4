/* Questions to the box, and what becomes of a file that breaks it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "box_private.h"
#include "elf/elf_private.h"

enum { ASK_LOOK_MS = 50, ASK_CLOCK_FACTOR = 4, ASK_ATTEMPTS = 2 };

enum ask_end {
    ASK_ANSWERED,
    ASK_GONE, /* it had ended before it was asked: nobody's fault */
    ASK_DIED,
    ASK_SLOW,
    ASK_NONSENSE,
    ASK_UNCONFINED, /* it says that it is, and reads nothing */
    ASK_LIMIT,      /* it says that it has reached a limit */
};

static uint64_t ask_used_ns(const struct hs_dwarf_box *box)
{
    struct timespec now;
    if (clock_gettime(box->clock, &now) != 0)
        return 0;
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits for an answer; the box's own processor time decides, so that a loaded machine breaks
 * nothing; a box that sleeps uses none and is ended by the clock. */
static enum ask_end ask_wait(const struct hs_dwarf_box *box)
{
    uint64_t used_ns = 0, begun_ns = 0;
    for (int turn = 0;; turn++) {
        struct pollfd wait = {.fd = box->socket, .events = POLLIN};
        if (poll(&wait, 1, ASK_LOOK_MS) > 0)
            return ASK_ANSWERED;
        if (turn == 0) {
            used_ns = ask_used_ns(box);
            begun_ns = hs_now_ns();
        }
        uint64_t now_ns = ask_used_ns(box);
        if ((now_ns > used_ns && now_ns - used_ns > box->answer_ns) ||
            hs_now_ns() - begun_ns > ASK_CLOCK_FACTOR * box->answer_ns)
            return ASK_SLOW;
    }
}

static bool ask_send(const struct hs_dwarf_box *box, const struct box_request *request,
                     const char *name, int fd)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec parts[2] = {
        {(void *)(uintptr_t)request, sizeof(*request)},
        {(void *)(uintptr_t)name, request->n_name_bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    return sendmsg(box->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)(sizeof(*request) + request->n_name_bytes);
}

/* Descriptors that a broken box might send are not taken. */
static enum ask_end ask_take(const struct hs_dwarf_box *box, const struct box_request *request,
                             struct box_reply *ret, struct box_answer *ret_answer)
{
    ssize_t n = recv(box->socket, box->answer, BOX_MAX_BYTES, MSG_DONTWAIT | MSG_TRUNC);
    if (n <= 0)
        return ASK_DIED;
    if ((size_t)n < sizeof(*ret) || n > BOX_MAX_BYTES)
        return ASK_NONSENSE;
    memcpy(ret, box->answer, sizeof(*ret));
    if (ret->magic != BOX_MAGIC || ret->kind != request->kind || ret->serial != request->serial ||
        ret->n_bytes != (size_t)n - sizeof(*ret) || ret->status >= HS_N_STATUS)
        return ASK_NONSENSE;
    box->answer[n] = '\0';
    *ret_answer = (struct box_answer){box->answer + sizeof(*ret), ret->n_bytes};
    return ASK_ANSWERED;
}

static enum ask_end ask(struct hs_dwarf_box *box, struct box_request *request, const char *name,
                        int fd, struct box_reply *ret, struct box_answer *ret_answer)
{
    request->magic = BOX_MAGIC;
    request->serial = ++box->serial;
    if (!ask_send(box, request, name, fd))
        return ASK_GONE;
    enum ask_end end = ask_wait(box);
    if (end == ASK_ANSWERED)
        end = ask_take(box, request, ret, ret_answer);
    if (end != ASK_ANSWERED)
        return end;
    box->how = ret->how;
    if ((ret->how & BOX_HOW_FAILED) != 0)
        return ASK_UNCONFINED;
    return ret->status == HS_LIMIT ? ASK_LIMIT : end;
}

/* --- files --- */

static struct box_guilty file_identity(const struct box_file *file)
{
    struct stat st;
    if (file->elf->fd < 0 || fstat(file->elf->fd, &st) != 0)
        return (struct box_guilty){0, (uintptr_t)file->elf, file->kind};
    return (struct box_guilty){st.st_dev, st.st_ino, file->kind};
}

static bool file_is_guilty(const struct box_file *file)
{
    struct box_guilty identity = file_identity(file);
    for (size_t i = 0; i < file->box->n_breaks; i++) {
        const struct box_guilty *g = &file->box->guilty[i];
        if (g->device == identity.device && g->inode == identity.inode && g->kind == identity.kind)
            return true;
    }
    return false;
}

static hs_status file_blame(struct box_file *file, enum ask_end end, struct hs_error *err)
{
    static const char *const verbs[] = {
        [ASK_GONE] = "broke the reader",         [ASK_DIED] = "broke the reader",
        [ASK_SLOW] = "took the reader too long", [ASK_NONSENSE] = "broke the reader",
        [ASK_UNCONFINED] = "broke the reader",   [ASK_LIMIT] = "is too much for the reader"};
    struct hs_dwarf_box *box = file->box;
    bool is_frames = file->kind == BOX_OPEN_FRAMES;
    hs_box_stop_(box);
    file->is_given_up = true;
    box->guilty[box->n_breaks++] = file_identity(file);
    hs_box_note_(box,
                 is_frames ? "stack frames of '%.200s' are missing: its frame tables %s"
                           : "names of '%.200s' are missing: its debug information %s",
                 file->name, verbs[end]);
    if (box->n_breaks == BOX_MAX_BREAKS) {
        box->is_given_up = true;
        hs_box_note_(box,
                     "stacks and names from debug information are incomplete: %d files broke "
                     "their reader",
                     BOX_MAX_BREAKS);
    }
    return hs_fail(err, HS_FORMAT, "the debug information of '%s' %s", file->name, verbs[end]);
}

hs_status hs_box_refuse_(struct box_file *file, struct hs_error *err)
{
    return file_blame(file, ASK_NONSENSE, err);
}

/* The message of the box goes no further than printable letters: it may be anybody's by now. */
static hs_status file_refused(const struct box_answer *answer, struct hs_error *err)
{
    char text[sizeof(err->message)];
    size_t n = answer->n_bytes < sizeof(text) - 1 ? answer->n_bytes : sizeof(text) - 1;
    for (size_t i = 0; i < n; i++)
        text[i] =
            (char)(answer->bytes[i] >= 0x20 && answer->bytes[i] < 0x7f ? answer->bytes[i] : '?');
    text[n] = '\0';
    return hs_fail(err, HS_FORMAT, "%s", text);
}

/* The bytes of a file that is only in memory, as a descriptor. */
static hs_status file_from_memory(const struct box_file *file, int *ret, struct hs_error *err)
{
    size_t n = 0, done = 0;
    const char *bytes = elf_rawfile(file->elf->elf, &n);
    int fd = memfd_create("heapsnap-elf", MFD_CLOEXEC);
    while (fd >= 0 && bytes != NULL && done < n) {
        ssize_t written = write(fd, bytes + done, n - done);
        if (written <= 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    if (fd >= 0 && done == n) {
        *ret = fd;
        return HS_OK;
    }
    (void)hs_fail_errno(err, HS_IO, "cannot give '%s' to its reader", file->name);
    if (fd >= 0)
        close(fd);
    return HS_IO;
}

/* Fails where the box could not be confined: no fault of the file, and the next would be no better.
 */
static hs_status box_unconfined(struct box_file *file, const struct box_answer *why,
                                struct hs_error *err)
{
    struct hs_error said = HS_ERROR_INIT;
    (void)file_refused(why, &said);
    hs_box_stop_(file->box);
    file->box->is_given_up = true;
    hs_box_note_(file->box,
                 "stacks and names from debug information are incomplete: their reader could not "
                 "give up its rights (%.100s), and reads nothing with them",
                 said.message);
    return hs_fail(err, HS_IO, "'%s' could not give up its rights", BOX_PROGRAM);
}

/* Opens it in the box as it now is. */
static hs_status file_send_fd(struct box_file *file, int fd, struct box_answer *ret,
                              struct hs_error *err)
{
    struct box_request request = {.kind = file->kind, .file = file->number};
    struct box_reply reply;
    request.n_name_bytes = (uint32_t)strnlen(file->name, BOX_NAME_BYTES);
    enum ask_end end = ASK_GONE;
    for (int attempt = 0; attempt < ASK_ATTEMPTS && end == ASK_GONE; attempt++) {
        if (attempt > 0)
            hs_box_stop_(file->box);
        HS_TRY(hs_box_start_(file->box, err));
        end = ask(file->box, &request, file->name, fd, &reply, ret);
    }
    if (end == ASK_UNCONFINED)
        return box_unconfined(file, ret, err);
    if (end != ASK_ANSWERED)
        return file_blame(file, end, err);
    if (reply.status != HS_OK)
        return file_refused(ret, err);
    if (ret->n_bytes != sizeof(struct box_opened))
        return hs_box_refuse_(file, err);
    file->generation = file->box->generation;
    return HS_OK;
}

static hs_status file_send(struct box_file *file, struct box_answer *ret, struct hs_error *err)
{
    int fd = file->elf->fd;
    if (fd >= 0)
        return file_send_fd(file, fd, ret, err);
    HS_TRY(file_from_memory(file, &fd, err));
    hs_status status = file_send_fd(file, fd, ret, err);
    close(fd);
    return status;
}

static hs_status file_number(struct box_file *file, struct hs_error *err)
{
    struct hs_dwarf_box *box = file->box;
    size_t number = 0;
    while (number < box->n_used && box->used[number])
        number++;
    if (number == BOX_MAX_FILES)
        return hs_fail(err, HS_LIMIT, "more than %d files with debug information", BOX_MAX_FILES);
    HS_TRY(HS_GROW(&box->used, &box->used_capacity, number + 1, err));
    if (number == box->n_used)
        box->n_used++;
    box->used[number] = true;
    file->number = (uint32_t)number;
    file->has_number = true;
    return HS_OK;
}

static hs_status file_open(struct box_file *file, const char *name, struct box_answer *ret_answer,
                           struct hs_error *err)
{
    HS_TRY(hs_strdup(name != NULL ? name : hs_elf_name(file->elf), &file->name, err));
    if (file->box == NULL)
        return hs_fail(err, HS_IO, "there is no reader for the debug information of '%s'",
                       file->name);
    if (file_is_guilty(file))
        return hs_fail(err, HS_FORMAT, "the debug information of '%s' broke the reader before",
                       file->name);
    HS_TRY(file_number(file, err));
    return file_send(file, ret_answer, err);
}

hs_status hs_box_file_open_(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                            uint32_t kind, struct box_file *ret, struct box_answer *ret_answer,
                            struct hs_error *err)
{
    struct box_file file = {.box = box, .elf = elf, .kind = kind};
    hs_status status = file_open(&file, name, ret_answer, err);
    if (status == HS_OK)
        *ret = file;
    else
        hs_box_file_close_(&file);
    return status;
}

void hs_box_file_close_(struct box_file *file)
{
    struct hs_dwarf_box *box = file->box;
    struct box_request request = {.kind = BOX_CLOSE, .file = file->number};
    struct box_reply reply;
    struct box_answer ignored;
    /* One that does not even close is ended; the files that are still open go to the next. */
    if (file->generation != 0 && box->pid != 0 && file->generation == box->generation &&
        ask(box, &request, "", -1, &reply, &ignored) != ASK_ANSWERED)
        hs_box_stop_(box);
    if (file->has_number)
        box->used[file->number] = false;
    hs_free(file->name);
    *file = (struct box_file){0};
}

hs_status hs_box_ask_(struct box_file *file, uint32_t kind, hs_addr vaddr, struct box_answer *ret,
                      struct hs_error *err)
{
    struct box_request request = {.kind = kind, .file = file->number, .vaddr = vaddr};
    struct box_reply reply;
    if (file->is_given_up)
        return hs_fail(err, HS_FORMAT, "the debug information of '%s' broke the reader before",
                       file->name);
    enum ask_end end = ASK_GONE;
    for (int attempt = 0; attempt < ASK_ATTEMPTS && end == ASK_GONE; attempt++) {
        if (attempt > 0)
            hs_box_stop_(file->box);
        if (file->box->pid == 0 || file->generation != file->box->generation)
            HS_TRY(file_send(file, ret, err)); /* the box in which it was open has ended */
        end = ask(file->box, &request, "", -1, &reply, ret);
    }
    if (end != ASK_ANSWERED)
        return file_blame(file, end, err);
    return reply.status == HS_OK ? HS_OK : file_refused(ret, err);
}
