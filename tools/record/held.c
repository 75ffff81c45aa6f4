#include "held.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "recorder/held.h"
#include <heapsnap/recorded.h>

enum { MAX_AREAS = 256 };
/* The least time between two looks: nothing is held back for longer than a second; the poll of
 * whoever calls has its part of that. */
#define LOOK_NS (UINT64_C(400) * 1000000)

struct hs_held {
    struct hs_record_held *area; /* mapped: may change at any time */
    pid_t pid;
    bool is_gone; /* the process; what it sent last may still be on its way */
};

/* Tells whether a descriptor is memory that no one can take away from under us, and of pages of the
 * usual size. */
static bool is_sound(int fd)
{
    struct stat about;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &about) == 0 &&
           about.st_size == (off_t)sizeof(struct hs_record_held) &&
           about.st_blksize == sysconf(_SC_PAGESIZE);
}

static void give(struct hs_held_list *list, const uint8_t *bytes, uint32_t n_bytes)
{
    if (n_bytes != 0)
        list->take(list->context, bytes, n_bytes);
}

static void take(struct hs_held_list *list, struct hs_held *held)
{
    static struct hs_record_held copy; /* of hostile memory: looked at once it is ours */
    uint64_t state = __atomic_load_n(&held->area->state, __ATOMIC_ACQUIRE);
    if ((state & HS_RECORD_HELD_STATE) != HS_RECORD_HELD_OPEN)
        return;
    memcpy(&copy, held->area, sizeof copy);
    if (copy.n_names > HS_RECORD_HELD_BYTES || copy.n_events > HS_RECORD_HELD_BYTES ||
        !__atomic_compare_exchange_n(&held->area->state, &state, state | HS_RECORD_HELD_TAKEN,
                                     false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    give(list, copy.names, copy.n_names);
    give(list, copy.events, copy.n_events);
}

/* Drops the list's entry of a process that changes it no more. */
static void let_go(struct hs_held_list *list, size_t at)
{
    struct hs_held *held = &list->areas[at];
    uint64_t state = __atomic_load_n(&held->area->state, __ATOMIC_ACQUIRE);
    uint64_t ocaml = __atomic_load_n(&held->area->ocaml, __ATOMIC_ACQUIRE);
    if (ocaml != HS_RECORD_OCAML_NONE && ocaml < HS_RECORD_N_OCAML)
        list->ocaml = (unsigned)ocaml;
    list->n_torn += (state & HS_RECORD_HELD_STATE) == HS_RECORD_HELD_BUSY;
    take(list, held);
    (void)munmap(held->area, sizeof *held->area);
    memmove(held, held + 1, (--list->n_areas - at) * sizeof *held);
}

void hs_held_add(struct hs_held_list *list, int fd, pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT; /* then the process sends what it can by itself */
    void *area = MAP_FAILED;
    for (size_t i = list->n_areas; i-- > 0;)
        if (list->areas[i].pid == pid)
            let_go(list, i);
    if (list->n_areas == MAX_AREAS)
        let_go(list, 0);
    if (is_sound(fd) &&
        HS_GROW(&list->areas, &list->capacity, list->n_areas + 1, &ignored) == HS_OK)
        area = mmap(NULL, sizeof(struct hs_record_held), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd); /* memory */
    if (area != MAP_FAILED)
        list->areas[list->n_areas++] = (struct hs_held){.area = area, .pid = pid};
}

void hs_held_look(struct hs_held_list *list)
{
    uint64_t now = hs_now_ns();
    if (now - list->looked_ns < LOOK_NS)
        return;
    list->looked_ns = now;
    for (size_t i = list->n_areas; i-- > 0;) {
        struct hs_held *held = &list->areas[i];
        take(list, held);
        if (held->is_gone)
            let_go(list, i);
        else
            held->is_gone = kill(held->pid, 0) != 0 && errno == ESRCH;
    }
}

void hs_held_finish(struct hs_held_list *list)
{
    while (list->n_areas != 0)
        let_go(list, 0);
    hs_free(list->areas);
    list->areas = NULL;
    list->capacity = 0;
}
