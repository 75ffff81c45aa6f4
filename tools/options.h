/* The one option table: it drives the parser, the two helps, the man pages and the completions.
 *
 * Long options are whole words; `--name value` and `--name=value` are the same; `--` ends options.
 * Nothing is abbreviated; a misspelt word gets the nearest one suggested. */
#ifndef HS_TOOLS_OPTIONS_H
#define HS_TOOLS_OPTIONS_H

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"

enum hs_option_kind {
    HS_OPTION_FLAG,
    HS_OPTION_COUNT,    /* a plain decimal number */
    HS_OPTION_SIZE,     /* bytes, with k M G Ki Mi Gi */
    HS_OPTION_WORDS,    /* words, with the same; with a B at the end bytes: hs_tool_words */
    HS_OPTION_DURATION, /* nanoseconds, from ns us ms s m h */
    HS_OPTION_TEXT,
    HS_OPTION_CHOICE,  /* one of `choices` */
    HS_OPTION_CHOICES, /* a comma-separated list of them */
    HS_OPTION_REPEATED /* text, may be given several times */
};

enum hs_option_id {
    HS_OPT_FORMAT,
    HS_OPT_JSON,
    HS_OPT_OUTPUT,
    HS_OPT_NAMES,
    HS_OPT_NAMES_PATH,
    HS_OPT_NAMES_TIMEOUT,
    HS_OPT_NO_NAMES,
    HS_OPT_HEAPS,
    HS_OPT_DEBUG_PATH,
    HS_OPT_DEBUGINFOD,
    HS_OPT_DEBUGINFOD_TIMEOUT,
    HS_OPT_POINTER_MASK,
    HS_OPT_RULES,
    HS_OPT_CHECK,
    HS_OPT_EXPLAIN,
    HS_OPT_CORE,
    HS_OPT_EXE,
    HS_OPT_SYSROOT,
    HS_OPT_STOP,
    HS_OPT_MAX_PAUSE,
    HS_OPT_MAX_GROWTH,
    HS_OPT_NO_RESTART_SYSCALLS,
    HS_OPT_MIN_WORDS,
    HS_OPT_MIN_BYTES, /* kept as HS_OPT_MIN_WORDS, in bytes */
    HS_OPT_ROOT_SORT,
    HS_OPT_TYPE_SORT,
    HS_OPT_KIND,
    HS_OPT_GROUP_BY,
    HS_OPT_ROWS,
    HS_OPT_TO,
    HS_OPT_LIMIT,
    HS_OPT_DISJOINT,
    HS_OPT_CUT,
    HS_OPT_WHY,
    HS_OPT_OF,
    HS_OPT_DEPTH,
    HS_OPT_FROM,
    HS_OPT_EXPORT_TO,
    HS_OPT_TABLES,
    HS_OPT_HOST,
    HS_OPT_SERVICE,
    HS_OPT_NO_ADDRESSES,
    HS_OPT_IMPORT_FROM,
    HS_OPT_POLICY,
    HS_OPT_WEAK,
    HS_OPT_SHORTCUTS,
    HS_OPT_WEAKMAP,
    HS_OPT_PAGE,
    HS_OPT_SIZES,
    HS_OPT_THREAD_LOCALS,
    HS_OPT_CLASS_EDGES,
    HS_OPT_STATICS,
    HS_OPT_DIRECTORY,
    HS_OPT_WITHOUT,
    HS_OPT_BEST,
    HS_OPT_TIER_POLICY,
    HS_OPT_POINTERS_IN,
    HS_OPT_REBUILD,
    HS_OPT_PROGRESS,
    HS_OPT_EVERY,
    HS_OPT_SERIES_DIR,
    HS_OPT_KEEP,
    HS_OPT_KEEP_BYTES,
    HS_OPT_WHEN,
    HS_OPT_QUIET,
    HS_OPT_CERTAINTY,
    HS_OPT_SUPPRESSIONS,
    HS_OPT_FAIL_OVER,
    HS_OPT_FAIL_OVER_SIZE,
    HS_OPT_FAIL_UNLESS_ATTRIBUTED,
    HS_OPT_THRESHOLD,
    HS_OPT_SENTENCES,
    HS_OPT_FOLLOW,
    HS_OPT_FOLLOW_JOINT,
    HS_OPT_MEMORY,
    HS_OPT_SPILL_DIR,
    HS_OPT_THREADS,
    HS_OPT_VERBOSE,
    HS_OPT_TIMINGS,
    HS_OPT_TIMINGS_FILE,
    HS_OPT_MODE,
    HS_OPT_GROUP,
    HS_OPT_TRACE,
    HS_OPT_SITES,
    HS_OPT_SAMPLE_GROUP_BY,
    HS_OPT_TYPE_GROUP_BY,
    HS_OPT_DOMINATOR_GROUP_BY,
    HS_OPT_ALLOCATED,
    HS_OPT_LIVE_AT,
    HS_OPT_COLLECTED,
    HS_OPT_LIFETIME,
    HS_OPT_SIZE,
    HS_OPT_INSIDE,
    HS_OPT_NOT_INSIDE,
    HS_OPT_HIDE,
    HS_OPT_HEAP,
    HS_OPT_GROUP_ALLOCATIONS,
    HS_OPT_GROUP_LEAKED,
    HS_OPT_GROUP_INTERVAL,
    HS_OPT_TRACE_SORT,
    HS_OPT_BY,
    HS_OPT_POINTS,
    HS_OPT_RATE,
    HS_OPT_STACKS,
    HS_OPT_START,
    HS_OPT_OCAML,
    HS_OPT_SEND_TO,
    HS_OPT_LISTEN,
    HS_OPT_TOKEN,
    HS_OPT_TRACE_FILE,
    HS_OPT_TRACE_DIR,
    HS_OPT_CHILDREN,
    HS_OPT_SWITCH,
    HS_OPT_PEERS,
    HS_OPT_PEER_BYTES,
    HS_OPT_IDLE,
    HS_OPT_TIMEOUT,
    HS_OPT_DIFF_BY,
    HS_OPT_FAIL_GROWTH,
    HS_OPT_BASELINE,
    HS_OPT_OLDER,
    HS_OPT_AGAIN,
    HS_OPT_WATCH_DIFF,
    HS_OPT_NO_KEYS,
    HS_OPT_WATCH_EXPORT,
    HS_OPT_PUSH,
    HS_OPT_PORT,
    HS_OPT_SOCKET,
    HS_N_OPTIONS
};

/* Makes a list of options, a byte each, which HS_N_OPTIONS ends. */
#define HS_OPTIONS(...) ((const uint8_t[]){__VA_ARGS__ __VA_OPT__(, ) HS_N_OPTIONS})

struct hs_option {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    enum hs_option_kind kind;
    const char *argument; /* what --help calls the value; NULL for a flag */
    const char *choices;  /* "a|b|c", or NULL */
    const char *help;
};

struct hs_invocation;
struct hs_tool;

struct hs_command {
    const char *name;
    const char *group;     /* heading in --help */
    const char *summary;   /* one line */
    const char *arguments; /* "SNAP", "PID" */
    unsigned min_arguments, max_arguments;
    const uint8_t *options;  /* HS_OPTIONS(...) */
    const char *description; /* paragraphs for --help and the man page */
    const char *examples;    /* lines */
    hs_status (*run)(struct hs_tool *tool, const struct hs_invocation *invocation,
                     struct hs_error *err);
};

/* A value for max_arguments: the first word that is no option, or what follows "--", begins another
 * program's command line; it and all behind it go to `rest`. Options stand before. */
#define HS_TAKES_REST UINT32_MAX

static inline bool hs_takes_rest(const struct hs_command *command)
{
    return command->max_arguments == HS_TAKES_REST;
}

/* Tells whether a list has an option. */
static inline bool hs_lists(const uint8_t *options, int id)
{
    while (*options != HS_N_OPTIONS && *options != id)
        options++;
    return *options == id && id != HS_N_OPTIONS;
}

static inline bool hs_takes(const struct hs_command *command, int id)
{
    return hs_lists(command->options, id);
}

/* Tells whether the command takes any of them. */
static inline bool hs_takes_some(const struct hs_command *command, const uint8_t *options)
{
    while (*options != HS_N_OPTIONS && !hs_takes(command, *options))
        options++;
    return *options != HS_N_OPTIONS;
}

static inline bool hs_takes_options(const struct hs_command *command)
{
    return command->options[0] != HS_N_OPTIONS;
}

/* The options of limits, which -h names on one line: of every command that works on a heap. */
#define HS_OPTIONS_OF_LIMITS                                                         \
    HS_OPT_MEMORY, HS_OPT_SPILL_DIR, HS_OPT_THREADS, HS_OPT_VERBOSE, HS_OPT_TIMINGS, \
        HS_OPT_TIMINGS_FILE
/* The least that a row must have, in either unit. */
#define HS_OPTIONS_OF_LEAST HS_OPT_MIN_WORDS, HS_OPT_MIN_BYTES
/* The options of commands that stop a process. */
#define HS_OPTIONS_OF_STOP \
    HS_OPT_STOP, HS_OPT_MAX_PAUSE, HS_OPT_MAX_GROWTH, HS_OPT_NO_RESTART_SYSCALLS
/* The options of commands that may ask symbol servers. */
#define HS_OPTIONS_OF_SERVERS HS_OPT_DEBUGINFOD, HS_OPT_DEBUGINFOD_TIMEOUT
/* The options of listings. */
#define HS_OPTIONS_OF_OUTPUT HS_OPT_FORMAT, HS_OPT_JSON, HS_OPT_OUTPUT, HS_OPT_PROGRESS
/* The options of imports: single rules below --policy. */
#define HS_OPTIONS_OF_RULES                                                   \
    HS_OPT_WEAK, HS_OPT_SHORTCUTS, HS_OPT_WEAKMAP, HS_OPT_PAGE, HS_OPT_SIZES, \
        HS_OPT_THREAD_LOCALS, HS_OPT_CLASS_EDGES, HS_OPT_STATICS
/* The options of looks at traces: which objects count, and how they are shown. */
#define HS_OPTIONS_OF_TRACES                                                                  \
    HS_OPT_ALLOCATED, HS_OPT_LIVE_AT, HS_OPT_COLLECTED, HS_OPT_LIFETIME, HS_OPT_SIZE,         \
        HS_OPT_INSIDE, HS_OPT_NOT_INSIDE, HS_OPT_HIDE, HS_OPT_HEAP, HS_OPT_GROUP_ALLOCATIONS, \
        HS_OPT_GROUP_LEAKED, HS_OPT_GROUP_INTERVAL, HS_OPT_TRACE_SORT, HS_OPT_BY, HS_OPT_POINTS
/* The options of exports as tables of a fleet. */
#define HS_OPTIONS_OF_FLEET HS_OPT_TABLES, HS_OPT_HOST, HS_OPT_SERVICE, HS_OPT_NO_ADDRESSES
/* The thresholds, whose crossing is exit code 1. */
#define HS_OPTIONS_OF_THRESHOLDS HS_OPT_FAIL_OVER, HS_OPT_FAIL_UNLESS_ATTRIBUTED
/* The options of every command that asks who keeps what. */
#define HS_OPTIONS_OF_POLICY HS_OPT_TIER_POLICY, HS_OPT_POINTERS_IN
/* The options of every command that writes a file, an index included; on the same line. */
#define HS_OPTIONS_OF_FILES HS_OPT_MODE, HS_OPT_GROUP
_Static_assert(HS_N_OPTIONS <= UINT8_MAX, "options have a byte each");
#define HS_MAX_REPEATED 32
#define HS_SQL_ARGUMENTS 11  /* ten snapshots and a query */
#define HS_MAX_ARGUMENTS 512 /* of diff */

struct hs_invocation {
    const struct hs_command *command;
    const char *arguments[HS_MAX_ARGUMENTS]; /* borrowed from argv */
    unsigned n_arguments;
    char **rest; /* of a command that takes the rest: borrowed, ends with NULL like argv */
    unsigned n_rest;
    bool given[HS_N_OPTIONS];
    bool in_bytes[HS_N_OPTIONS]; /* of HS_OPTION_WORDS: given with a B */
    uint64_t number[HS_N_OPTIONS];
    const char *text[HS_N_OPTIONS];
    const char *repeated[HS_MAX_REPEATED];          /* values of repeatable options, in order */
    enum hs_option_id repeated_id[HS_MAX_REPEATED]; /* of which option each is */
    unsigned n_repeated;
    bool wants_short_help, wants_help;
};

extern const struct hs_option hs_options[HS_N_OPTIONS];
extern const struct hs_command hs_commands[];
extern const size_t hs_n_commands;

static inline bool hs_given(const struct hs_invocation *invocation, enum hs_option_id id)
{
    return invocation->given[id];
}

static inline bool hs_given_some(const struct hs_invocation *invocation, const uint8_t *options)
{
    while (*options != HS_N_OPTIONS && !invocation->given[*options])
        options++;
    return *options != HS_N_OPTIONS;
}

/* Leaves only options that `command` takes as given. */
static inline void hs_give_only(struct hs_invocation *invocation, const struct hs_command *command)
{
    for (int id = 0; id < HS_N_OPTIONS; id++)
        invocation->given[id] &= hs_takes(command, id);
}

/* Reads an option that is a percentage: `preset` when it is not given. HS_USAGE above 100. */
hs_status hs_option_percent(const struct hs_invocation *invocation, enum hs_option_id id,
                            unsigned preset, unsigned *ret, struct hs_error *err);

/* Parses argv[1..argc). HS_USAGE with the nearest name as hint. `--help` and `-h` anywhere win over
 * missing arguments. With no command at all, ret->command is NULL. */
hs_status hs_parse(int argc, char **argv, struct hs_invocation *ret, struct hs_error *err);

/* Lists the values of one repeatable option in list[HS_MAX_REPEATED], borrowed. Returns their
 * number. */
size_t hs_repeated(const struct hs_invocation *invocation, enum hs_option_id id, const char **list);

/* Finds the number of the choice `text` in "a|b|c", or -1. Length-bounded, for list elements. */
int hs_choice_at(const char *choices, const char *text, size_t n_bytes);

/* Returns the bit set of a list of choices: all when it is not given. */
uint64_t hs_choices_given(const struct hs_invocation *invocation, enum hs_option_id id);

const struct hs_command *hs_find_command(const char *name);
/* Tells whether it is a command of a part that this build has not (cmake/HsParts.cmake). Then err
 * says which part that is, and how to get it: HS_USAGE. */
bool hs_is_missing_command(const char *name, struct hs_error *err);

/* Writes the choices as "a, b, c" when the help of the option does not name them itself, else
 * false. `text` has HS_CHOICES_BYTES. */
#define HS_CHOICES_BYTES 256
bool hs_choices_unsaid(const struct hs_option *option, char *text);

/* Writes texts made of the table. */
hs_status hs_help_overview(struct hs_out *out, struct hs_error *err);
hs_status hs_help_command(struct hs_out *out, const struct hs_command *command, bool is_short,
                          struct hs_error *err);
hs_status hs_help_man_overview(struct hs_out *out, struct hs_error *err);
hs_status hs_help_man(struct hs_out *out, const struct hs_command *command, struct hs_error *err);
hs_status hs_completion_write(struct hs_out *out, const char *shell, struct hs_error *err);

/* Prints into an output, as printf. */
hs_status hs_print(struct hs_out *out, struct hs_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
