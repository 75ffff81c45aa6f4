/* The bytes of a key file; all numbers of the packed part are varints.
 *
 *   strings   n, then length and bytes of each: no string twice, none empty, none with a NUL
 *   facts     in the order of struct hs_key_facts
 *   builds    n, then path and build id of each
 *   lists     HS_N_KEY_LISTS times: n, then parent + 1 (0: none), name, form, objects, words,
 *             detail and set of each
 *   tells     of each row of keys, then of leaks; a file may end before it: then all are 0
 */
#ifndef HS_ANALYSIS_KEY_FORMAT_H
#define HS_ANALYSIS_KEY_FORMAT_H

#include "analysis/key_file.h"
#include "kept_file.h"

#define KEY_FILE_MAGIC 0x7379656b2e736e73ULL /* "sns.keys" */
extern const struct hs_kept_file_kind hs_key_file_kind;

/* The lists that have `tells`, in the order of the file. */
enum { HS_N_KEY_TELLING = 2 };
static const enum hs_key_list hs_key_telling[HS_N_KEY_TELLING] = {HS_KEY_LIST_KEYS,
                                                                  HS_KEY_LIST_LEAKS};

struct hs_index;
/* Hashes all owner sets of an index. A key file has the hash: set numbers in it mean the same as in
 * an index of equal hash. */
uint64_t hs_key_sets_hash(struct hs_index *index);

#endif
