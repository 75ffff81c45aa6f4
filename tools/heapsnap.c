/* heapsnap: the entry. Parses, runs one command, maps its status to the exit code. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "look/memory_report.h"
#include "lost_file.h"
#include "process_argument.h"
#include "tool.h"

/* Read by jemalloc(3): pages that are freed go back at once. By default they stay for seconds, and
 * --memory is a promise of what is resident: half of it was freed memory. Whatever is large and
 * short-lived is mapped by base/alloc.c, so that this costs no time that could be measured. */
extern const char *malloc_conf;
const char *malloc_conf = "dirty_decay_ms:0,muzzy_decay_ms:0";

static hs_status show_help(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_error *err)
{
    return hs_tool_help(tool, inv->command, inv->wants_short_help, err);
}

static hs_status run(struct hs_tool *tool, struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_process_argument dumped;
    HS_TRY(hs_tool_init(tool, inv, err));
    if (inv->command == NULL || inv->wants_help || inv->wants_short_help) {
        HS_TRY(show_help(tool, inv, err));
    } else {
        HS_TRY(hs_process_argument_take(&dumped, inv, err));
        HS_TRY(inv->command->run(tool, inv, err));
    }
    return hs_tool_commit(tool, err);
}

/* A closed standard descriptor would be the number of the next file we open, and talk be written
 * into an index. It is held the wrong way round, so that its use still fails. */
static void hold_standard_descriptors(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", modes[fd]);
}

/* Ends by a signal, as the program did that we ran; its core is enough. */
static void end_by(int number)
{
    struct rlimit no_core = {0, 0};
    sigset_t set;
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(number);
}

/* Ends the program when its limits leave it next to nothing: the allocator would break in its first
 * call. */
static void refuse_without_memory(void)
{
    static const char text[] =
        "heapsnap: cannot begin: the limits of this process (ulimit -v, ulimit -d) leave it less "
        "than 12 MiB\nhint: ulimit -v 100000, or unlimited\n";
    if (hs_memory_can_begin(HS_TOOL_BEGIN_BYTES))
        return;
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    (void)n; /* nobody else can be told */
    _exit(hs_exit_code(HS_LIMIT));
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    struct hs_tool tool = {0};
    hold_standard_descriptors();
    refuse_without_memory();
    hs_lost_file_watch();
    hs_status status = hs_parse(argc, argv, &inv, &err);
    bool is_bare = status == HS_OK && argc < 2;
    if (status == HS_OK)
        status = run(&tool, &inv, &err);
    hs_tool_fini(&tool);
    if (status != HS_OK)
        hs_talk_error(&err);
    if (tool.is_verbose)
        hs_talk_memory_report(&tool.budget);
    struct hs_error timings_err = HS_ERROR_INIT;
    if (hs_tool_tell_timings(&tool, &inv, &timings_err) != HS_OK) {
        hs_talk_error(&timings_err);
        status = status == HS_OK ? HS_IO : status;
    }
    /* Without a command the overview is an answer, but not to what a script wanted. */
    if (is_bare && status == HS_OK)
        return hs_exit_code(HS_USAGE);
    if (status != HS_OK && hs_tool_interrupted() != 0)
        return 128 + hs_tool_interrupted(); /* as shells say it: 130 after Ctrl-C */
    if (status != HS_OK)
        return hs_exit_code(status);
    if (tool.exit_signal != 0)
        end_by(tool.exit_signal);
    return tool.threshold_crossed ? 1 : tool.exit_code;
}
