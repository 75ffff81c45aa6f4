/* The context of every command: standard output (checked), the terminal's nature, progress. */
#ifndef HS_TOOLS_TOOL_H
#define HS_TOOLS_TOOL_H

#include <signal.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/progress.h"
#include "index/index.h"
#include "options.h"
#include "report/listing.h"
#include "report/text.h"
#include "timings.h"

/* The least --memory: code, stacks, and the buffers of any command. 16M as it is read. */
#define HS_TOOL_MIN_BYTES ((uint64_t)16000000)
/* The least that limits from outside must leave at the start. */
#define HS_TOOL_BEGIN_BYTES ((uint64_t)12 << 20)

enum hs_format { HS_FORMAT_TABLE, HS_FORMAT_JSON, HS_FORMAT_NDJSON, HS_FORMAT_TSV };

enum hs_progress_when { HS_PROGRESS_AUTO, HS_PROGRESS_ALWAYS, HS_PROGRESS_NEVER };

struct hs_view;

/* A keeper of views that stay open from one command to the next. */
struct hs_view_lender {
    hs_status (*open)(void *context, struct hs_tool *tool, const char *path, struct hs_view *ret,
                      struct hs_error *err);
    void *context;
};

struct hs_tool {
    struct hs_out out;           /* standard output, or the file of -o */
    struct hs_out_access access; /* of every file that is written */
    struct hs_terminal terminal; /* what standard output can show */
    sigset_t ignored;            /* signals that were ignored when we began */
    int exit_code, exit_signal;  /* of a program that was run for the user: passed on */
    bool threshold_crossed;      /* asked for by a flag: the exit code is 1 */
    bool talk_is_terminal;       /* stderr is one */
    enum hs_progress_when progress_when;
    uint64_t progress_began_ns, progress_told_ns;
    bool progress_is_shown;
    struct hs_progress progress;
    struct hs_timings timings; /* of --timings */
    char hint[512];            /* what to ask next; empty: nothing */
    bool is_verbose;
    bool is_below; /* runs for another command, which has said what there is to say of the file */
    struct hs_policy policy; /* of --policy and --pointers-in */
    const char *pointers_in[HS_MAX_REPEATED];
    struct hs_budget budget;             /* of --memory, --spill-dir and --threads */
    const struct hs_view_lender *lender; /* NULL: each command opens its own */
    bool has_spill_dir;
    char *spill_dir; /* owned; without --spill-dir: beside the file that is worked on */
};

/* Opens the output that the invocation asks for. */
hs_status hs_tool_init(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err);
/* Flushes and closes; a failed write is seen here at the latest. */
hs_status hs_tool_commit(struct hs_tool *tool, struct hs_error *err);
void hs_tool_fini(struct hs_tool *tool);
/* Writes what --timings asks for, of a command that failed, too. HS_IO. */
hs_status hs_tool_tell_timings(struct hs_tool *tool, const struct hs_invocation *inv,
                               struct hs_error *err);

/* Returns the budget to take memory from; NULL, no limit, of a tool that was not opened. */
static inline struct hs_budget *hs_tool_budget(struct hs_tool *tool)
{
    return tool->budget.limit_bytes == 0 ? NULL : &tool->budget;
}
/* Lets temporary files go, without --spill-dir, beside this file when that place can be written. */
void hs_tool_spill_beside(struct hs_tool *tool, const char *path);

enum hs_format hs_tool_format(const struct hs_invocation *inv);

/* Returns the rows to print: -n, or the default of the format. UINT64_MAX = all. */
uint64_t hs_tool_rows(const struct hs_invocation *inv);

/* Returns the value of an option of HS_OPTION_WORDS, whole words of what was given in bytes; and
 * --min-words or --min-bytes, of which a started word counts. */
uint64_t hs_tool_words(const struct hs_invocation *inv, enum hs_option_id id, uint64_t word_bytes);
uint64_t hs_tool_min_words(const struct hs_invocation *inv, uint64_t word_bytes);

/* Returns the options of a sheet, from the output and the invocation. `whole` is 100 percent. */
struct hs_sheet_options hs_tool_sheet(const struct hs_tool *tool, const struct hs_invocation *inv,
                                      uint64_t whole);

/* Writes a listing to the output in the format that is asked for. */
hs_status hs_tool_list(struct hs_tool *tool, const struct hs_invocation *inv,
                       const struct hs_listing *listing, struct hs_error *err);

/* Prints a name from the target, made safe for a terminal. */
hs_status hs_tool_print_clean(struct hs_tool *tool, const char *text, struct hs_error *err);

/* Prints a sentence, not empty, to the output, made safe and filled to the width of the terminal;
 * ends the line. */
hs_status hs_tool_say(struct hs_tool *tool, struct hs_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes a size as the tables beside it have it: "1.5 MiB" where they have units, else "196608
 * words". Returns `text`, which has HS_SIZE_TEXT_BYTES. */
enum { HS_SIZE_TEXT_BYTES = 48 };
const char *hs_size_text(bool in_units, uint64_t words, unsigned word_bytes, char *text);
const char *hs_tool_size(const struct hs_tool *tool, uint64_t words, unsigned word_bytes,
                         char *text);

/* The same without "words". */
const char *hs_tool_amount(const struct hs_tool *tool, uint64_t words, unsigned word_bytes,
                           char *text);

/* Prints the overview, or the help of a command: through a pager when it is longer than the
 * terminal. */
hs_status hs_tool_help(struct hs_tool *tool, const struct hs_command *command, bool is_short,
                       struct hs_error *err);

/* Makes the kernel end this process before any other where memory runs out: the one that is looked
 * at must not, for our sake. For commands that start nobody else's program. */
void hs_tool_go_first(void);

/* Returns the signal that asked us to end, or 0. */
int hs_tool_interrupted(void);

/* Keeps a hint that is said once the product is out (hs_tool_commit), and not at all when it
 * fails. */
void hs_tool_hint(struct hs_tool *tool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Talks: prints a line on standard error, filled to the width of a terminal. Never fails: nobody
 * can be told. */
void hs_talk(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Lets a line be said only once from now on, of the 256 lines before it: for a server, which runs
 * commands again and again. To be called before there are threads. */
void hs_talk_once(void);
/* Prints "heapsnap: cannot ..." and the hint, sanitised. */
void hs_talk_error(const struct hs_error *err);
int hs_exit_code(hs_status status);

#endif
