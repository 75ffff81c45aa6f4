/* Places in objects as the program's source calls them, from the members of types.
 *
 *   one step     "ht_table[0]"   "[17].key"   "[17]"   "[17]+8"   ""
 *   one in OCaml Stm.VCS.contents.vcs.nodes
 *   a path       server.db[0].dict->ht_table[0][17]->next{x3}->v.val
 *
 * Text is cut at its room and always terminated; it is not yet cleaned for a terminal. */
#ifndef HS_ANALYSIS_FIELD_PATH_H
#define HS_ANALYSIS_FIELD_PATH_H

#include "analysis/path_fold.h"

/* Writes the name of the word at an offset of a block of the type. Returns the length; 0 when the
 * type says nothing of it. O(log members). */
size_t hs_field_name(const struct hs_view *view, uint32_t type, uint64_t offset_words, char *text,
                     size_t n_bytes);

/* Returns the punctuation before such a name: "." for Python and for source types of OCaml, else
 * "->"; "" before an element of an array and before a part without a name. */
const char *hs_field_arrow(const struct hs_view *view, uint32_t type, const char *place);

/* Tells whether the place is a part of a Python object that the language does not name: the table
 * of a dictionary, the items of a list. To a reader, what it leads to belongs to the object
 * itself. */
bool hs_field_is_part(const struct hs_view *view, uint32_t type, const char *place);

/* Writes the whole path from the root's slot called `root` on. A run of alike steps is written once
 * with its count, left out ones are dots, a place without a name is its offset in bytes: (+24).
 * Returns the length; 0, and an empty text, when no step has a name: then the path says nothing
 * that its steps do not. */
size_t hs_field_path(const struct hs_view *view, const char *root, const struct hs_path_fold *fold,
                     char *text, size_t n_bytes);

/* The last folder and the name of a file whose path is absolute or begins with a dot, as compilers
 * write them down; other text as it is. For tables, which have little room. Points into `text`. */
const char *hs_file_short(const char *text);

enum { HS_FIELD_NAME_BYTES = 512, HS_FIELD_PATH_BYTES = 8192 };

#endif
