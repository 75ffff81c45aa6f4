/* The dot commands of sql. */
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "sql_session.h"

enum { WORD_BYTES = 4096 };

struct words {
    char name[32], first[WORD_BYTES], second[WORD_BYTES];
};

/* The next word behind blanks; one in '' or "" may have blanks. */
static const char *next_word(const char *at, char *word, size_t n_bytes)
{
    size_t n = 0;
    at += strspn(at, " \t\r\n");
    char quote = *at == '\'' || *at == '"' ? *at++ : 0;
    while (*at != 0 && (quote != 0 ? *at != quote : strchr(" \t\r\n;", *at) == NULL)) {
        if (n + 1 < n_bytes)
            word[n++] = *at;
        at++;
    }
    word[n] = 0;
    return at + (quote != 0 && *at == quote);
}

static void read_words(const char *text, struct words *words)
{
    text = next_word(text, words->name, sizeof words->name);
    text = next_word(text, words->first, sizeof words->first);
    if (strcmp(words->first, "as") == 0)
        text = next_word(text, words->first, sizeof words->first);
    text = next_word(text, words->second, sizeof words->second);
    if (strcmp(words->second, "as") == 0)
        (void)next_word(text, words->second, sizeof words->second);
}

static hs_status list_questions(struct hs_sql_session *session, const struct words *words,
                                struct hs_error *err)
{
    (void)words;
    for (size_t i = 0; i < hs_sql_n_questions; i++)
        HS_TRY(hs_print(&session->tool->out, err, "%-20s %s\n", hs_sql_questions[i].name,
                        hs_sql_questions[i].sentence));
    return HS_OK;
}

/* "id INTEGER, words WORDS, of HIDDEN" as "id words": names alone, without what is hidden. */
static void column_names(const char *columns, char *text, size_t n_bytes)
{
    text[0] = 0;
    for (const char *at = columns; *at != 0;) {
        size_t n = strcspn(at, ","), n_name = strcspn(at, " ,");
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)n_name, at);
        bool is_hidden = n > n_name && strncmp(at + n_name, " HIDDEN", 7) == 0;
        if (!is_hidden)
            hs_append_item(text, n_bytes, " ", name);
        at += n;
        at += strspn(at, ", ");
    }
}

static hs_status list_tables(struct hs_sql_session *session, const struct words *words,
                             struct hs_error *err)
{
    char names[1024];
    (void)words;
    for (size_t i = 0; i < hs_sql_n_tables(); i++) {
        struct hs_sql_table_facts facts = hs_sql_table_at(i);
        column_names(facts.columns, names, sizeof names);
        HS_TRY(hs_tool_say(session->tool, err, "%s%s: %s", facts.name,
                           facts.is_function ? "(...)" : "", names));
    }
    return HS_OK;
}

static hs_status show_schema(struct hs_sql_session *session, const struct words *words,
                             struct hs_error *err)
{
    struct hs_out *out = &session->tool->out;
    for (size_t i = 0; i < hs_sql_n_questions; i++)
        if (words->first[0] == 0 || strcmp(words->first, hs_sql_questions[i].name) == 0)
            HS_TRY(hs_print(out, err, "CREATE VIEW %s AS\n  %s;\n", hs_sql_questions[i].name,
                            hs_sql_questions[i].sql));
    for (size_t i = 0; i < hs_sql_n_tables(); i++) {
        struct hs_sql_table_facts facts = hs_sql_table_at(i);
        if (words->first[0] == 0 || strcmp(words->first, facts.name) == 0)
            HS_TRY(hs_print(out, err, "CREATE TABLE %s(%s);\n", facts.name, facts.columns));
    }
    return HS_OK;
}

static hs_status attach(struct hs_sql_session *session, const struct words *words,
                        struct hs_error *err)
{
    if (words->first[0] == 0)
        return hs_fail(err, HS_USAGE, "no file is given: .attach FILE [NAME]");
    return hs_sql_attach(session->sql, words->first, words->second[0] != 0 ? words->second : NULL,
                         err);
}

static hs_status list_snapshots(struct hs_sql_session *session, const struct words *words,
                                struct hs_error *err)
{
    const char *name, *path;
    (void)words;
    for (unsigned i = 0; hs_sql_attached(session->sql, i, &name, &path); i++) {
        HS_TRY(hs_print(&session->tool->out, err, "%-12s ", name));
        HS_TRY(hs_tool_print_clean(session->tool, path, err));
        HS_TRY(hs_print(&session->tool->out, err, "\n"));
    }
    return HS_OK;
}

static hs_status set_format(struct hs_sql_session *session, const struct words *words,
                            struct hs_error *err)
{
    static const enum hs_sheet_format formats[] = {HS_SHEET_TABLE, HS_SHEET_JSON, HS_SHEET_NDJSON,
                                                   HS_SHEET_TSV};
    int choice = hs_choice_at("table|json|ndjson|tsv", words->first, strlen(words->first));
    if (choice < 0)
        return hs_fail(err, HS_USAGE, "'%.40s' is no format: table, json, ndjson or tsv",
                       words->first);
    session->options.format = formats[choice];
    return HS_OK;
}

static hs_status help(struct hs_sql_session *session, const struct words *words,
                      struct hs_error *err);

static hs_status quit(struct hs_sql_session *session, const struct words *words,
                      struct hs_error *err)
{
    (void)session;
    (void)words;
    (void)err;
    return HS_OK;
}

static const struct {
    const char *name, *arguments, *sentence;
    hs_status (*run)(struct hs_sql_session *, const struct words *, struct hs_error *);
} commands[] = {
    {".questions", "", "the stored questions: select * from NAME", list_questions},
    {".tables", "", "the tables and their columns", list_tables},
    {".schema", "[NAME]", "the same and the questions as SQL has them", show_schema},
    {".attach", "FILE [NAME]", "one more snapshot: its tables are NAME.blocks, ...", attach},
    {".snapshots", "", "the snapshots and their names", list_snapshots},
    {".format", "FORMAT", "table, json, ndjson or tsv", set_format},
    {".help", "", "this", help},
    {".quit", "", "end", quit},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static hs_status help(struct hs_sql_session *session, const struct words *words,
                      struct hs_error *err)
{
    char usage[64];
    (void)words;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)snprintf(usage, sizeof usage, "%s %s", commands[i].name, commands[i].arguments);
        HS_TRY(hs_print(&session->tool->out, err, "%-22s %s\n", usage, commands[i].sentence));
    }
    return HS_OK;
}

bool hs_sql_session_command(struct hs_sql_session *session, const char *text, bool *ret_ends,
                            hs_status *ret_status, struct hs_error *err)
{
    struct words words;
    *ret_ends = false;
    text += strspn(text, " \t\r\n");
    if (text[0] != '.')
        return false;
    read_words(text, &words);
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(words.name, commands[i].name) == 0) {
            *ret_ends = commands[i].run == quit;
            *ret_status = commands[i].run(session, &words, err);
            return true;
        }
    *ret_status = hs_fail(err, HS_USAGE, "unknown command '%s'", words.name);
    (void)hs_hint(err, ".help lists them");
    return true;
}
