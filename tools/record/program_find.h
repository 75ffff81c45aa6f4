/* The program that is to be recorded: found as a shell would, and refused when the library cannot
 * be loaded into it. */
#ifndef HS_RECORD_PROGRAM_FIND_H
#define HS_RECORD_PROGRAM_FIND_H

#include <limits.h>

#include "base/error.h"

/* Finds the program `name`: by PATH unless it has a slash. HS_USAGE when there is none, HS_TARGET
 * when it is there and may not be run, is a directory, or the library cannot be loaded into it: not
 * an x86-64 program, static, with another user's or file's privileges. Of a script its interpreter
 * is judged. `path` has PATH_MAX bytes. */
hs_status hs_program_find(const char *name, char *path, struct hs_error *err);

/* Tells whether a program has OCaml's runtime for native code, by its symbols. */
bool hs_program_is_ocaml(const char *path);

/* Finds the library to preload: beside this program, or where it is installed. HS_IO. */
hs_status hs_program_library(char *path, struct hs_error *err);

#endif
