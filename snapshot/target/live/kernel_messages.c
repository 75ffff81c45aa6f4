/* POSIX's queues of messages: what lies in them cannot be read without taking it, and neither can
 * what mq_notify(3) was given. So it is only found out whether there is something that the process
 * may have put there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/kernel_words.h"
#include "target/procfs.h"
#include "target_private.h"

enum { MESSAGES_MQUEUE_MAGIC = 0x19800202, MESSAGES_FILE_BYTES = 80 }; /* ipc/mqueue.c */

/* The number behind `key`; false when there is none. */
static bool messages_number(const char *text, const char *key, uint64_t *ret)
{
    const char *at = strstr(text, key);

    if (at == NULL)
        return false;
    at += strlen(key);
    const char *digits = at;
    return hs_proc_digits(&at, text + strlen(text), 10, ret) && at != digits;
}

/* "QSIZE:16         NOTIFY:2     SIGNO:34    NOTIFY_PID:4711  " */
void hs_kernel_words_of_mqueue(struct hs_target *target, const char *text)
{
    uint64_t n_bytes, pid;

    if (!messages_number(text, "QSIZE:", &n_bytes) || n_bytes != 0 ||
        !messages_number(text, "NOTIFY_PID:", &pid) || pid != 0)
        target->untold |= HS_UNTOLD_MESSAGES;
}

/* A queue is of a file system that is mounted nowhere, so that its link has one component, and its
 * file has one size. Only what looks so is opened: others may hang (a file server), or mind. */
static bool messages_may_be_queue(const char *path, const char *link)
{
    struct statx found;

    return link[0] == '/' && strchr(link + 1, '/') == NULL &&
           statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &found) == 0 &&
           S_ISREG(found.stx_mode) && found.stx_dev_major == 0 &&
           found.stx_size == MESSAGES_FILE_BYTES;
}

void hs_kernel_words_of_queue_file(struct hs_target *target, uint32_t fd, const char *link)
{
    char path[HS_PROC_PATH_BYTES], text[MESSAGES_FILE_BYTES + 1] = "";
    struct statfs system;

    (void)snprintf(path, sizeof path, "/proc/%d/fd/%u", target->live.pid, fd);
    if (!messages_may_be_queue(path, link))
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file >= 0 && (fstatfs(file, &system) != 0 || system.f_type != MESSAGES_MQUEUE_MAGIC)) {
        close(file);
        return;
    }
    ssize_t n = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0)
        close(file);
    text[n > 0 ? n : 0] = '\0';
    hs_kernel_words_of_mqueue(target, text);
}
