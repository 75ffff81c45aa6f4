/* The effect of each key. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "report/text.h"
#include "screen.h"
#include "tool.h"

struct running {
    struct hs_browse *browse;
    struct hs_browse_look look;
    char looked_for[HS_BROWSE_FILTER_BYTES]; /* by / */
    bool ends, is_gone;
};

static const char help[] =
    "Up, Down, k, j    one row\n"
    "PgUp PgDn Home End\n"
    "Enter, Right, l   into a row; [N others]: more rows\n"
    "Left, h, <        out again\n"
    "\n"
    "o   who holds it          p   shortest paths from roots to it\n"
    "t   types of what it keeps\n"
    "d   owner tree or dominator tree; elsewhere: what the row dominates\n"
    "r   roots and owner sets  L   lost blocks, which no root reaches\n"
    "i   all that is known of the row\n"
    "f   policy: firm or conservative (doubtful words)\n"
    "m   compare with an older snapshot; again: no more\n"
    "M   mark a row (*); on another one: both side by side; again: no mark\n"
    "\n"
    "s   by size               C   by count\n"
    "n   by name               G   by growth; again: the other way round\n"
    "/   look for a name       .   the next one\n"
    "&   only rows with a text in their name (empty: all)\n"
    "g   percent and bar       w   words or bytes\n"
    "y   copy the command that prints this list\n"
    "q   end\n"
    "\n"
    "Sizes are what would be freed; of owners, what belongs to the nearest root. Percents are of "
    "what the list is of.\n";

/* ---- questions */

/* Failures of a question are notes, as long as there still is a snapshot to ask. */
static hs_status told(struct running *r, hs_status status, struct hs_error *err)
{
    if (status == HS_OK || hs_tool_interrupted() != 0 || r->browse->view.snap == NULL)
        return status;
    hs_browse_say(r->browse, "%s%s%s", err->message, err->hint[0] != 0 ? "; hint: " : "",
                  err->hint);
    return HS_OK;
}

static hs_status draw(struct running *r, struct hs_error *err)
{
    HS_TRY(hs_browse_ready(r->browse, hs_browse_screen_rows(), err));
    hs_browse_screen_list(r->browse, &r->look);
    return HS_OK;
}

/* Puts a code behind what was typed, as UTF-8. */
static void type_code(char *text, size_t n_bytes, uint32_t code)
{
    char bytes[4];
    size_t n = strlen(text), more;
    if (code < 0x80) {
        bytes[0] = (char)code;
        more = 1;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        more = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        more = 3;
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        more = 4;
    }
    for (size_t i = 1; i < more; i++)
        bytes[i] = (char)(0x80 | (code >> 6 * (more - 1 - i) & 0x3f));
    if (n + more >= n_bytes)
        return;
    memcpy(text + n, bytes, more);
    text[n + more] = 0;
}

static void erase_code(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
        n--;
    text[n > 0 ? n - 1 : 0] = 0;
}

/* Reads a line into `text`, which begins empty; false when it is given up. */
static bool ask(struct running *r, const char *question, char *text, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    text[0] = 0;
    for (;;) {
        hs_browse_screen_ask(question, text);
        uint32_t key = hs_browse_screen_key();
        switch (key) {
        case HS_BROWSE_KEY_ENTER:
            return true;
        case HS_BROWSE_KEY_GONE:
            r->is_gone = true;
            return false;
        case HS_BROWSE_KEY_ESCAPE:
            return false;
        case HS_BROWSE_KEY_ERASE:
            erase_code(text);
            break;
        case HS_BROWSE_KEY_NONE:
            (void)draw(r, &ignored);
            break;
        case 'U' - '@':
            text[0] = 0;
            break;
        default:
            if (key < HS_BROWSE_KEY_NONE && !hs_text_is_hidden(key))
                type_code(text, n_bytes, key);
        }
    }
}

/* A page of text until it is left. */
static void show_page(struct running *r, const char *title, const char *text, size_t n_bytes)
{
    size_t top = 0;
    for (;;) {
        hs_browse_screen_page(title, text, n_bytes, &top);
        size_t n_rows = hs_browse_screen_rows();
        switch (hs_browse_screen_key()) {
        case HS_BROWSE_KEY_GONE:
            r->is_gone = true;
            return;
        case HS_BROWSE_KEY_UP:
        case 'k':
            top -= top > 0;
            break;
        case HS_BROWSE_KEY_DOWN:
        case 'j':
            top++;
            break;
        case HS_BROWSE_KEY_PAGE_UP:
            top -= top < n_rows ? top : n_rows;
            break;
        case HS_BROWSE_KEY_PAGE_DOWN:
        case ' ':
            top += n_rows;
            break;
        case HS_BROWSE_KEY_NONE:
            break;
        default:
            return;
        }
    }
}

/* ---- what keys do */

static hs_status find(struct running *r, bool is_next, struct hs_error *err)
{
    char text[HS_BROWSE_FILTER_BYTES];
    if (!is_next) {
        if (!ask(r, " /", text, sizeof text))
            return HS_OK;
        if (text[0] != 0)
            memcpy(r->looked_for, text, sizeof text);
    }
    if (r->looked_for[0] == 0)
        return HS_OK;
    return hs_browse_find(r->browse, r->looked_for, /* from_here= */ false, err);
}

static hs_status filter(struct running *r, struct hs_error *err)
{
    char text[HS_BROWSE_FILTER_BYTES];
    return ask(r, " only names with: ", text, sizeof text) ? hs_browse_filter(r->browse, text, err)
                                                           : HS_OK;
}

static hs_status compare(struct running *r, struct hs_error *err)
{
    char path[1024];
    if (r->browse->older_path != NULL)
        return hs_browse_compare(r->browse, NULL, err);
    if (!ask(r, " compare with snapshot or key file: ", path, sizeof path) || path[0] == 0)
        return HS_OK;
    HS_TRY(hs_browse_compare(r->browse, path, err));
    return hs_browse_sort_by(r->browse, HS_BROWSE_BY_GROWTH, err);
}

static hs_status describe(struct running *r, struct hs_error *err)
{
    struct hs_buffer lines = {0};
    hs_status status = hs_browse_describe(r->browse, &lines, err);
    if (status == HS_OK && lines.n_bytes != 0)
        show_page(r, " this row", (const char *)lines.bytes, lines.n_bytes);
    hs_buffer_fini(&lines);
    return status;
}

static hs_status mark(struct running *r, struct hs_error *err)
{
    struct hs_buffer lines = {0};
    hs_status status = hs_browse_mark(r->browse, r->look.in_words, &lines, err);
    if (status == HS_OK && lines.n_bytes != 0)
        show_page(r, " side by side", (const char *)lines.bytes, lines.n_bytes);
    hs_buffer_fini(&lines);
    return status;
}

/* Tells whether a text pasted into a shell cannot end the paste. */
static bool is_safe(const char *text)
{
    for (const char *at = text, *end = text + strlen(text); at < end;)
        if (hs_text_is_hidden(hs_text_next(&at, end)))
            return false;
    return true;
}

static void copy_command(struct running *r)
{
    char command[HS_BROWSE_COMMAND_BYTES], page[2 * HS_BROWSE_COMMAND_BYTES];
    hs_browse_command(r->browse, hs_browse_top(r->browse), command);
    if (!is_safe(command)) {
        hs_browse_say(r->browse, "not copied, as a name in it has control characters: %.300s",
                      command);
        return;
    }
    hs_browse_screen_copy(command);
    if (strlen(command) + 2 <= 80) {
        hs_browse_say(r->browse, "%s", command);
        return;
    }
    (void)snprintf(page, sizeof page, "%s\n\nIt is copied where the terminal lets programs copy.\n",
                   command);
    show_page(r, " the command that prints this list", page, strlen(page));
}

static void move(struct running *r, uint32_t key)
{
    struct hs_browse_level *level = hs_browse_top(r->browse);
    int64_t page = (int64_t)hs_browse_screen_rows();
    switch (key) {
    case HS_BROWSE_KEY_UP:
    case 'k':
        hs_browse_level_move(level, -1);
        return;
    case HS_BROWSE_KEY_DOWN:
    case 'j':
        hs_browse_level_move(level, 1);
        return;
    case HS_BROWSE_KEY_PAGE_UP:
        hs_browse_level_move(level, -page);
        return;
    case HS_BROWSE_KEY_PAGE_DOWN:
    case ' ':
        hs_browse_level_move(level, page);
        return;
    case HS_BROWSE_KEY_HOME:
        hs_browse_level_move(level, INT64_MIN / 2);
        return;
    case HS_BROWSE_KEY_END:
        hs_browse_level_move(level, INT64_MAX / 2);
        return;
    default:
        return;
    }
}

/* Keys that ask something of the snapshot. */
static hs_status question(struct running *r, uint32_t key, struct hs_error *err)
{
    struct hs_browse *browse = r->browse;
    const struct hs_browse_what all = {HS_BROWSE_KEY, 0};
    switch (key) {
    case 'o':
        return hs_browse_ask(browse, HS_BROWSE_HOLDERS, err);
    case 'p':
        return hs_browse_ask(browse, HS_BROWSE_PATHS, err);
    case 't':
        return hs_browse_ask(browse, HS_BROWSE_TYPES, err);
    case 'd':
        return hs_browse_other_tree(browse, err);
    case 'r':
        return hs_browse_go(browse, HS_BROWSE_ROOTS, all, err);
    case 'L':
        return hs_browse_go(browse, HS_BROWSE_LEAKS, all, err);
    case 'f':
        hs_browse_screen_busy("the other policy ...");
        return hs_browse_other_policy(browse, err);
    case 'm':
        return compare(r, err);
    case 'M':
        return mark(r, err);
    case 's':
        return hs_browse_sort_by(browse, HS_BROWSE_BY_SIZE, err);
    case 'C':
        return hs_browse_sort_by(browse, HS_BROWSE_BY_COUNT, err);
    case 'n':
        return hs_browse_sort_by(browse, HS_BROWSE_BY_NAME, err);
    case 'G':
        return hs_browse_sort_by(browse, HS_BROWSE_BY_GROWTH, err);
    default:
        return HS_OK;
    }
}

static hs_status press(struct running *r, uint32_t key, struct hs_error *err)
{
    switch (key) {
    case 'q':
        r->ends = true;
        return HS_OK;
    case HS_BROWSE_KEY_GONE:
        r->is_gone = true;
        return HS_OK;
    case HS_BROWSE_KEY_ENTER:
    case HS_BROWSE_KEY_RIGHT:
    case 'l':
        return hs_browse_enter(r->browse, err);
    case HS_BROWSE_KEY_LEFT:
    case HS_BROWSE_KEY_ERASE:
    case 'h':
    case '<':
        (void)hs_browse_leave(r->browse);
        return HS_OK;
    case '/':
        return find(r, /* is_next= */ false, err);
    case '.':
        return find(r, /* is_next= */ true, err);
    case '&':
        return filter(r, err);
    case 'i':
        return describe(r, err);
    case 'y':
        copy_command(r);
        return HS_OK;
    case 'g':
        r->look.graph = (r->look.graph + 1) % HS_N_BROWSE_GRAPHS;
        return HS_OK;
    case 'w':
        r->look.in_words = !r->look.in_words;
        return HS_OK;
    case '?':
        show_page(r, " heapsnap browse", help, sizeof help - 1);
        return HS_OK;
    default:
        move(r, key);
        return question(r, key, err);
    }
}

hs_status hs_browse_run(struct hs_browse *browse, struct hs_error *err)
{
    struct running r = {.browse = browse};
    while (!r.ends && !r.is_gone) {
        hs_status status = draw(&r, err);
        browse->note[0] = 0;
        if (status != HS_OK && browse->n_levels > 1 && hs_tool_interrupted() == 0) {
            (void)hs_browse_leave(browse);
            HS_TRY(told(&r, status, err));
            continue;
        }
        HS_TRY(status);
        uint32_t key = hs_browse_screen_key();
        HS_TRY(told(&r, press(&r, key, err), err));
    }
    if (!r.is_gone)
        return HS_OK;
    return hs_tool_interrupted() != 0 ? hs_fail(err, HS_LIMIT, "interrupted")
                                      : hs_fail(err, HS_IO, "the terminal is gone");
}
