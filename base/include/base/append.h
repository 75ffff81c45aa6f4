/* Short texts that are put together piece by piece in a buffer of fixed size. */
#ifndef HS_BASE_APPEND_H
#define HS_BASE_APPEND_H

#include <stddef.h>

/* Writes behind what stands in `text`, which is terminated and has n_bytes; what has no room is cut
 * away. */
void hs_append(char *text, size_t n_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for one of a list: behind `between`, unless it is the first. */
void hs_append_item(char *text, size_t n_bytes, const char *between, const char *item);

/* A word as a shell reads it back, with backslashes where it would take it apart: commands that are
 * printed are there to be copied. In quotes of ours it needs none of its own:
 *
 *     hs_hint(err, "'heapsnap roots %s' lists all", HS_SHELL(path));
 *
 * Cut, at a whole character, where it has no room. Returns `text`. */
enum { HS_SHELL_WORD_BYTES = 4096 };
const char *hs_shell_word(const char *word, char text[HS_SHELL_WORD_BYTES]);
#define HS_SHELL(word) hs_shell_word((word), (char[HS_SHELL_WORD_BYTES]){0})

#endif
