#include "boxed/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "box/wire.h"
#include "boxed/frames.h"
#include "boxed/line_reader.h"

/* The file that is open under one number: one of the two, or nothing. */
struct server_file {
    struct hs_elf *elf;
    struct hs_frame_tables *frames;
    struct hs_dwarf *lines;
};

struct server {
    int socket;
    const struct hs_box_confinement *confinement;
    struct server_file *files; /* owned, by number */
    size_t n_files, capacity;
    uint8_t *answer; /* owned: BOX_MAX_BYTES */
    size_t n_answer; /* behind the head */
};

static void file_close(struct server_file *file)
{
    hs_frame_tables_close(file->frames);
    hs_dwarf_close(file->lines);
    hs_elf_close(file->elf);
    *file = (struct server_file){0};
}

/* A request and the descriptor that came with it, or -1. False at the end. */
static bool server_receive(struct server *server, struct box_request *request, char *name,
                           int *ret_fd, hs_status *ret, struct hs_error *err)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec parts[2] = {{request, sizeof(*request)}, {name, BOX_NAME_BYTES}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t n;
    *ret_fd = -1;
    *ret = HS_OK;
    while ((n = recvmsg(server->socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (n == 0)
        return false;
    if (n < 0) {
        *ret = hs_fail_errno(err, HS_IO, "cannot hear what is asked");
        return false;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(head), sizeof(*ret_fd));
    if ((size_t)n < sizeof(*request) || request->magic != BOX_MAGIC ||
        request->n_name_bytes != (size_t)n - sizeof(*request) || request->file >= BOX_MAX_FILES) {
        *ret = hs_fail(err, HS_FORMAT, "what is asked is of another version");
        return false;
    }
    name[request->n_name_bytes] = '\0';
    return true;
}

static bool server_send(struct server *server, const struct box_request *request, hs_status status)
{
    const struct box_reply head = {.magic = BOX_MAGIC,
                                   .kind = request->kind,
                                   .serial = request->serial,
                                   .status = status,
                                   .n_bytes = (uint32_t)server->n_answer,
                                   .how = server->confinement->how};
    struct iovec parts[2] = {{(void *)(uintptr_t)&head, sizeof(head)},
                             {server->answer, server->n_answer}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n;
    while ((n = sendmsg(server->socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)(sizeof(head) + server->n_answer);
}

static void answer_add(struct server *server, const void *bytes, size_t n)
{
    memcpy(server->answer + server->n_answer, bytes, n);
    server->n_answer += n;
}

/* Opens the tables. Once they are open the file itself is not needed. */
static hs_status open_from(struct server_file *file, int fd, const char *name, bool is_frames,
                           struct hs_error *err)
{
    HS_TRY(hs_elf_open_sections(fd, name, &file->elf, err));
    if (is_frames)
        HS_TRY(hs_frame_tables_open(file->elf, &file->frames, err));
    else
        HS_TRY(hs_dwarf_open(file->elf, &file->lines, err));
    hs_elf_let_go(file->elf);
    return HS_OK;
}

static hs_status answer_open(struct server *server, const struct box_request *request,
                             const char *name, int fd, struct hs_error *err)
{
    HS_TRY(HS_GROW(&server->files, &server->capacity, (size_t)request->file + 1, err));
    if (server->n_files <= request->file)
        server->n_files = (size_t)request->file + 1;
    struct server_file *file = &server->files[request->file];
    file_close(file);
    hs_status status = open_from(file, fd, name, request->kind == BOX_OPEN_FRAMES, err);
    if (status != HS_OK) {
        file_close(file);
        return status;
    }
    struct box_opened opened = {0};
    if (file->frames != NULL)
        opened.n_functions = hs_frame_tables_n_functions(file->frames);
    answer_add(server, &opened, sizeof(opened));
    return HS_OK;
}

static hs_status answer_row(struct server *server, struct server_file *file, hs_addr vaddr,
                            struct hs_error *err)
{
    struct frame_row row;
    uint8_t expressions[FRAME_ROW_EXPRESSION_BYTES];
    if (file->frames == NULL)
        return hs_fail(err, HS_FORMAT, "no frame tables are open under this number");
    hs_frame_tables_row(file->frames, vaddr, &row, expressions);
    answer_add(server, &row, sizeof(row));
    answer_add(server, expressions, row.n_expression_bytes);
    return HS_OK;
}

static hs_status answer_source(struct server *server, struct server_file *file,
                               const struct box_request *request, struct hs_error *err)
{
    struct hs_dwarf_source source = {0};
    if (file->lines == NULL)
        return hs_fail(err, HS_FORMAT, "no debug information is open under this number");
    if (request->kind == BOX_CODE)
        HS_TRY(hs_dwarf_find_code(file->lines, request->vaddr, &source, err));
    else
        HS_TRY(hs_dwarf_find_variable(file->lines, request->vaddr, &source, err));
    const char *path = hs_dwarf_text(file->lines, source.file);
    const char *name = hs_dwarf_text(file->lines, source.name);
    size_t n_path = strlen(path) + 1, n_name = strlen(name) + 1;
    if (n_path > BOX_TEXT_BYTES)
        path = "", n_path = 1;
    if (n_name > BOX_TEXT_BYTES)
        name = "", n_name = 1;
    const struct box_source head = {.n_damaged = hs_dwarf_n_damaged(file->lines),
                                    .line = source.line,
                                    .n_file_bytes = (uint32_t)n_path,
                                    .n_name_bytes = (uint32_t)n_name,
                                    .bytes_before = source.bytes_before};
    answer_add(server, &head, sizeof(head));
    answer_add(server, path, n_path);
    answer_add(server, name, n_name);
    return HS_OK;
}

static hs_status answer(struct server *server, const struct box_request *request, const char *name,
                        int fd, struct hs_error *err)
{
    static struct server_file none;
    struct server_file *file =
        request->file < server->n_files ? &server->files[request->file] : &none;
    if ((server->confinement->how & BOX_HOW_FAILED) != 0)
        return hs_fail(err, HS_FORMAT, "%s", server->confinement->why);
    switch (request->kind) {
    case BOX_OPEN_FRAMES:
    case BOX_OPEN_LINES:
        return answer_open(server, request, name, fd, err);
    case BOX_CLOSE:
        file_close(file);
        return HS_OK;
    case BOX_ROW:
        return answer_row(server, file, request->vaddr, err);
    case BOX_CODE:
    case BOX_VARIABLE:
        return answer_source(server, file, request, err);
    default:
        return hs_fail(err, HS_FORMAT, "nobody asks this");
    }
}

static hs_status server_run(struct server *server, struct hs_error *err)
{
    char name[BOX_NAME_BYTES + 1];
    struct box_request request;
    hs_status status;
    int fd;
    while (server_receive(server, &request, name, &fd, &status, err)) {
        struct hs_error why = HS_ERROR_INIT;
        server->n_answer = 0;
        hs_status answered = answer(server, &request, name, fd, &why);
        if (fd >= 0)
            close(fd);
        if (answered != HS_OK) {
            server->n_answer = 0;
            answer_add(server, why.message, strlen(why.message));
        }
        if (!server_send(server, &request, answered))
            return hs_fail_errno(err, HS_IO, "cannot answer");
    }
    if (fd >= 0)
        close(fd);
    return status;
}

hs_status hs_box_serve(int socket, const struct hs_box_confinement *confinement,
                       struct hs_error *err)
{
    struct server server = {.socket = socket, .confinement = confinement};
    HS_TRY(hs_alloc(1, BOX_MAX_BYTES, (void **)&server.answer, err));
    hs_status status = server_run(&server, err);
    for (size_t i = 0; i < server.n_files; i++)
        file_close(&server.files[i]);
    hs_free(server.files);
    hs_free(server.answer);
    return status;
}
