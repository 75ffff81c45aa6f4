/* The version of Go that built a program, by its build information (private to
 * snapshot/runtimes/go): cmd/link/internal/ld/data.go, buildinfo; debug/buildinfo. */
#ifndef HS_GO_VERSION_H
#define HS_GO_VERSION_H

#include "process/objects.h"

enum { HS_GO_VERSION_BYTES = 96 };

struct hs_go_version {
    char text[HS_GO_VERSION_BYTES]; /* "1.19.8"; "" when the program does not say, as before 1.18 */
    unsigned minor;                 /* 19; 0: of another kind, as "devel" */
    bool has_experiments;           /* "1.24.4 X:arenas", which may lay out the heap otherwise */
};

/* Reads the version of the main program. False: it is no program of Go. Reads a section of the
 * file; of one without section headers all of its data. */
bool hs_go_version(const struct hs_objects *objects, struct hs_go_version *ret);

#endif
