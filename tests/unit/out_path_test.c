/* links: hs_base */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

#define OTHER_USER 65534

static char directory[64], path[128], beside[128];
static struct hs_error err;

static int make_directory(void **state)
{
    err = (struct hs_error)HS_ERROR_INIT;
    (void)snprintf(directory, sizeof directory, "%s", "/tmp/hs_out_path_test.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/heap.snap", directory);
    (void)snprintf(beside, sizeof beside, "%s/beside", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)unlink(path);
    (void)unlink(beside);
    return rmdir(directory); /* fails when anything was left behind */
}

static void put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static void assert_content(const char *name, const char *expected)
{
    struct hs_map map = {0};
    assert_int_equal(hs_map_open(name, &map, &err), HS_OK);
    assert_int_equal(map.n_bytes, strlen(expected));
    assert_memory_equal(map.bytes, expected, map.n_bytes);
    hs_map_close(&map);
}

static hs_status write_to(const char *name, const char *text)
{
    struct hs_out out = {0};
    hs_status status = hs_out_open_path(name, &out, &err);
    if (status == HS_OK)
        status = hs_out_write(&out, text, strlen(text), &err);
    if (status == HS_OK)
        status = hs_out_commit(&out, &err);
    hs_out_close(&out);
    return status;
}

static void given_to_another(const char *name)
{
    if (geteuid() != 0) {
        (void)unlink(name);
        (void)unlink(beside);
        skip();
    }
    assert_int_equal(lchown(name, OTHER_USER, OTHER_USER), 0);
}

/* What another put under our name to have us overwrite a file that only we can write. */
static void refuses_another_users_link(void **state)
{
    put(beside, "precious");
    assert_int_equal(symlink(beside, path), 0);
    given_to_another(path);
    assert_int_equal(write_to(path, "new"), HS_IO);
    assert_non_null(strstr(err.message, "it is another user's link"));
    assert_true(err.hint[0] != '\0');
    assert_content(beside, "precious");
    assert_int_equal(unlink(beside), 0);
    assert_int_equal(write_to(path, "new"), HS_IO); /* one that leads nowhere makes nothing there */
    assert_int_equal(access(beside, F_OK), -1);
}

/* ... or to have us tell everything to whoever reads the other end. */
static void refuses_another_users_pipe(void **state)
{
    assert_int_equal(mkfifo(path, 0666), 0);
    given_to_another(path);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(write_to(path, "new"), HS_IO);
    assert_non_null(strstr(err.message, "it is another user's pipe"));
    char byte;
    assert_int_equal(read(reader, &byte, 1), 0);
    (void)close(reader);
}

/* A file that another made and can read is not filled: a new one takes its place. */
static void replaces_another_users_file(void **state)
{
    struct stat about;
    put(path, "old");
    assert_int_equal(chmod(path, 0666), 0);
    given_to_another(path);
    int watcher = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(write_to(path, "new"), HS_OK);
    char bytes[8];
    assert_int_equal(read(watcher, bytes, sizeof bytes), 3);
    assert_memory_equal(bytes, "old", 3);
    (void)close(watcher);
    assert_content(path, "new");
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, geteuid());
    assert_int_equal(about.st_mode & 07777, 0600);
}

static void follows_our_links_wherever_they_lie(void **state)
{
    struct stat about;
    assert_int_equal(symlink("beside", path), 0); /* seen from where it lies */
    assert_int_equal(write_to(path, "one"), HS_OK);
    assert_content(beside, "one");
    assert_int_equal(write_to(path, "two"), HS_OK);
    assert_content(beside, "two");
    assert_int_equal(lstat(path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(unlink(beside), 0);
    assert_int_equal(symlink("heap.snap", beside), 0); /* round and round */
    assert_int_equal(write_to(path, "three"), HS_IO);
    assert_non_null(strstr(err.message, "Too many levels"));
}

static void writes_to_what_a_descriptor_has(void **state)
{
    char name[32], bytes[8];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    assert_int_equal(write_to(name, "piped"), HS_OK);
    assert_int_equal(read(ends[0], bytes, sizeof bytes), 5);
    assert_memory_equal(bytes, "piped", 5);
    (void)close(ends[0]);
    (void)close(ends[1]);
    put(path, "old");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(write_to(name, "new"), HS_OK);
    assert_content(path, "new");
    assert_int_equal(unlink(path), 0); /* then there is no name that could be given to another */
    assert_int_equal(write_to(name, "NEW"), HS_OK);
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), 3);
    assert_int_equal(access(path, F_OK), -1);
    (void)close(fd);
}

static size_t files_in_directory(void)
{
    DIR *files = opendir(directory);
    size_t n = 0;
    assert_non_null(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;)
        n += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    (void)closedir(files);
    return n;
}

/* Whatever is written when SIGKILL comes, nothing of it stays. */
static void nothing_stays_of_a_killed_writer(void **state)
{
    struct hs_out out = {0};
    int ready[2];
    char byte;

    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    bool is_named = out.is_named;
    hs_out_close(&out);
    if (is_named)
        skip(); /* a file system without files without names */
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        static const char piece[100000] = "half";
        if (hs_out_open_path(path, &out, &err) == HS_OK &&
            hs_out_write(&out, piece, sizeof piece, &err) == HS_OK)
            (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(files_in_directory(), 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* What somebody puts there while we write is replaced, not followed. */
static void a_link_that_comes_later_is_replaced(void **state)
{
    struct hs_out out = {0};
    put(beside, "precious");
    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    assert_int_equal(symlink(beside, path), 0);
    assert_int_equal(hs_out_write(&out, "new", 3, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_content(beside, "precious");
    assert_content(path, "new");
    assert_int_equal(files_in_directory(), 2);
}

/* Has the kernel say that it knows no files without names, as some file systems do. */
static bool forbid_unnamed_files(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* 0, or the number of the step that went wrong. */
static int write_by_neighbours(void)
{
    struct hs_out out = {0};
    struct stat about;

    if (!forbid_unnamed_files())
        return 77;
    for (int replaced = 0; replaced < 2; replaced++) {
        if (hs_out_open_path(path, &out, &err) != HS_OK || !out.is_named)
            return 1;
        if (stat(out.temporary, &about) != 0 || (about.st_mode & 07777) != 0600)
            return 2;
        if (hs_out_write(&out, "new", 3, &err) != HS_OK || hs_out_commit(&out, &err) != HS_OK)
            return 3;
        hs_out_close(&out);
    }
    if (hs_out_open_path(path, &out, &err) != HS_OK)
        return 4;
    hs_out_close(&out);
    return 0;
}

static void works_where_every_file_has_a_name(void **state)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(write_by_neighbours());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip(); /* no such filters here */
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_content(path, "new");
    assert_int_equal(files_in_directory(), 1);
}

static void every_allocation_may_fail(void **state)
{
    struct hs_out_path found = {0};
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_out_path_find(path, &found, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_null(found.path);
    assert_int_equal(hs_out_path_find(path, &found, &err), HS_OK);
    assert_string_equal(found.path, path);
    hs_out_path_fini(&found);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(refuses_another_users_link),
        IN_DIRECTORY(refuses_another_users_pipe),
        IN_DIRECTORY(replaces_another_users_file),
        IN_DIRECTORY(follows_our_links_wherever_they_lie),
        IN_DIRECTORY(writes_to_what_a_descriptor_has),
        IN_DIRECTORY(nothing_stays_of_a_killed_writer),
        IN_DIRECTORY(a_link_that_comes_later_is_replaced),
        IN_DIRECTORY(works_where_every_file_has_a_name),
        IN_DIRECTORY(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
