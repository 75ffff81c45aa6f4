/* Suspects as sentences, and the command that shows the evidence of each. */
#ifndef HS_LOOK_SUSPECT_TEXT_H
#define HS_LOOK_SUSPECT_TEXT_H

#include "analysis/suspects.h"

struct hs_suspect_text {
    char sentence[4096]; /* long names are cut in the middle; safe to print */
    char command[2048];  /* for a shell */
};

hs_status hs_suspect_write(struct hs_view *view, const struct hs_suspect *suspect,
                           struct hs_suspect_text *ret, struct hs_error *err);

/* Returns how many of the largest parts the sentence tells, each by its place: where one block, or
 * none, has most of it. 0: it tells one population. */
unsigned hs_suspect_parts(const struct hs_suspect *suspect);

/* "server (shop.cpp:51)" or "3 roots together (server.db, lctx, ...)". `text` has
 * HS_SUSPECT_WHO_BYTES. */
enum { HS_SUSPECT_WHO_BYTES = 768 };
hs_status hs_suspect_who(const struct hs_view *view, const struct hs_suspect *suspect, char *text,
                         struct hs_error *err);

/* Tells whether one root keeps it, or one and the modules that this is a field of. */
bool hs_suspect_is_one_holder(const struct hs_view *view, const struct hs_suspect *suspect);

/* Returns how many tasks or greenlets wait where the one root is a variable of theirs, as far as
 * they have slots; 1 of any other suspect. O(tree). */
uint64_t hs_suspect_n_waiting(const struct hs_view *view, const struct hs_suspect *suspect);

/* Returns the holder's text, from the variable on where all of it has no room and the sentence
 * began with the frame that the variable is of: "self._closed._waiters" of "task wait() local
 * self". */
const char *hs_suspect_place(const struct hs_view *view, const struct hs_suspect *suspect);

/* "1.3 MiB, 88.0 % of the heap", or of "heap and unread memory". `text` has HS_SUSPECT_MUCH_BYTES.
 */
enum { HS_SUSPECT_MUCH_BYTES = 96 };
void hs_suspect_much(const struct hs_view *view, uint64_t words, char *text);
/* Names what its percentages are of: "the heap", or "heap and unread memory". */
const char *hs_suspect_whole(const struct hs_view *view);

/* Writes what a collector has yet to free: "1.3 MiB, 88.0 % of the heap is garbage, which its
 * collector will free". */
hs_status hs_suspect_write_garbage(const struct hs_view *view, const struct hs_suspects *found,
                                   struct hs_suspect_text *ret, struct hs_error *err);

/* Tells whether a type tells something of what is kept, more than the size of its blocks. */
bool hs_suspect_tells_type(const struct hs_view *view, const struct hs_suspect *suspect);

/* Writes the command alone, of which `text` has room for n_bytes (suspect_command.c). */
hs_status hs_suspect_write_command(struct hs_view *view, const struct hs_suspect *suspect,
                                   char *text, size_t n_bytes, struct hs_error *err);

/* Appends a word to a command, in quotes where a shell would make something of it. */
void hs_suspect_quote(const char *word, char *text, size_t n_bytes);

#endif
