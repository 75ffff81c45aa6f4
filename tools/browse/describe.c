/* The descriptions of a list and of a row: titles, commands that print the same, and details. */
#include "describe.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/root_name.h"
#include "analysis/root_rows.h"
#include "analysis/set_tops.h"
#include "analysis/type_family.h"
#include "base/append.h"
#include "base/parts.h"
#include "base/units.h"
#include "look/suspect_text.h"

/* ---- titles */

/* "#12 struct session", "set:3: 5 roots: ...". */
void hs_browse_put_what(struct hs_browse *browse, struct hs_browse_what what, char *text, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_node_facts facts = {.label = ""};
    char name[HS_BROWSE_NAME_BYTES] = "";
    switch (what.kind) {
    case HS_BROWSE_KEY:
        hs_browse_key_path(&browse->owners, what.id, " > ", name, sizeof name);
        hs_append(text, n, "%s", name[0] == 0 ? "all" : name);
        return;
    case HS_BROWSE_NODE:
        if (what.id == 0) {
            hs_append(text, n, "all roots");
            return;
        }
        (void)hs_view_facts(&browse->view, (hs_node)what.id, &facts, &ignored);
        hs_append(text, n, "#%llu %.400s", (unsigned long long)what.id, facts.label);
        return;
    case HS_BROWSE_SET:
        hs_set_label(&browse->view, (uint32_t)what.id, name, sizeof name);
        hs_append(text, n, "%s", name);
        return;
    case HS_BROWSE_TYPE:
        hs_type_family_name(&browse->view, (uint32_t)what.id, HS_TYPE_HEAD, name, sizeof name);
        hs_append(text, n, "%s", name);
        return;
    case HS_BROWSE_TYPE_NAME:
    case HS_BROWSE_NOTHING:
        return;
    }
}

void hs_browse_title(struct hs_browse *browse, const struct hs_browse_level *level, char *text,
                     size_t n)
{
    static const char *const begins[HS_N_BROWSE_FORMS] = {
        [HS_BROWSE_OWNERS] = "owners: ",
        [HS_BROWSE_DOMINATORS] = "dominated by ",
        [HS_BROWSE_ROOTS] = "roots and owner sets",
        [HS_BROWSE_HOLDERS] = "who holds ",
        [HS_BROWSE_PATHS] = "paths to ",
        [HS_BROWSE_TYPES] = "types in ",
        [HS_BROWSE_INSTANCES] = "largest blocks of ",
        [HS_BROWSE_LEAKS] = "lost: no root reaches these",
    };
    text[0] = 0;
    hs_append(text, n, "%s", begins[level->form]);
    if (level->form != HS_BROWSE_ROOTS && level->form != HS_BROWSE_LEAKS)
        hs_browse_put_what(browse, level->what, text, n);
}

/* ---- commands */

static void put_policy(const struct hs_browse *browse, char *text)
{
    const struct hs_policy *policy = &browse->session.policy;
    if (policy->kind != HS_POLICY_FIRM)
        hs_append(text, HS_BROWSE_COMMAND_BYTES, " --policy %s", hs_policy_name(policy->kind));
    for (size_t i = 0; i < policy->n_pointers_in; i++) {
        hs_append(text, HS_BROWSE_COMMAND_BYTES, " --pointers-in ");
        hs_suspect_quote(policy->pointers_in[i], text, HS_BROWSE_COMMAND_BYTES);
    }
}

static void put_begin(const struct hs_browse *browse, const char *command, char *text)
{
    text[0] = 0;
    hs_append(text, HS_BROWSE_COMMAND_BYTES, "heapsnap %s ", command);
    hs_suspect_quote(browse->path, text, HS_BROWSE_COMMAND_BYTES);
}

/* Writes an object as the commands take it: '#12', set:3, 'type:struct session'. */
static void put_object(struct hs_browse *browse, struct hs_browse_what what, char *text)
{
    char word[HS_TYPE_NAME_BYTES + 8], name[HS_TYPE_NAME_BYTES];
    if (what.kind == HS_BROWSE_TYPE) {
        hs_type_family_name(&browse->view, (uint32_t)what.id, HS_TYPE_HEAD, name, sizeof name);
        (void)snprintf(word, sizeof word, "type:%s", name);
    } else {
        (void)snprintf(word, sizeof word, what.kind == HS_BROWSE_SET ? "set:%llu" : "#%llu",
                       (unsigned long long)what.id);
    }
    hs_suspect_quote(word, text, HS_BROWSE_COMMAND_BYTES);
}

/* Keys are a table of SQL; where that was not built, the whole tree as stacks. */
static void put_keys(const struct hs_browse *browse, const struct hs_browse_level *level,
                     char *text)
{
    if (browse->older_path != NULL) {
        put_begin(browse, "diff", text);
        text[0] = 0;
        hs_append(text, HS_BROWSE_COMMAND_BYTES, "heapsnap diff ");
        hs_suspect_quote(browse->older_path, text, HS_BROWSE_COMMAND_BYTES);
        hs_append(text, HS_BROWSE_COMMAND_BYTES, " ");
        hs_suspect_quote(browse->path, text, HS_BROWSE_COMMAND_BYTES);
        hs_append(text, HS_BROWSE_COMMAND_BYTES, " --by key");
        return;
    }
    if (!HS_WITH_SQL) {
        put_begin(browse, "export", text);
        hs_append(text, HS_BROWSE_COMMAND_BYTES, " --to folded");
        return;
    }
    put_begin(browse, "sql", text);
    hs_append(
        text, HS_BROWSE_COMMAND_BYTES,
        level->form == HS_BROWSE_OWNERS
            ? " 'select all_words, all_objects, name from keys where parent = %llu order by 1 "
              "desc'"
            : " 'with recursive b(id) as (values(%llu) union all select keys.id from keys "
              "join b on parent = b.id) select sum(words), name from keys join b using (id) "
              "where type_id not null group by name order by 1 desc'",
        (unsigned long long)level->what.id);
}

void hs_browse_command(struct hs_browse *browse, const struct hs_browse_level *level, char *text)
{
    static const struct {
        const char *command, *option, *end;
    } commands[HS_N_BROWSE_FORMS] = {
        [HS_BROWSE_DOMINATORS] = {"dominators", " --from ", " --depth 1"},
        [HS_BROWSE_ROOTS] = {"roots", NULL, ""},
        [HS_BROWSE_HOLDERS] = {"object", " ", ""},
        [HS_BROWSE_PATHS] = {"paths", " --to ", ""},
        [HS_BROWSE_TYPES] = {"types", " --of ", " --sort words"},
        [HS_BROWSE_INSTANCES] = {"object", " ", ""},
        [HS_BROWSE_LEAKS] = {"leaks", NULL, ""},
    };
    if (level->what.kind == HS_BROWSE_KEY && commands[level->form].option == NULL &&
        level->form != HS_BROWSE_ROOTS && level->form != HS_BROWSE_LEAKS) {
        put_keys(browse, level, text);
    } else if (level->what.kind == HS_BROWSE_KEY && level->form == HS_BROWSE_TYPES) {
        put_keys(browse, level, text);
    } else {
        put_begin(browse, commands[level->form].command, text);
        if (commands[level->form].option != NULL) {
            hs_append(text, HS_BROWSE_COMMAND_BYTES, "%s", commands[level->form].option);
            put_object(browse, level->what, text);
        }
        hs_append(text, HS_BROWSE_COMMAND_BYTES, "%s", commands[level->form].end);
    }
    put_policy(browse, text);
}

/* ---- details of a row */

hs_status hs_browse_put_line(struct hs_buffer *lines, struct hs_error *err, const char *format, ...)
{
    char text[2 * HS_BROWSE_COMMAND_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text - 1, format, arguments);
    va_end(arguments);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) /* an end of line of the target's is none of ours */
        if (text[i] == '\n')
            text[i] = ' ';
    text[n++] = '\n';
    HS_TRY(hs_buffer_reserve(lines, n, err));
    hs_buffer_put_bytes(lines, text, n);
    return HS_OK;
}

static hs_status put_words(const struct hs_browse *browse, struct hs_buffer *lines,
                           const char *what, uint64_t words, struct hs_error *err)
{
    char human[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(words * browse->view.facts->word_bytes, human);
    return hs_browse_put_line(lines, err, "%-12s %s, %llu words", what, human,
                              (unsigned long long)words);
}

static hs_status describe_root(struct hs_browse *browse, hs_node node, struct hs_buffer *lines,
                               struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(browse->view.snap, node);
    char place[512];
    hs_root_place(&browse->view, root, place, sizeof place);
    HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "kind", hs_root_kind_name(root->kind)));
    if (place[0] != 0)
        HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "where", place));
    if (root->module != 0)
        HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "module",
                                  hs_view_string(&browse->view, root->module)));
    return put_words(browse, lines, "reaches", hs_index_reachable(browse->view.index, node).words,
                     err);
}

void hs_browse_put_keeper(struct hs_browse *browse, hs_node node, char *text, size_t n)
{
    hs_node root = hs_view_retaining_root(&browse->view, node);
    uint32_t set = root == HS_NO_NODE ? hs_set_keeping(&browse->view, node) : 0;
    if (root != HS_NO_NODE)
        hs_browse_put_what(browse, (struct hs_browse_what){HS_BROWSE_NODE, root}, text, n);
    else if (set != 0)
        hs_browse_put_what(browse, (struct hs_browse_what){HS_BROWSE_SET, set}, text, n);
    else if (hs_index_idom(browse->view.index, node) == HS_NO_NODE)
        hs_append(text, n, "no root: it is lost");
    else
        hs_append(text, n, "several roots");
}

static hs_status describe_keeper(struct hs_browse *browse, hs_node node, struct hs_buffer *lines,
                                 struct hs_error *err)
{
    char name[HS_BROWSE_NAME_BYTES] = "";
    hs_node root = hs_view_retaining_root(&browse->view, node);
    hs_node above = hs_index_idom(browse->view.index, node);
    hs_browse_put_keeper(browse, node, name, sizeof name);
    HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "kept by", name));
    if (above == HS_NO_NODE || above == root || above < browse->view.n_tree)
        return HS_OK;
    name[0] = 0;
    hs_browse_put_what(browse, (struct hs_browse_what){HS_BROWSE_NODE, above}, name, sizeof name);
    return hs_browse_put_line(lines, err, "%-12s %s", "dominator", name);
}

static hs_status describe_node(struct hs_browse *browse, hs_node node, struct hs_buffer *lines,
                               struct hs_error *err)
{
    struct hs_view *view = &browse->view;
    struct hs_node_facts facts;
    struct hs_sizes retained = hs_index_retained(view->index, node);
    const char *tier = hs_tier_name(hs_index_tier(view->index, node));
    HS_TRY(hs_view_facts(view, node, &facts, err));
    HS_TRY(hs_browse_put_line(lines, err, "%-12s #%llu", "node", (unsigned long long)node));
    HS_TRY(hs_browse_put_line(lines, err, "%-12s %.4000s", facts.is_root ? "root" : "type",
                              facts.label));
    if (facts.address != 0)
        HS_TRY(hs_browse_put_line(lines, err, "%-12s 0x%llx", "address",
                                  (unsigned long long)facts.address));
    if (facts.is_root && node != 0)
        HS_TRY(describe_root(browse, node, lines, err));
    else if (!facts.is_root)
        HS_TRY(put_words(browse, lines, "itself", facts.words, err));
    HS_TRY(put_words(browse, lines, "retains", retained.words, err));
    HS_TRY(hs_browse_put_line(lines, err, "%-12s %llu", "objects",
                              (unsigned long long)retained.objects));
    if (tier != NULL)
        HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "tier", tier));
    return facts.is_root ? HS_OK : describe_keeper(browse, node, lines, err);
}

static hs_status describe_key(struct hs_browse *browse, uint64_t at, struct hs_buffer *lines,
                              struct hs_error *err)
{
    const struct hs_key_row *key = hs_browse_key(&browse->owners, at);
    char name[4 * HS_KEY_TEXT_BYTES];
    hs_browse_key_path(&browse->owners, at, " > ", name, sizeof name);
    HS_TRY(hs_browse_put_line(lines, err, "%-12s %s", "key", name));
    HS_TRY(put_words(browse, lines, "itself", key->detail, err));
    HS_TRY(put_words(browse, lines, "with below", key->words, err));
    return hs_browse_put_line(lines, err, "%-12s %llu", "objects",
                              (unsigned long long)key->objects);
}

static hs_status describe_command(struct hs_browse *browse, struct hs_browse_what what,
                                  struct hs_buffer *lines, struct hs_error *err)
{
    char command[HS_BROWSE_COMMAND_BYTES];
    put_begin(browse, "object", command);
    hs_append(command, sizeof command, " ");
    put_object(browse, what, command);
    put_policy(browse, command);
    return hs_browse_put_line(lines, err, "%-12s %s", "command", command);
}

hs_status hs_browse_describe(struct hs_browse *browse, struct hs_buffer *ret, struct hs_error *err)
{
    const struct hs_browse_level *level = hs_browse_top(browse);
    const struct hs_browse_row *row = hs_browse_level_row(level);
    if (row == NULL)
        return HS_OK;
    const char *name = hs_browse_level_text(level, (size_t)(row - level->rows));
    struct hs_browse_what what = row->what, root;
    if (what.kind == HS_BROWSE_NOTHING && level->form == HS_BROWSE_DOMINATORS && !row->is_more)
        what = level->what; /* the row of the node itself */
    struct hs_error ignored = HS_ERROR_INIT;
    if (what.kind == HS_BROWSE_NODE) {
        HS_TRY(describe_node(browse, (hs_node)what.id, ret, err));
        return describe_command(browse, what, ret, err);
    }
    if (what.kind != HS_BROWSE_KEY) {
        HS_TRY(hs_browse_put_line(ret, err, "%-12s %.4000s", "name", name));
        if (row->words != HS_BROWSE_UNKNOWN)
            HS_TRY(put_words(browse, ret, "size", row->words, err));
        bool is_object = what.kind == HS_BROWSE_SET || what.kind == HS_BROWSE_TYPE;
        return is_object ? describe_command(browse, what, ret, err) : HS_OK;
    }
    HS_TRY(describe_key(browse, what.id, ret, err));
    if (hs_browse_key(&browse->owners, what.id)->form != HS_KEY_ROOT ||
        hs_browse_resolve(browse, what, &root, &ignored) != HS_OK)
        return HS_OK;
    HS_TRY(describe_node(browse, (hs_node)root.id, ret, err));
    return describe_command(browse, root, ret, err);
}
