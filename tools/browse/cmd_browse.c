/* browse: a snapshot in the terminal. */
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "keys.h"
#include "look/open_view.h"
#include "screen.h"

/* While the screen is ours, progress and talk go to its last line. */
struct listener {
    struct hs_browse *browse;
    uint64_t began_ns, told_ns;
};

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    enum { AFTER_NS = 300000000, EVERY_NS = 100000000 };
    struct listener *listener = context;
    uint64_t now = hs_now_ns();
    char text[160];
    /* Work of long ago is another work. */
    if (now - listener->told_ns > 2 * (uint64_t)AFTER_NS)
        listener->began_ns = now;
    bool is_due = now - listener->told_ns >= EVERY_NS || listener->began_ns == now;
    if (is_due && gettid() == getpid()) { /* curses knows one thread */
        listener->told_ns = now;
        if (total != 0)
            (void)snprintf(text, sizeof text, "%.100s, %.0f %%", phase,
                           100.0 * (double)done / (double)total);
        else
            (void)snprintf(text, sizeof text, "%.100s", phase);
        if (now - listener->began_ns >= AFTER_NS)
            hs_browse_screen_busy(text);
    }
    return hs_tool_interrupted() == 0;
}

static void say(void *context, const char *line)
{
    struct listener *listener = context;
    hs_browse_say(listener->browse, "%s", line);
}

static hs_status show(struct hs_browse *browse, struct hs_error *err)
{
    struct listener listener = {.browse = browse};
    const struct hs_progress progress = {tell, &listener};
    HS_TRY(hs_browse_screen_open(browse->path, err));
    browse->session.progress = &progress;
    browse->session.say = say;
    browse->session.before_index = NULL;
    browse->session.context = &listener;
    browse->view.session = browse->session;
    hs_status status = hs_browse_run(browse, err);
    hs_browse_screen_close();
    browse->session.progress = NULL;
    browse->session.say = NULL;
    browse->view.session = browse->session;
    return status;
}

hs_status hs_cmd_browse(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_browse browse;
    const char *path = inv->arguments[0];
    HS_TRY(hs_browse_screen_check(path, err));
    struct hs_session session = hs_tool_session(tool, path);
    HS_TRY(hs_browse_open(&session, path, &browse, err));
    hs_status status = HS_OK;
    if (hs_given(inv, HS_OPT_BASELINE))
        status = hs_browse_compare(&browse, inv->text[HS_OPT_BASELINE], err);
    if (status == HS_OK)
        status = show(&browse, err);
    return hs_browse_finish(&browse, status, err);
}
