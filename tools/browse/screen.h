/* The browser on a terminal: lines of a list, pages of text, a line to type on. All of curses that
 * there is stands behind this. Names come from the target: what goes to the screen is made safe
 * here, whoever gives it. */
#ifndef HS_BROWSE_SCREEN_H
#define HS_BROWSE_SCREEN_H

#include "base/buffer.h"
#include "model.h"

/* Keys beside characters, in the private numbers of curses. */
enum hs_browse_key_code {
    HS_BROWSE_KEY_NONE = 0x200000, /* the screen is to be drawn again */
    HS_BROWSE_KEY_UP,
    HS_BROWSE_KEY_DOWN,
    HS_BROWSE_KEY_LEFT,
    HS_BROWSE_KEY_RIGHT,
    HS_BROWSE_KEY_PAGE_UP,
    HS_BROWSE_KEY_PAGE_DOWN,
    HS_BROWSE_KEY_HOME,
    HS_BROWSE_KEY_END,
    HS_BROWSE_KEY_ENTER,
    HS_BROWSE_KEY_ERASE,
    HS_BROWSE_KEY_ESCAPE,
    HS_BROWSE_KEY_GONE /* the terminal is closed, or a signal asks to end */
};

/* The ways in which sizes are drawn: as ncdu's g. */
enum hs_browse_graph {
    HS_BROWSE_GRAPH_BOTH,
    HS_BROWSE_GRAPH_PERCENT,
    HS_BROWSE_GRAPH_BAR,
    HS_BROWSE_GRAPH_NONE,
    HS_N_BROWSE_GRAPHS
};

struct hs_browse_look {
    enum hs_browse_graph graph;
    bool in_words; /* else bytes with units */
};

/* Checks that there is a terminal that can be drawn on. HS_USAGE with the reason, and a hint of
 * what prints the same of `path`. Writes nothing. */
hs_status hs_browse_screen_check(const char *path, struct hs_error *err);
/* Takes the terminal. HS_USAGE when it is of a kind that nobody describes. */
hs_status hs_browse_screen_open(const char *path, struct hs_error *err);
/* Gives it back as it was. Nothing to do the second time. */
void hs_browse_screen_close(void);

/* Returns the lines that a list has. */
size_t hs_browse_screen_rows(void);
void hs_browse_screen_list(struct hs_browse *browse, const struct hs_browse_look *look);
/* Draws lines of text, each with its end, as a page; from line *top on, which is set to what there
 * is. */
void hs_browse_screen_page(const char *title, const char *text, size_t n_bytes, size_t *top);
/* Draws the last line: what is asked, and what was typed so far. */
void hs_browse_screen_ask(const char *question, const char *text);
/* The same for work that takes a while. */
void hs_browse_screen_busy(const char *text);

/* Waits for the next key: a character, or one of enum hs_browse_key_code. */
uint32_t hs_browse_screen_key(void);

/* Gives a text to the terminal's clipboard (OSC 52), where the terminal lets programs do so. */
void hs_browse_screen_copy(const char *text);

#endif
