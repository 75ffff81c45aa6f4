#include "record_held.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The constants of Linux, for older C libraries. */
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#define HELD_CLOEXEC 1U
#define HELD_SEALING 2U
#define HELD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)
#define PAGE_BYTES 4096U

static bool send_descriptor(int socket, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    char text[] = HS_RECORD_HELD_MESSAGE;
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    memset(&control, 0, sizeof control);
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    return syscall(SYS_sendmsg, socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           (long)sizeof text - 1;
}

static void *map(int fd)
{
    void *area = MAP_FAILED;

    if (syscall(SYS_ftruncate, fd, sizeof(struct hs_record_held)) == 0 &&
        fcntl(fd, F_ADD_SEALS, HELD_SEALS) == 0)
        area = mmap(NULL, sizeof(struct hs_record_held), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return area == MAP_FAILED ? NULL : area;
}

static bool own(struct hs_record_holder *holder)
{
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return false;
    holder->owner = page;
    *holder->owner = 1;
    return madvise(page, PAGE_BYTES, MADV_WIPEONFORK) == 0;
}

void hs_record_held_open(struct hs_record_holder *holder, int socket)
{
    int fd = (int)syscall(SYS_memfd_create, "heapsnap-record", HELD_CLOEXEC | HELD_SEALING);

    *holder = (struct hs_record_holder){NULL, NULL};
    if (fd < 0)
        return;
    holder->area = map(fd);
    if (holder->area == NULL || !own(holder) || !send_descriptor(socket, fd))
        hs_record_held_close(holder);
    (void)syscall(SYS_close, fd);
}

void hs_record_held_close(struct hs_record_holder *holder)
{
    if (holder->area != NULL)
        (void)munmap(holder->area, sizeof *holder->area);
    if (holder->owner != NULL)
        (void)munmap(holder->owner, PAGE_BYTES);
    *holder = (struct hs_record_holder){NULL, NULL};
}

static bool is_ours(const struct hs_record_holder *holder)
{
    return holder->area != NULL && *holder->owner != 0;
}

void hs_record_held_tell(const struct hs_record_holder *holder, unsigned ocaml)
{
    if (is_ours(holder))
        __atomic_store_n(&holder->area->ocaml, ocaml, __ATOMIC_RELEASE);
}

static uint64_t after(uint64_t state, enum hs_record_held_state what)
{
    return ((state | HS_RECORD_HELD_STATE) + 1) | (uint64_t)what;
}

bool hs_record_held_begin(const struct hs_record_holder *holder)
{
    uint64_t state;

    if (!is_ours(holder))
        return false;
    state = __atomic_load_n(&holder->area->state, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(&holder->area->state, &state,
                                        after(state, HS_RECORD_HELD_BUSY), false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ; /* it was taken in between, which happens once */
    return (state & HS_RECORD_HELD_STATE) == HS_RECORD_HELD_TAKEN;
}

/* Copies the part that was added since the last time, and the header. */
static uint32_t copy(struct hs_record_packet *packet, uint8_t *to, uint64_t now_us)
{
    uint32_t from = packet->n_shared;

    if (packet->n_bytes == 0)
        return 0;
    hs_record_packet_end(packet, now_us);
    memcpy(to + from, packet->bytes + from, packet->n_bytes - from);
    if (from != 0)
        memcpy(to, packet->bytes, HS_RECORD_HEADER_BYTES);
    packet->n_shared = packet->n_bytes;
    return packet->n_bytes;
}

void hs_record_held_end(const struct hs_record_holder *holder, struct hs_record_packet *names,
                        struct hs_record_packet *events, uint64_t now_us)
{
    struct hs_record_held *area = holder->area;

    _Static_assert(HS_RECORD_HELD_BYTES == HS_RECORD_PACKET_BYTES, "a packet fits");
    if (!is_ours(holder))
        return;
    area->n_names = copy(names, area->names, names->begin_us);
    area->n_events = copy(events, area->events, now_us);
    __atomic_store_n(&area->state,
                     after(area->state, area->n_names + area->n_events != 0 ? HS_RECORD_HELD_OPEN
                                                                            : HS_RECORD_HELD_EMPTY),
                     __ATOMIC_RELEASE);
}
