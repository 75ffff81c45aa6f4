#include "capture.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

enum { MOST_ARGUMENTS = HS_MAX_ARGUMENTS + 16 };

/* The tool of the command that is run: of the other one all that is said of how to work. */
static struct hs_tool tool_below(const struct hs_tool *tool)
{
    struct hs_tool below = *tool;
    below.out = (struct hs_out){.fd = -1};
    below.terminal = (struct hs_terminal){0};
    below.hint[0] = '\0';
    below.spill_dir = NULL;
    below.lender = NULL;
    below.is_below = true;
    below.has_spill_dir = tool->budget.spill_dir != NULL;
    return below;
}

static hs_status run_into(struct hs_tool *tool, const struct hs_invocation *inv, int fd,
                          struct hs_error *err)
{
    struct hs_tool below = tool_below(tool);
    HS_TRY(hs_out_open_fd(fd, "memory", &below.out, err));
    hs_status status = inv->command->run(&below, inv, err);
    if (status == HS_OK)
        status = hs_out_commit(&below.out, err);
    hs_out_close(&below.out);
    hs_free(below.spill_dir);
    if (below.budget.peak_bytes > tool->budget.peak_bytes)
        tool->budget.peak_bytes = below.budget.peak_bytes;
    return status;
}

hs_status hs_capture(struct hs_tool *tool, const char *const *arguments, struct hs_map *ret,
                     struct hs_error *err)
{
    char *words[MOST_ARGUMENTS + 2] = {"heapsnap"}; /* the parser changes none of them */
    int n = 1;
    for (; arguments[n - 1] != NULL && n <= MOST_ARGUMENTS; n++)
        words[n] = (char *)(uintptr_t)arguments[n - 1];
    struct hs_invocation inv = {0};
    HS_TRY(hs_parse(n, words, &inv, err));
    int fd = memfd_create("heapsnap answer", MFD_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_LIMIT, "cannot keep what '%s' prints", arguments[0]);
    hs_status status = run_into(tool, &inv, fd, err);
    if (status == HS_OK && lseek(fd, 0, SEEK_SET) != 0)
        status = hs_fail_errno(err, HS_IO, "cannot read what '%s' printed", arguments[0]);
    if (status == HS_OK)
        status = hs_map_open_fd(fd, arguments[0], ret, err);
    (void)close(fd);
    return status;
}
