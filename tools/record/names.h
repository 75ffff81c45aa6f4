/* Names for code addresses of a recorded program: which function, what was inlined, which line.
 *
 * The recorder tells a module's file and the address in it; the file is opened here once, with its
 * separate debug file, and read by our own reader of debug information (symbols/locals.h). A file
 * that is another one by now than what the program has loaded gives no names, and a note. */
#ifndef HS_RECORD_NAMES_H
#define HS_RECORD_NAMES_H

#include <sys/types.h>

#include "base/alloc.h"
#include "trace/stream.h"

struct hs_namer;

/* Reads the address in a placeholder name ("+0x1f3c"); false for any other name. */
bool hs_namer_address(const char *function, uint64_t *ret);

/* Makes a namer. `debug_dirs` are borrowed until free; HS_DEBUG_DIRECTORY comes after them. */
hs_status hs_namer_new(const char *const *debug_dirs, size_t n_debug_dirs, struct hs_namer **ret,
                       struct hs_error *err);
void hs_namer_free(struct hs_namer *namer);
HS_DEFINE_AUTO(hs_namer, free)

/* Sets the process that the addresses are of, and when it began (since 1970), for telling replaced
 * files. pid 0: it is gone. */
void hs_namer_process(struct hs_namer *namer, pid_t pid, uint64_t begun_us);

/* Finds the functions at the return address `vaddr` of the file `module`, outermost first: *ret_n
 * >= 1 of them, borrowed until the next call. A place without names has the module as file and
 * "+0x..." as function. HS_LIMIT. */
hs_status hs_namer_find(struct hs_namer *namer, const char *module, uint64_t vaddr,
                        const struct hs_place_name **ret, size_t *ret_n, struct hs_error *err);

/* Files that gave no names and why, a sentence each; borrowed until the next find. */
size_t hs_namer_n_notes(const struct hs_namer *namer);
const char *hs_namer_note(const struct hs_namer *namer, size_t number);

#endif
