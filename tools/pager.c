/* Help that is longer than the terminal goes through a pager, as git's does: that of PAGER, or
 * less. What is no terminal never sees one. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

static hs_status write_help(struct hs_out *out, const struct hs_command *command, bool is_short,
                            struct hs_error *err)
{
    return command == NULL ? hs_help_overview(out, err)
                           : hs_help_command(out, command, is_short, err);
}

/* The help as a file without a name, at its beginning; its number of lines. */
static hs_status help_file(const struct hs_command *command, bool is_short, int *ret_fd,
                           size_t *ret_n_lines, struct hs_error *err)
{
    struct hs_out out = {0};
    char piece[4096];
    int fd = memfd_create("help", MFD_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot make a file for the help");
    hs_status status = hs_out_open_fd(fd, "the help", &out, err);
    if (status == HS_OK)
        status = write_help(&out, command, is_short, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    size_t n_lines = 0;
    off_t at = 0;
    for (ssize_t n; status == HS_OK && (n = pread(fd, piece, sizeof piece, at)) > 0; at += n)
        for (ssize_t i = 0; i < n; i++)
            n_lines += piece[i] == '\n';
    if (status == HS_OK && lseek(fd, 0, SEEK_SET) == 0) {
        *ret_fd = fd;
        *ret_n_lines = n_lines;
        return HS_OK;
    }
    (void)close(fd);
    return status == HS_OK ? hs_fail_errno(err, HS_IO, "cannot read the help") : status;
}

/* The child: signals are its own again; a shell understands what PAGER says. */
static void run_pager(const char *pager, int fd)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (dup2(fd, STDIN_FILENO) < 0)
        _exit(127);
    (void)setenv("LESS", "FRX", /* overwrite= */ 0); /* git's: ends where all fits, keeps colours */
    (void)execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
}

/* Shows a text in a pager. False when the shell could not start it. */
static bool page(const char *pager, int fd)
{
    int wait_status = 0;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    if (sigaction(SIGINT, &ignore, &before) != 0) /* Ctrl-C in a pager is the pager's */
        return false;
    pid_t pid = fork();
    if (pid == 0)
        run_pager(pager, fd);
    while (pid > 0 && waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    (void)sigaction(SIGINT, &before, NULL);
    return pid > 0 && !(WIFEXITED(wait_status) &&
                        (WEXITSTATUS(wait_status) == 126 || WEXITSTATUS(wait_status) == 127));
}

hs_status hs_tool_help(struct hs_tool *tool, const struct hs_command *command, bool is_short,
                       struct hs_error *err)
{
    const char *pager = getenv("PAGER");
    int fd = -1;
    size_t n_lines = 0;
    if (pager == NULL)
        pager = "less";
    if (!tool->terminal.is_terminal || pager[0] == 0 || strcmp(pager, "cat") == 0)
        return write_help(&tool->out, command, is_short, err);
    HS_TRY(help_file(command, is_short, &fd, &n_lines, err));
    bool is_shown = n_lines >= tool->terminal.height && page(pager, fd);
    (void)close(fd);
    return is_shown ? HS_OK : write_help(&tool->out, command, is_short, err);
}
