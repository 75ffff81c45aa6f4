#include "lost_file.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tool.h"

static void (*restore_terminal)(void);

void hs_lost_file_restore(void (*restore)(void))
{
    restore_terminal = restore;
}

static volatile sig_atomic_t goes_on;
static _Thread_local volatile sig_atomic_t was_met;

/* Maps zeros in place of a page: mmap(2) is a bare system call, and safe where a fault stopped
 * us. */
static bool put_zeros(const void *address)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)address & ~(page - 1);
    return mmap((void *)begin, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
           MAP_FAILED;
}

static void on_lost(int number, siginfo_t *info, void *context)
{
    static const char text[] = "heapsnap: cannot read on: a file was cut short meanwhile\n"
                               "hint: replace a snapshot by renaming, never by writing into it\n";
    struct sigaction plain = {.sa_handler = SIG_DFL};

    (void)context;
    if (info->si_code == BUS_ADRERR && goes_on && put_zeros(info->si_addr)) {
        was_met = 1;
        return;
    }
    if (info->si_code == BUS_ADRERR) {
        if (restore_terminal != NULL)
            restore_terminal();
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(hs_exit_code(HS_IO));
    }
    (void)sigaction(number, &plain, NULL); /* a fault happens again; one that was sent does not */
    if (info->si_code <= 0)
        (void)raise(number);
}

void hs_lost_file_watch(void)
{
    struct sigaction action = {.sa_sigaction = on_lost, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

void hs_lost_file_go_on(void)
{
    goes_on = 1;
}

bool hs_lost_file_met(void)
{
    bool met = was_met != 0;
    was_met = 0;
    return met;
}
