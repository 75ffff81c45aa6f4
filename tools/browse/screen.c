/* Drawing with curses. Whatever the size of the screen, nothing is written beyond it: every piece
 * of text is cut to the columns that it has, by the widths that the C library gives, as curses
 * goes by these. */
#define NCURSES_WIDECHAR 1
#include "screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "analysis/unread.h"
#include "base/alloc.h"
#include "base/append.h"
#include "base/units.h"
#include "look/suspect_text.h"
#include "lost_file.h"
#include "report/text.h"
#include "terminfo.h"
#include "tool.h"

static SCREEN *terminal;

/* ---- the terminal */

static hs_status refuse(const char *path, const char *why, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "cannot browse '%.100s': %s", path, why);
    return hs_hint(err, "'heapsnap dominators %.100s' prints the tree of who keeps what", path);
}

hs_status hs_browse_screen_check(const char *path, struct hs_error *err)
{
    const char *term = getenv("TERM");
    if (isatty(STDIN_FILENO) != 1)
        return refuse(path, "standard input is no terminal", err);
    if (isatty(STDOUT_FILENO) != 1)
        return refuse(path, "standard output is no terminal", err);
    if (term == NULL || term[0] == 0)
        return refuse(path, "TERM does not say what the terminal is", err);
    if (strcmp(term, "dumb") == 0)
        return refuse(path, "TERM=dumb: the terminal cannot move its cursor", err);
    return HS_OK;
}

/* The sequences that give the terminal back where curses must not be asked: in a signal that ends
 * us. */
static struct {
    struct termios modes;
    char text[256];
    size_t n;
} before;

static void restore_in_signal(void)
{
    ssize_t written = write(STDOUT_FILENO, before.text, before.n);
    (void)written; /* nobody else can be told */
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &before.modes);
}

/* Delays are for terminals that nobody has any more. */
static void keep_restore(void)
{
    static const char *const names[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    before.text[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = tigetstr(names[i]);
        if (text != NULL && text != (char *)-1 && strstr(text, "$<") == NULL)
            hs_append(before.text, sizeof before.text, "%s", text);
    }
    before.n = strlen(before.text);
    hs_lost_file_restore(restore_in_signal);
}

hs_status hs_browse_screen_open(const char *path, struct hs_error *err)
{
    /* As all that we print: UTF-8, whatever the locale says. */
    if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    (void)tcgetattr(STDIN_FILENO, &before.modes);
    if (hs_browse_terminal_is_known())
        terminal = newterm(NULL, stdout, stdin);
    if (terminal == NULL)
        return refuse(path, "nothing is known of a terminal of this TERM", err);
    if (tigetstr("cup") == NULL || tigetstr("cup") == (char *)-1) {
        hs_browse_screen_close();
        return refuse(path, "a terminal of this TERM cannot move its cursor", err);
    }
    keep_restore();
    (void)set_escdelay(50);
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    return HS_OK;
}

void hs_browse_screen_close(void)
{
    if (terminal == NULL)
        return;
    hs_lost_file_restore(NULL);
    (void)endwin();
    delscreen(terminal);
    terminal = NULL;
}

/* ---- text */

/* A line that is put together from left to right. */
struct pen {
    int y;
    size_t x, width; /* columns: taken, and of the screen */
    attr_t look;
};

static void put_wide(struct pen *pen, const wchar_t *text, size_t n, size_t n_columns)
{
    if (n_columns == 0)
        return;
    (void)attrset((int)pen->look);
    (void)mvaddnwstr(pen->y, (int)pen->x, text, (int)n);
    pen->x += n_columns;
}

/* Draws text that is safe already, in at most `room` columns. The width of a character that the C
 * library does not know is not for us to guess. */
static void put_clean(struct pen *pen, const char *text, size_t n_bytes, size_t room)
{
    enum { MOST = 512 };
    wchar_t wide[MOST];
    size_t n = 0, n_columns = 0;
    if (room > pen->width - pen->x)
        room = pen->width - pen->x;
    for (const char *at = text, *end = text + n_bytes; at < end && n < MOST;) {
        uint32_t code = hs_text_next(&at, end);
        int width = code == HS_TEXT_BAD ? -1 : wcwidth((wchar_t)code);
        wchar_t shown = width < 0 ? L'?' : (wchar_t)code;
        width = width < 0 ? 1 : width;
        if (n_columns + (size_t)width > room)
            break;
        if (width == 0 && n_columns == 0)
            continue; /* nothing that it could be put upon */
        wide[n++] = shown;
        n_columns += (size_t)width;
    }
    put_wide(pen, wide, n, n_columns);
}

/* Draws any text, made safe, cut in the middle where it is too long; `at_end` where what counts is
 * its end. */
static void put_text(struct pen *pen, const char *text, size_t room, bool at_end)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_buffer clean = {0}, fitted = {0};
    if (room > pen->width - pen->x)
        room = pen->width - pen->x;
    size_t n = strnlen(text, 8192);
    hs_status status = hs_text_sanitise(text, n, HS_TEXT_TERMINAL, &clean, &ignored);
    if (status == HS_OK)
        status = (at_end ? hs_text_fit_end : hs_text_fit)((const char *)clean.bytes, clean.n_bytes,
                                                          room, &fitted, &ignored);
    if (status == HS_OK)
        put_clean(pen, (const char *)fitted.bytes, fitted.n_bytes, room);
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fitted);
}

/* Blanks up to a column. */
static void put_gap(struct pen *pen, size_t to)
{
    (void)attrset((int)pen->look);
    for (; pen->x < to && pen->x < pen->width; pen->x++)
        (void)mvaddch(pen->y, (int)pen->x, ' ');
}

/* Draws a text right-aligned in so many columns. */
static void put_right(struct pen *pen, const char *text, size_t room)
{
    size_t n = strlen(text);
    put_gap(pen, pen->x + (n < room ? room - n : 0));
    put_text(pen, text, room, /* at_end= */ false);
}

static struct pen pen_at(int y, attr_t look)
{
    int width = getmaxx(stdscr);
    return (struct pen){.y = y, .width = width > 0 ? (size_t)width : 0, .look = look};
}

/* ---- where things are */

static size_t height(void)
{
    int lines = getmaxy(stdscr);
    return lines > 0 ? (size_t)lines : 1;
}

static size_t head_lines(void)
{
    return height() >= 4 ? 2 : height() >= 2;
}

static bool has_foot(void)
{
    return height() >= 3;
}

size_t hs_browse_screen_rows(void)
{
    return height() - head_lines() - has_foot();
}

/* ---- text of several lines */

/* The lines that a filled text has. */
static size_t count_lines(const struct hs_buffer *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n_bytes; i++)
        n += text->bytes[i] == '\n';
    return n;
}

/* Makes each line of the text safe by itself, as its ends are ours, and fills it to the width. */
static hs_status fill(const char *text, size_t n_bytes, size_t width, struct hs_buffer *ret,
                      struct hs_error *err)
{
    struct hs_buffer clean = {0};
    hs_status status = HS_OK;
    for (const char *at = text, *end = text + n_bytes; at < end && status == HS_OK;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop == NULL ? end : stop) - at);
        clean.n_bytes = 0;
        status = hs_text_sanitise(at, n, HS_TEXT_TERMINAL, &clean, err);
        if (status == HS_OK && clean.n_bytes != 0)
            status = hs_text_fill((const char *)clean.bytes, clean.n_bytes, 2, width, ret, err);
        if (status == HS_OK && clean.n_bytes == 0)
            status = hs_buffer_reserve(ret, 1, err);
        if (status == HS_OK && clean.n_bytes == 0)
            hs_buffer_put_u8(ret, '\n');
        at += n + 1;
    }
    hs_buffer_fini(&clean);
    return status;
}

/* The lines of the screen that something is drawn on, and how. */
struct lines {
    size_t y, n;
    attr_t look;
};

/* Lines of a filled text from number `top` on. */
static void draw_lines(const struct hs_buffer *text, size_t top, struct lines to)
{
    const char *at = (const char *)text->bytes, *end = at + text->n_bytes;
    for (size_t line = 0; at < end && line < top + to.n; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (line >= top) {
            struct pen pen = pen_at((int)(to.y + line - top), to.look);
            put_clean(&pen, at, (size_t)(stop - at), pen.width);
            put_gap(&pen, pen.width);
        }
        at = stop + 1;
    }
}

/* ---- a list */

/* Columns of a row; 0: left out, where the screen is narrow. */
struct columns {
    size_t size, percent, bar, count, growth;
};

static struct columns columns_of(const struct hs_browse *browse, const struct hs_browse_look *look,
                                 size_t width)
{
    enum { LEAST_NAME = 22 };
    enum hs_browse_form form = hs_browse_top(browse)->form;
    struct columns c = {.size = 10, .percent = 7, .bar = 13, .count = 10, .growth = 11};
    if (look->graph == HS_BROWSE_GRAPH_BAR || look->graph == HS_BROWSE_GRAPH_NONE)
        c.percent = 0;
    if (look->graph == HS_BROWSE_GRAPH_PERCENT || look->graph == HS_BROWSE_GRAPH_NONE)
        c.bar = 0;
    if (browse->older_path == NULL)
        c.growth = 0;
    if (form == HS_BROWSE_HOLDERS || form == HS_BROWSE_PATHS || form == HS_BROWSE_LEAKS)
        c.bar = 0; /* what these are called is more */
    size_t *const by_worth[] = {&c.count, &c.bar, &c.percent, &c.growth};
    for (size_t i = 0; i < sizeof by_worth / sizeof by_worth[0]; i++)
        if (c.size + c.percent + c.bar + c.count + c.growth + LEAST_NAME > width)
            *by_worth[i] = 0;
    if (c.size + LEAST_NAME / 2 > width)
        c.size = 0;
    return c;
}

static void put_size(struct pen *pen, const struct hs_browse *browse,
                     const struct hs_browse_look *look, uint64_t words, size_t room)
{
    char text[HS_UNIT_TEXT_BYTES] = "";
    if (words == HS_BROWSE_UNKNOWN)
        text[0] = 0;
    else if (look->in_words)
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)words);
    else
        hs_format_bytes(words * browse->view.facts->word_bytes, text);
    put_right(pen, text, room);
}

static void put_percent(struct pen *pen, uint64_t words, uint64_t whole, size_t room)
{
    char text[HS_UNIT_TEXT_BYTES] = "";
    if (words != HS_BROWSE_UNKNOWN && whole != 0)
        (void)snprintf(text, sizeof text, "%.1f%%", 100.0 * (double)words / (double)whole);
    put_right(pen, text, room);
}

static void put_bar(struct pen *pen, uint64_t words, uint64_t largest, size_t room)
{
    char text[16] = "";
    size_t n = room - 3, full = 0; /* a blank and two brackets */
    if (words != HS_BROWSE_UNKNOWN && largest != 0)
        full = (size_t)((double)words / (double)largest * (double)n + 0.5);
    if (words != HS_BROWSE_UNKNOWN)
        (void)snprintf(text, sizeof text, "[%.*s%*s]", (int)(full < n ? full : n), "##########",
                       (int)(full < n ? n - full : 0), "");
    put_right(pen, text, room);
}

static void put_growth(struct pen *pen, const struct hs_browse *browse,
                       const struct hs_browse_look *look, const struct hs_browse_row *row,
                       size_t room)
{
    char text[HS_UNIT_TEXT_BYTES + 1] = "", size[HS_UNIT_TEXT_BYTES];
    if (row->before_words != HS_BROWSE_UNKNOWN && row->words != HS_BROWSE_UNKNOWN) {
        bool is_less = row->words < row->before_words;
        uint64_t by = is_less ? row->before_words - row->words : row->words - row->before_words;
        if (look->in_words)
            (void)snprintf(size, sizeof size, "%llu", (unsigned long long)by);
        else
            hs_format_bytes(by * browse->view.facts->word_bytes, size);
        (void)snprintf(text, sizeof text, "%s%s",
                       by == 0   ? ""
                       : is_less ? "-"
                                 : "+",
                       by == 0 ? "=" : size);
    }
    put_right(pen, text, room);
}

static void put_name(struct pen *pen, const struct hs_browse *browse,
                     const struct hs_browse_level *level, size_t at)
{
    const struct hs_browse_row *row = &level->rows[at];
    bool is_block = row->what.kind == HS_BROWSE_NODE && row->what.id >= browse->view.n_tree;
    char id[32] = "";
    if (is_block)
        (void)snprintf(id, sizeof id, "  #%llu", (unsigned long long)row->what.id);
    size_t room = pen->width - pen->x, n_id = strlen(id);
    const char *sign = row->opens && !level->is_fixed ? "/" : " ";
    put_text(pen, hs_browse_is_marked(browse, level, at) ? "*" : sign, 1, /* at_end= */ false);
    room = pen->width - pen->x;
    if (n_id + 8 > room)
        n_id = 0;
    put_text(pen, hs_browse_level_text(level, at), room - n_id, /* at_end= */ false);
    if (n_id != 0)
        put_text(pen, id, n_id, /* at_end= */ false);
}

static void draw_row(const struct hs_browse *browse, const struct hs_browse_look *look, int y,
                     size_t place)
{
    const struct hs_browse_level *level = hs_browse_top(browse);
    const struct hs_browse_row *row = &level->rows[level->order[place]];
    bool is_here = place == level->cursor;
    struct pen pen = pen_at(y, is_here ? A_REVERSE : A_NORMAL);
    struct columns c = columns_of(browse, look, pen.width);
    if (c.size != 0)
        put_size(&pen, browse, look, row->words, c.size);
    if (c.percent != 0)
        put_percent(&pen, row->words, level->whole_words, c.percent);
    if (c.bar != 0)
        put_bar(&pen, row->is_more ? HS_BROWSE_UNKNOWN : row->words, level->largest_words, c.bar);
    if (c.count != 0) {
        char count[HS_UNIT_TEXT_BYTES] = "";
        if (row->objects != HS_BROWSE_UNKNOWN)
            (void)snprintf(count, sizeof count, "%llu", (unsigned long long)row->objects);
        put_right(&pen, count, c.count);
    }
    if (c.growth != 0)
        put_growth(&pen, browse, look, row, c.growth);
    if (c.size != 0)
        put_gap(&pen, pen.x + 1);
    put_name(&pen, browse, level, level->order[place]);
    put_gap(&pen, pen.width);
}

static void draw_head(struct hs_browse *browse)
{
    const struct hs_browse_level *level = hs_browse_top(browse);
    char text[4 * HS_KEY_TEXT_BYTES], policy[80];
    if (head_lines() >= 2) {
        struct pen pen = pen_at(0, A_REVERSE);
        (void)snprintf(policy, sizeof policy, "  %s  ? for help ",
                       hs_policy_name(browse->session.policy.kind));
        put_text(&pen, " heapsnap  ", 11, /* at_end= */ false);
        size_t n = strlen(policy), room = pen.width - pen.x;
        put_text(&pen, browse->path, room > n ? room - n : 0, /* at_end= */ true);
        put_gap(&pen, pen.width > n ? pen.width - n : 0);
        put_text(&pen, policy, n, /* at_end= */ false);
        put_gap(&pen, pen.width);
    }
    if (head_lines() >= 1) {
        struct pen pen = pen_at((int)head_lines() - 1, A_BOLD);
        hs_browse_title(browse, level, text, sizeof text);
        put_text(&pen, text, pen.width, /* at_end= */ level->form == HS_BROWSE_OWNERS);
        put_gap(&pen, pen.width);
    }
}

static void put_total(struct hs_browse *browse, const struct hs_browse_look *look, char *text,
                      size_t n)
{
    static const char *const sorts[HS_N_BROWSE_SORTS] = {"size", "count", "name", "growth"};
    const struct hs_browse_level *level = hs_browse_top(browse);
    char size[HS_UNIT_TEXT_BYTES];
    uint64_t whole = hs_unread_whole(&browse->view);
    if (look->in_words)
        (void)snprintf(size, sizeof size, "%llu words", (unsigned long long)level->whole_words);
    else
        hs_format_bytes(level->whole_words * browse->view.facts->word_bytes, size);
    (void)snprintf(text, n, " %zu/%zu  of %s", level->n_order == 0 ? 0 : level->cursor + 1,
                   level->n_order, size);
    if (whole != 0 && level->whole_words < whole)
        hs_append(text, n, ", %.1f%% of %s", 100.0 * (double)level->whole_words / (double)whole,
                  hs_suspect_whole(&browse->view));
    if (!level->is_fixed)
        hs_append(text, n, "  by %s%s", sorts[level->sort], level->is_reversed ? ", reversed" : "");
    if (level->filter[0] != 0)
        hs_append(text, n, "  only '%s'", level->filter);
    if (browse->older_path != NULL)
        hs_append(text, n, "  since %s", browse->older_path);
}

/* A note takes the lines that it needs, at the bottom. */
static void draw_note(const char *note)
{
    enum { MOST_LINES = 6 };
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_buffer filled = {0};
    struct pen pen = pen_at(0, A_REVERSE);
    if (fill(note, strlen(note), pen.width > 8 ? pen.width : 8, &filled, &ignored) == HS_OK) {
        size_t n = count_lines(&filled), most = height() < MOST_LINES ? height() : MOST_LINES;
        n = n < most ? n : most;
        draw_lines(&filled, 0, (struct lines){height() - n, n, A_REVERSE});
    }
    hs_buffer_fini(&filled);
}

static void draw_foot(struct hs_browse *browse, const struct hs_browse_look *look)
{
    char text[2048];
    if (browse->note[0] != 0)
        draw_note(browse->note);
    if (!has_foot() || browse->note[0] != 0)
        return;
    struct pen pen = pen_at((int)height() - 1, A_REVERSE);
    put_total(browse, look, text, sizeof text);
    put_text(&pen, text, pen.width, /* at_end= */ false);
    put_gap(&pen, pen.width);
}

void hs_browse_screen_list(struct hs_browse *browse, const struct hs_browse_look *look)
{
    const struct hs_browse_level *level = hs_browse_top(browse);
    size_t n = hs_browse_screen_rows();
    (void)erase();
    draw_head(browse);
    for (size_t i = 0; i < n && level->top + i < level->n_order; i++)
        draw_row(browse, look, (int)(head_lines() + i), level->top + i);
    draw_foot(browse, look);
    (void)refresh();
}

/* ---- pages */

void hs_browse_screen_page(const char *title, const char *text, size_t n_bytes, size_t *top)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_buffer filled = {0};
    struct pen head = pen_at(0, A_REVERSE), foot = pen_at((int)height() - 1, A_REVERSE);
    (void)erase();
    if (fill(text, n_bytes, head.width > 8 ? head.width : 8, &filled, &ignored) == HS_OK) {
        size_t n = count_lines(&filled), n_rows = hs_browse_screen_rows();
        if (*top + n_rows > n)
            *top = n < n_rows ? 0 : n - n_rows;
        draw_lines(&filled, *top, (struct lines){head_lines(), n_rows, A_NORMAL});
    }
    if (head_lines() != 0) {
        put_text(&head, title, head.width, /* at_end= */ false);
        put_gap(&head, head.width);
    }
    if (has_foot()) {
        put_text(&foot, " q or Enter: back", foot.width, /* at_end= */ false);
        put_gap(&foot, foot.width);
    }
    hs_buffer_fini(&filled);
    (void)refresh();
}

/* ---- the last line */

static void draw_last(const char *question, const char *text)
{
    struct pen pen = pen_at((int)height() - 1, A_REVERSE);
    put_text(&pen, question, pen.width, /* at_end= */ false);
    put_text(&pen, text, pen.width - pen.x, /* at_end= */ true);
    put_gap(&pen, pen.width);
    (void)refresh();
}

void hs_browse_screen_ask(const char *question, const char *text)
{
    draw_last(question, text);
}

void hs_browse_screen_busy(const char *text)
{
    draw_last(" ", text);
}

/* ---- keys */

static uint32_t key_of(int found, wint_t key)
{
    static const struct {
        wint_t curses;
        uint32_t key;
    } keys[] = {
        {KEY_UP, HS_BROWSE_KEY_UP},         {KEY_DOWN, HS_BROWSE_KEY_DOWN},
        {KEY_LEFT, HS_BROWSE_KEY_LEFT},     {KEY_RIGHT, HS_BROWSE_KEY_RIGHT},
        {KEY_PPAGE, HS_BROWSE_KEY_PAGE_UP}, {KEY_NPAGE, HS_BROWSE_KEY_PAGE_DOWN},
        {KEY_HOME, HS_BROWSE_KEY_HOME},     {KEY_END, HS_BROWSE_KEY_END},
        {KEY_ENTER, HS_BROWSE_KEY_ENTER},   {KEY_BACKSPACE, HS_BROWSE_KEY_ERASE},
        {KEY_DC, HS_BROWSE_KEY_ERASE},
    };
    if (found == OK) {
        if (key == '\r' || key == '\n')
            return HS_BROWSE_KEY_ENTER;
        if (key == 0x7f || key == '\b')
            return HS_BROWSE_KEY_ERASE;
        return key == 0x1b ? HS_BROWSE_KEY_ESCAPE : (uint32_t)key;
    }
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].curses == key)
            return keys[i].key;
    return HS_BROWSE_KEY_NONE; /* KEY_RESIZE among them */
}

/* Curses itself would wait on through a signal, and for ever for a terminal that is gone: it is
 * only asked for what is there. A signal that comes between the question and the wait is seen a
 * second later. */
uint32_t hs_browse_screen_key(void)
{
    enum { WAIT_MS = 1000 };
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool was_there = false;
    for (;;) {
        wint_t key = 0;
        int found = hs_tool_interrupted() != 0 ? ERR : get_wch(&key);
        if (found != ERR)
            return key_of(found, key);
        if (hs_tool_interrupted() != 0 || was_there)
            return HS_BROWSE_KEY_GONE;
        int n = poll(&input, 1, WAIT_MS);
        if (n < 0 && errno != EINTR)
            return HS_BROWSE_KEY_GONE;
        /* Input that cannot be read is the end of it. */
        was_there = n > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    }
}

/* ---- the clipboard */

void hs_browse_screen_copy(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char code[2 * HS_BROWSE_COMMAND_BYTES] = "\033]52;c;";
    size_t n = strlen(text), at = strlen(code);
    for (size_t i = 0; i < n && at + 8 < sizeof code; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            code[at++] = i + k > n ? '=' : digits[bits >> (18 - 6 * k) & 63];
    }
    code[at++] = '\a';
    ssize_t written = write(STDOUT_FILENO, code, at);
    (void)written; /* a courtesy: the text is on the screen, too */
}
