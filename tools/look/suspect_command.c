/* The command that shows the evidence of a suspect. */
#include <stdio.h>
#include <string.h>

#include "analysis/object_lookup.h"
#include "base/append.h"
#include "suspect_text.h"

enum { NAME_COLUMNS = 60, NAME_BYTES = 512 };

struct writer {
    char *text;
    size_t n_bytes;
    hs_status status; /* of the first name that there was no memory for */
    struct hs_error *err;
};

#define put(w, ...) hs_append((w)->text, (w)->n_bytes, __VA_ARGS__)

void hs_suspect_quote(const char *word, char *text, size_t n_bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%";
    struct writer w = {.text = text, .n_bytes = n_bytes};
    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        put(&w, "%s", word);
        return;
    }
    put(&w, "'");
    for (const char *at = word; *at != '\0'; at++) {
        if (*at == '\'')
            put(&w, "'\\''");
        else
            put(&w, "%c", *at);
    }
    put(&w, "'");
}

/* A root by its name when that finds it, else by its number. */
static void put_what(struct writer *w, struct hs_view *view, hs_node node)
{
    char what[NAME_BYTES] = "";
    struct hs_object_spec found;
    struct hs_error none = HS_ERROR_INIT;
    bool is_plain = node < view->n_tree;
    const char *name = is_plain ? hs_view_string(view, hs_snap_root(view->snap, node)->name) : "";
    is_plain &= strlen(name) < NAME_COLUMNS;
    for (const char *at = name; *at != '\0'; at++)
        is_plain &= *at > ' ' && *at < 0x7f && *at != '\'';
    (void)snprintf(what, sizeof what, "root:%.400s", name);
    hs_status status = is_plain ? hs_object_lookup(view, what, &found, &none) : HS_USAGE;
    if (status == HS_LIMIT && w->status == HS_OK) {
        *w->err = none;
        w->status = status;
    }
    if (status != HS_OK || found.nodes[0] != node)
        (void)snprintf(what, sizeof what, "#%lu", (unsigned long)node);
    hs_suspect_quote(what, w->text, w->n_bytes);
}

static void put_begin(struct writer *w, const struct hs_view *view, const char *command)
{
    put(w, "heapsnap %s ", command);
    hs_suspect_quote(view->path, w->text, w->n_bytes);
    put(w, " ");
}

/* Puts the command for all of a class: who keeps how many of them, and through which members. */
static void put_type_command(struct writer *w, const struct hs_view *view, uint32_t type)
{
    char what[NAME_BYTES];
    (void)snprintf(what, sizeof what, "type:%.400s",
                   hs_view_string(view, hs_snap_type(view->snap, type)->name));
    put_begin(w, view, "paths");
    put(w, "--to ");
    hs_suspect_quote(what, w->text, w->n_bytes);
}

/* Puts the command for what hangs on a place, in groups: by types, and where none is known by
 * sizes, of which groups by type would be one. */
static void put_groups_command(struct writer *w, struct hs_view *view,
                               const struct hs_suspect *suspect)
{
    bool has_type = hs_suspect_tells_type(view, suspect);
    put_begin(w, view, has_type ? "dominators" : "types");
    put(w, has_type ? "--from " : "--of ");
    put_what(w, view, suspect->evidence);
    put(w, has_type ? " --group-by type" : "");
}

static void write_owner_command(struct writer *w, struct hs_view *view,
                                const struct hs_suspect *suspect)
{
    bool is_table = hs_suspect_has_table(suspect) && suspect->evidence == suspect->at.point;
    bool is_path = suspect->at.members != 0 && !is_table;
    if (suspect->is_class && suspect->count > 1) {
        put_type_command(w, view, suspect->type);
        return;
    }
    if (!is_path) {
        put_groups_command(w, view, suspect);
        return;
    }
    put_begin(w, view, "paths");
    put(w, "--to ");
    put_what(w, view, suspect->evidence);
}

/* The ways from each of its roots. */
static void write_joint_command(struct writer *w, struct hs_view *view,
                                const struct hs_suspect *suspect)
{
    if (suspect->is_class && suspect->count > 1 && hs_suspect_is_one_holder(view, suspect)) {
        put_type_command(w, view, suspect->type);
        return;
    }
    put_begin(w, view, "paths");
    put(w, "--to set:%u", suspect->set);
}

static void write_waste_command(struct writer *w, struct hs_view *view,
                                const struct hs_suspect *suspect)
{
    if (suspect->waste == HS_WASTE_ROUNDED_UP) {
        put_begin(w, view, "samples");
        put(w, "--group-by site");
    } else if (suspect->waste == HS_WASTE_UNKNOWN) {
        put_begin(w, view, "types");
        put(w, "--sort words");
    } else {
        put_begin(w, view, "object");
        put_what(w, view, suspect->evidence);
    }
}

/* The command has to see the heap as this one does. */
static void put_policy(struct writer *w, const struct hs_view *view)
{
    const struct hs_policy *policy = &view->session.policy;
    if (policy->kind != HS_POLICY_FIRM)
        put(w, " --policy %s", hs_policy_name(policy->kind));
    for (size_t i = 0; i < policy->n_pointers_in; i++) {
        put(w, " --pointers-in ");
        hs_suspect_quote(policy->pointers_in[i], w->text, w->n_bytes);
    }
}

hs_status hs_suspect_write_command(struct hs_view *view, const struct hs_suspect *suspect,
                                   char *text, size_t n_bytes, struct hs_error *err)
{
    struct writer command = {.text = text, .n_bytes = n_bytes, .err = err};
    text[0] = '\0';
    switch (suspect->list) {
    case HS_SUSPECT_OWNER:
        write_owner_command(&command, view, suspect);
        break;
    case HS_SUSPECT_JOINT:
        write_joint_command(&command, view, suspect);
        break;
    case HS_SUSPECT_LOST:
        put_begin(&command, view, "leaks");
        put(&command, "%s",
            suspect->certainty == HS_EXACT ? "--certainty certain" : "--certainty possible");
        break;
    case HS_SUSPECT_WASTE:
        write_waste_command(&command, view, suspect);
        break;
    case HS_N_SUSPECT_LISTS:
        break;
    }
    put_policy(&command, view);
    return command.status;
}
