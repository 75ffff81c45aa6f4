#include "lost_file.h"

#include <signal.h>
#include <unistd.h>

#include "tool.h"

static void (*restore_terminal)(void);

void hs_lost_file_restore(void (*restore)(void))
{
    restore_terminal = restore;
}

static void on_lost(int number, siginfo_t *info, void *context)
{
    static const char text[] = "heapsnap: cannot read on: a file was cut short meanwhile\n"
                               "hint: replace a snapshot by renaming, never by writing into it\n";
    struct sigaction plain = {.sa_handler = SIG_DFL};

    (void)context;
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
