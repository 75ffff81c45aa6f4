/* The browser without its screen: an open snapshot, the lists that were gone through to come to the
 * one that is shown, and what each key of the browser does. Nothing here prints or reads a key.
 *
 * Of a node with ten million children as many are kept as are asked for: HS_BROWSE_ROWS at first,
 * ten times as many each time that the last row, which stands for the others, is entered, at most
 * HS_BROWSE_ROWS_MOST. Names are looked up for rows that are on the screen, and for all that are
 * kept once they are sorted by name, filtered or searched. */
#ifndef HS_BROWSE_MODEL_H
#define HS_BROWSE_MODEL_H

#include "analysis/view.h"
#include "level.h"
#include "owners.h"

enum {
    HS_BROWSE_ROWS = 1000,
    HS_BROWSE_ROWS_MOST = 100000,
    HS_BROWSE_LEVELS_READ = 8,   /* lists whose rows are kept, of those gone through */
    HS_BROWSE_NAME_BYTES = 1024, /* of a row; longer ones are cut */
    HS_BROWSE_COMMAND_BYTES = 4096,
    HS_BROWSE_NOTE_BYTES = 512
};

/* A row that others are put beside. */
struct hs_browse_mark {
    struct hs_browse_what what; /* what it is about */
    uint64_t words, objects;    /* as they stood in its list */
    char *name;                 /* owned; NULL: nothing is marked */
};

struct hs_browse {
    struct hs_session session; /* borrowed, with the policy of now */
    const char *path;          /* borrowed */
    struct hs_view view;
    struct hs_browse_owners owners;
    struct hs_browse_older older;   /* that sizes are compared with */
    char *older_path;               /* owned; NULL: nothing is compared */
    struct hs_browse_mark mark;     /* until the policy changes */
    struct hs_browse_level *levels; /* owned: the one that is shown last */
    size_t n_levels, capacity;
    enum hs_browse_sort sort;        /* of lists to come */
    char note[HS_BROWSE_NOTE_BYTES]; /* to be said once; "": nothing */
};

/* Opens the snapshot, its index and its keys, which are computed where they are missing, and shows
 * the owner tree. `session` and `path` stay borrowed. As hs_view_open and hs_key_file_of. */
hs_status hs_browse_open(const struct hs_session *session, const char *path, struct hs_browse *ret,
                         struct hs_error *err);
/* Closes the browser. HS_FORMAT when the index met damage meanwhile, else `status`. */
hs_status hs_browse_finish(struct hs_browse *browse, hs_status status, struct hs_error *err);

static inline struct hs_browse_level *hs_browse_top(const struct hs_browse *browse)
{
    return &browse->levels[browse->n_levels - 1];
}

/* Prepares the list to be drawn on so many lines: reads it if it was not, scrolls it, names its
 * rows. */
hs_status hs_browse_ready(struct hs_browse *browse, size_t n_lines, struct hs_error *err);

/* Goes to a list: back to the one before when that is it, else one further. On failure everything
 * is as it was. */
hs_status hs_browse_go(struct hs_browse *browse, enum hs_browse_form form,
                       struct hs_browse_what what, struct hs_error *err);
/* Enters the row under the cursor (Enter), or shows more rows. What cannot be entered makes a
 * note. */
hs_status hs_browse_enter(struct hs_browse *browse, struct hs_error *err);
/* Goes back to the list before (Left): false in the first list. */
bool hs_browse_leave(struct hs_browse *browse);
/* Opens holders, paths or types of the row under the cursor (o, p, t). */
hs_status hs_browse_ask(struct hs_browse *browse, enum hs_browse_form form, struct hs_error *err);
/* Goes from the owner tree to the dominator tree, and back (d); from other lists to what the row
 * under the cursor dominates. */
hs_status hs_browse_other_tree(struct hs_browse *browse, struct hs_error *err);
/* Takes the other policy (f). Indexes by it if that was not done. Where that fails the one before
 * is opened again. */
hs_status hs_browse_other_policy(struct hs_browse *browse, struct hs_error *err);
/* Shows sizes of an older snapshot, or of its key file, beside ours (m). HS_USAGE when they cannot
 * be compared. NULL: no more. */
hs_status hs_browse_compare(struct hs_browse *browse, const char *older, struct hs_error *err);

/* Marks the row under the cursor (M); that row again: no more; another one: *ret gets both side by
 * side, as hs_browse_describe tells of one, and the mark stays. Goes through the heap for the types
 * of what blocks keep. HS_USAGE when the row is nothing. */
hs_status hs_browse_mark(struct hs_browse *browse, bool in_words, struct hs_buffer *ret,
                         struct hs_error *err);
void hs_browse_unmark(struct hs_browse *browse);
/* Tells whether the row is marked. Rows of types are compared by name. */
bool hs_browse_is_marked(const struct hs_browse *browse, const struct hs_browse_level *level,
                         size_t row);

hs_status hs_browse_sort_by(struct hs_browse *browse, enum hs_browse_sort sort,
                            struct hs_error *err);
/* Shows only rows whose name contains the text; "": all. */
hs_status hs_browse_filter(struct hs_browse *browse, const char *text, struct hs_error *err);
/* Goes to the next row whose name contains the text: a note when there is none. */
hs_status hs_browse_find(struct hs_browse *browse, const char *text, bool from_here,
                         struct hs_error *err);

/* ---- what is said of a list */

/* Writes "server.sessions > struct session", "who holds #12 struct session". `text` has n bytes. */
void hs_browse_title(struct hs_browse *browse, const struct hs_browse_level *level, char *text,
                     size_t n);
/* The command that prints the list; for a shell. `text` has HS_BROWSE_COMMAND_BYTES. */
void hs_browse_command(struct hs_browse *browse, const struct hs_browse_level *level, char *text);
/* Appends to *ret what is known of the row under the cursor (i), a line each with its end. */
hs_status hs_browse_describe(struct hs_browse *browse, struct hs_buffer *ret, struct hs_error *err);

void hs_browse_say(struct hs_browse *browse, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- inside */

/* Opens the view, the index and the keys of the session's policy. On failure the browser is to be
 * finished, or another policy opened. */
hs_status hs_browse_open_snapshot(struct hs_browse *browse, struct hs_error *err);
/* Closes them. HS_FORMAT when the index met damage, else `status`. Nothing to do when none is
 * open. */
hs_status hs_browse_close_snapshot(struct hs_browse *browse, hs_status status,
                                   struct hs_error *err);
/* Reads a list that was not read. */
hs_status hs_browse_read(struct hs_browse *browse, struct hs_browse_level *level,
                         struct hs_error *err);
/* Finds the subject of the row under the cursor. HS_USAGE when it has none. */
hs_status hs_browse_what_of_row(struct hs_browse *browse, struct hs_browse_what *ret,
                                struct hs_error *err);
/* Finds the key of the slot, or else of the root, that keeps a node; 0, all, when there is none. */
uint32_t hs_browse_key_of_node(struct hs_browse *browse, hs_node node);

/* Reads the rows of a list that has none. One function for each form. */
hs_status hs_browse_load_owners(struct hs_browse *browse, struct hs_browse_level *level,
                                struct hs_error *err);
hs_status hs_browse_load_dominators(struct hs_browse *browse, struct hs_browse_level *level,
                                    struct hs_error *err);
hs_status hs_browse_load_roots(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err);
hs_status hs_browse_load_holders(struct hs_browse *browse, struct hs_browse_level *level,
                                 struct hs_error *err);
hs_status hs_browse_load_paths(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err);
hs_status hs_browse_load_types(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err);
hs_status hs_browse_load_instances(struct hs_browse *browse, struct hs_browse_level *level,
                                   struct hs_error *err);
hs_status hs_browse_load_leaks(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err);

/* Names rows from place `from` up to `to` of the order. */
hs_status hs_browse_name_rows(struct hs_browse *browse, struct hs_browse_level *level, size_t from,
                              size_t to, struct hs_error *err);
/* Turns the subject of a row into an object: of a key of a root that root, of a key of a type the
 * largest of its blocks that is found below, or else in the whole heap, of a type its largest
 * block. HS_USAGE when there is none. */
hs_status hs_browse_resolve(struct hs_browse *browse, struct hs_browse_what what,
                            struct hs_browse_what *ret, struct hs_error *err);
/* Returns the words, or the detail, of the row with that name in the older snapshot; 0 when it has
 * no such row, HS_BROWSE_UNKNOWN without an older snapshot. */
uint64_t hs_browse_before(const struct hs_browse *browse, enum hs_key_list list, const char *name,
                          bool is_detail);

#endif
