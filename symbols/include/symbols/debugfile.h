/* Separate debug files: by build-id, then by .gnu_debuglink with build-id or checksum.
 *
 * Looks only where the caller says (for a process in another root, pass that root's directories).
 * A candidate of another build is passed over, never used. Only regular files are read. */
#ifndef HS_SYMBOLS_DEBUGFILE_H
#define HS_SYMBOLS_DEBUGFILE_H

#include "symbols/elf.h"

#define HS_DEBUG_DIRECTORY "/usr/lib/debug"

enum hs_debugfile_outcome {
    HS_DEBUGFILE_FOUND,
    HS_DEBUGFILE_UNNAMED,       /* the file names none: no build-id, no .gnu_debuglink */
    HS_DEBUGFILE_MISSING,       /* `path` is where it would be */
    HS_DEBUGFILE_UNREADABLE,    /* there, but no permission, no regular file or no ELF of ours */
    HS_DEBUGFILE_OTHER_BUILD,   /* there, with another build-id */
    HS_DEBUGFILE_OTHER_CONTENT, /* there, with another checksum than .gnu_debuglink wants */
    HS_DEBUGFILE_ITSELF,        /* leads back to the file itself */
    HS_DEBUGFILE_OTHER_LAYOUT,  /* there, with the build-id, and its code or data lie elsewhere */
};

/* The outcome of a search, for people: how to get more. */
struct hs_debugfile_search {
    uint8_t outcome; /* of the candidate that came nearest */
    char path[512];  /* that candidate; "" when the file names none; cut */
};

/* Writes "its debug file '/usr/lib/debug/.build-id/ab/cd.debug' is of another build" and the like,
 * without the program's name. Returns the length; cut at n_text - 1. */
size_t hs_debugfile_explain(const struct hs_debugfile_search *search, char *text, size_t n_text);

/* Opens the debug file of `elf`, or gives NULL (and HS_OK) when there is none. Tried in order, for
 * each directory D of `directories`:
 *     D/.build-id/xx/yyyy.debug                        (build-id must agree)
 * then, with the directory O of `own_path` (NULL: not tried) and the name L of .gnu_debuglink:
 *     O/L, O/.debug/L, D/O/L                           (build-ids must agree, or without CRC-32)
 *     D/L
 * The file itself, also by another name, is never
 * its own debug file, and a debug file's own links are not followed, so that no circle is walked.
 * `search` may be NULL. The caller closes *ret. Fails with HS_LIMIT. Cost: the CRC reads a
 * debuglink candidate whole, 1 GiB/s. */
hs_status hs_debugfile_find(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_debugfile_search *search,
                            struct hs_error *err);

/* The same without the report. */
hs_status hs_debugfile_open(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_error *err);

/* Opens a file as the debug file of `elf` if it is that: its build-id and its layout decide. NULL
 * and HS_OK when it is not. The caller closes *ret. Fails with HS_LIMIT. */
hs_status hs_debugfile_open_file(struct hs_elf *elf, const char *path, struct hs_elf **ret,
                                 struct hs_debugfile_search *search, struct hs_error *err);

/* Opens a file if it is of a build-id, in lower-case hexadecimal; NULL and HS_OK when it is not, or
 * not there. For those who have no program to compare its layout with. The caller closes *ret.
 * Fails with HS_LIMIT. */
hs_status hs_debugfile_open_build_id(const char *build_id, const char *path, struct hs_elf **ret,
                                     struct hs_error *err);

/* The file that dwz moved names and types to, which several programs share. */
struct hs_debugfile_link {
    const char
        *path; /* borrowed; relative to the directory of the file that says it, or absolute */
    char build_id[130]; /* in hexadecimal */
};

/* Reads .gnu_debugaltlink of a program or of its debug file; false when it has none, or a damaged
 * one. */
bool hs_debugfile_supplement(struct hs_elf *elf, struct hs_debugfile_link *ret);

/* Opens the file of a link, or gives NULL (and HS_OK) where there is none of its build-id. Tried in
 * order: D/.build-id/xx/yyyy.debug for each directory D, then the link's path, an absolute one
 * below `root` ("" for ours), a relative one from the directory of `own_path`, where `elf` is. The
 * caller closes *ret. Fails with HS_LIMIT. */
hs_status hs_debugfile_open_supplement(struct hs_elf *elf, const struct hs_debugfile_link *link,
                                       const char *root, const char *const *directories,
                                       size_t n_directories, struct hs_elf **ret,
                                       struct hs_error *err);
/* The same of one file, which somebody says to be it. */
hs_status hs_debugfile_try_supplement(const struct hs_debugfile_link *link, const char *path,
                                      struct hs_elf **ret, struct hs_error *err);

/* Computes the CRC-32 of .gnu_debuglink (the one of zlib), started with 0, over more bytes. */
uint32_t hs_debugfile_crc(uint32_t crc, const void *bytes, size_t n_bytes);

#endif
