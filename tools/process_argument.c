#include "process_argument.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"

enum { COMM_BYTES = 64, MOST_LISTED = 10, TITLE_BYTES = 72 };

/* ---- which one */

/* Reads the beginning of a file of a process; its length, 0 when it cannot be read. */
static size_t read_of(const char *pid, const char *name, char *text, size_t n_bytes)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, n_bytes - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static void comm_of(const char *pid, char text[COMM_BYTES])
{
    (void)read_of(pid, "comm", text, COMM_BYTES);
    text[strcspn(text, "\n")] = '\0';
}

static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && n <= 10 && text[n] == '\0';
}

/* Tells whether a process is called so, or its program's file is. Threads of the kernel and what
 * has ended have no command line and are none. */
static bool is_called(const char *pid, const char *name)
{
    char comm[COMM_BYTES], path[64], file[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%s/exe", pid);
    ssize_t n = readlink(path, file, sizeof file - 1);
    file[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(file, '/');
    comm_of(pid, comm);
    return (strcmp(comm, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0)) &&
           read_of(pid, "cmdline", comm, sizeof comm) != 0;
}

/* Talks of a process as "4242 python3 server.py". */
static void talk_process(const char *pid)
{
    char title[TITLE_BYTES];
    size_t n = read_of(pid, "cmdline", title, sizeof title);
    for (size_t i = 0; i + 1 < n; i++)
        if (title[i] == '\0')
            title[i] = ' ';
    hs_talk("%s %s", pid, title);
}

/* Finds the processes that are called so but for ourselves: how many; *ret is the last. With
 * `is_told` the first of them are talked of. */
static size_t find_called(const char *name, bool is_told, pid_t *ret)
{
    size_t n = 0;
    DIR *all = opendir("/proc");
    for (struct dirent *one; all != NULL && (one = readdir(all)) != NULL;) {
        if (!is_number(one->d_name) || strtol(one->d_name, NULL, 10) == getpid() ||
            !is_called(one->d_name, name))
            continue;
        *ret = (pid_t)strtol(one->d_name, NULL, 10);
        if (is_told && n < MOST_LISTED)
            talk_process(one->d_name);
        n++;
    }
    if (all != NULL)
        (void)closedir(all);
    return n;
}

/* Tells whether a file is a core, or packed as systemd-coredump packs cores: no snapshot is. */
static bool is_core(const char *path)
{
    static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd}, lz4[] = {0x04, 0x22, 0x4d, 0x18};
    Elf64_Ehdr header;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_whole = fd >= 0 && read(fd, &header, sizeof header) == (ssize_t)sizeof header;
    if (fd >= 0)
        (void)close(fd);
    if (!is_whole)
        return false;
    return memcmp(&header, zstd, sizeof zstd) == 0 || memcmp(&header, lz4, sizeof lz4) == 0 ||
           (memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_CORE);
}

/* ---- the file */

/* Writes a name of a file that is not there yet. A process may call itself what it likes: what is
 * no plain letter becomes "_". */
static hs_status name_file(const char *name, const char *number, char path[HS_PROCESS_FILE_BYTES],
                           struct hs_error *err)
{
    enum { NAME_BYTES = 200, MOST = 10000 };
    char plain[NAME_BYTES];
    struct stat about;
    (void)snprintf(plain, sizeof plain, "%s%s%s", name[0] != '\0' ? name : "process",
                   number[0] != '\0' ? "." : "", number);
    for (char *at = plain; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_+-.", *at) == NULL)
            *at = '_';
    if (plain[0] == '-' || plain[0] == '.')
        plain[0] = '_';
    for (int i = 1; i < MOST; i++) {
        if (i == 1)
            (void)snprintf(path, HS_PROCESS_FILE_BYTES, "%s.snap", plain);
        else
            (void)snprintf(path, HS_PROCESS_FILE_BYTES, "%s.%d.snap", plain, i);
        if (lstat(path, &about) != 0 && errno == ENOENT)
            return HS_OK;
    }
    (void)hs_fail(err, HS_IO, "cannot name a snapshot '%s.snap'", plain);
    return hs_hint(err, "there are %d of that name here: 'heapsnap dump -o FILE' names one", MOST);
}

/* Makes the invocation of the dump: what both commands take counts for both. */
static void plan_dump(const struct hs_invocation *inv, const char *path, struct hs_invocation *ret)
{
    const struct hs_command *dump = hs_find_command("dump");
    *ret = *inv;
    ret->command = dump;
    ret->n_repeated = 0;
    hs_give_only(ret, dump);
    ret->given[HS_OPT_TIMINGS] = ret->given[HS_OPT_TIMINGS_FILE] = false;
    ret->given[HS_OPT_OUTPUT] = true;
    ret->text[HS_OPT_OUTPUT] = path;
}

static hs_status dump(struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_tool tool = {0};
    hs_status status = hs_tool_init(&tool, inv, err);
    tool.is_below = true;
    if (status == HS_OK)
        status = hs_cmd_dump(&tool, inv, err);
    hs_tool_fini(&tool);
    if (status == HS_IO && err->hint[0] == '\0')
        (void)hs_hint(err, "ask from a directory where you may write, or give the file: heapsnap "
                           "dump ... -o FILE");
    return status;
}

static hs_status dump_core(const struct hs_invocation *inv, char path[HS_PROCESS_FILE_BYTES],
                           struct hs_error *err)
{
    struct hs_invocation below;
    const char *slash = strrchr(inv->arguments[0], '/');
    HS_TRY(name_file(slash != NULL ? slash + 1 : inv->arguments[0], "", path, err));
    plan_dump(inv, path, &below);
    below.n_arguments = 0;
    below.given[HS_OPT_CORE] = true;
    below.text[HS_OPT_CORE] = inv->arguments[0];
    HS_TRY(dump(&below, err));
    hs_talk("the snapshot is '%s'", path);
    return HS_OK;
}

static hs_status dump_process(const struct hs_invocation *inv, const char *pid,
                              char path[HS_PROCESS_FILE_BYTES], struct hs_error *err)
{
    struct hs_invocation below;
    char comm[COMM_BYTES];
    comm_of(pid, comm);
    HS_TRY(name_file(comm, pid, path, err));
    plan_dump(inv, path, &below);
    below.n_arguments = 1;
    below.arguments[0] = pid;
    HS_TRY(dump(&below, err));
    hs_talk("the snapshot is '%s'", path);
    return HS_OK;
}

/* Waits, unless a signal asks us to end. */
static hs_status wait_for(uint64_t ns, struct hs_error *err)
{
    enum { STEP_NS = 100000000 };
    for (uint64_t left = ns; left > 0 && hs_tool_interrupted() == 0;) {
        uint64_t step = left < STEP_NS ? left : STEP_NS;
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)step}, NULL);
        left -= step;
    }
    return hs_tool_interrupted() == 0 ? HS_OK : hs_fail(err, HS_IO, "interrupted");
}

/* Dumps a second time, after the time of --again: what grew since the first leads. */
static hs_status dump_again(struct hs_process_argument *ret, struct hs_invocation *inv,
                            const char *pid, struct hs_error *err)
{
    if (inv->n_repeated == HS_MAX_REPEATED)
        return hs_fail(err, HS_USAGE, "--baseline is given more than %d times",
                       HS_MAX_REPEATED - 1);
    memcpy(ret->older, ret->newest, sizeof ret->older);
    HS_TRY(wait_for(inv->number[HS_OPT_AGAIN], err));
    HS_TRY(dump_process(inv, pid, ret->newest, err));
    inv->repeated_id[inv->n_repeated] = HS_OPT_OLDER;
    inv->repeated[inv->n_repeated++] = ret->older;
    inv->given[HS_OPT_OLDER] = true;
    return HS_OK;
}

/* Finds the process that an argument means; "" when it means none. */
static hs_status find_process(const char *word, char pid[16], struct hs_error *err)
{
    pid_t found = 0;
    struct stat about;
    char path[32];
    pid[0] = '\0';
    if (word[0] == '\0' || strchr(word, '/') != NULL)
        return HS_OK;
    size_t n = 1;
    if (is_number(word)) {
        (void)snprintf(path, sizeof path, "/proc/%.10s", word);
        n = stat(path, &about) == 0;
        (void)snprintf(pid, 16, "%.10s", n != 0 ? word : "");
        return HS_OK;
    }
    n = find_called(word, /* is_told= */ false, &found);
    if (n == 1)
        (void)snprintf(pid, 16, "%d", found);
    if (n <= 1)
        return HS_OK;
    n = find_called(word, /* is_told= */ true, &found);
    if (n > MOST_LISTED)
        hs_talk("and %zu others", n - MOST_LISTED);
    (void)hs_fail(err, HS_USAGE, "cannot tell which process is meant: %zu are called '%s'", n,
                  word);
    return hs_hint(err, "say the number of one");
}

/* Replaces the name of a process by its number, for a command that takes nothing but a process. */
static hs_status take_name(struct hs_process_argument *ret, struct hs_invocation *inv,
                           struct hs_error *err)
{
    if (inv->n_arguments == 0 || is_number(inv->arguments[0]))
        return HS_OK;
    HS_TRY(find_process(inv->arguments[0], ret->pid, err));
    if (ret->pid[0] != '\0')
        inv->arguments[0] = ret->pid;
    return HS_OK;
}

hs_status hs_process_argument_take(struct hs_process_argument *ret, struct hs_invocation *inv,
                                   struct hs_error *err)
{
    static const char taken[] = "SNAP|PID";
    char pid[16] = "";
    struct stat about;
    const char *word = inv->arguments[0];
    bool is_again = hs_given(inv, HS_OPT_AGAIN);
    *ret = (struct hs_process_argument){.newest = ""};
    if (strcmp(inv->command->arguments, "PID") == 0)
        return take_name(ret, inv, err);
    if (strncmp(inv->command->arguments, taken, strlen(taken)) != 0 || strcmp(word, "-") == 0)
        return HS_OK;
    bool is_file = stat(word, &about) == 0;
    if (!is_file)
        HS_TRY(find_process(word, pid, err));
    if (is_again && pid[0] == '\0') {
        (void)hs_fail(err, HS_USAGE, "--again: '%s' is no process", word);
        return hs_hint(err, "of snapshots --baseline OLDER leads with what grew");
    }
    if (pid[0] != '\0')
        HS_TRY(dump_process(inv, pid, ret->newest, err));
    else if (is_file && S_ISREG(about.st_mode) && is_core(word))
        HS_TRY(dump_core(inv, ret->newest, err));
    if (is_again)
        HS_TRY(dump_again(ret, inv, pid, err));
    if (ret->newest[0] != '\0')
        inv->arguments[0] = ret->newest;
    return HS_OK;
}
