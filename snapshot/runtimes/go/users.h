/* The functions that use the variables of a program without symbols, by the operands of its code
 * that are relative to the instruction (private to snapshot/runtimes/go). */
#ifndef HS_GO_USERS_H
#define HS_GO_USERS_H

#include "functions.h"

struct hs_go_use {
    hs_addr target;    /* in the module's data */
    uint64_t function; /* number in the table of functions */
};

struct hs_go_users {
    struct hs_go_use *uses; /* owned: by target, then function, none twice */
    size_t n, capacity;
};

void hs_go_users_fini(struct hs_go_users *users);
/* Reads all of the code once, a window at a time: some 2 ns a byte. At most 4 million uses. */
hs_status hs_go_find_users(const struct hs_go_heap *heap, struct hs_go_users *ret,
                           struct hs_error *err);
/* Finds the package that a static word is likely of, that of an init function which uses it or of
 * most users, and the first function of that package. False: no code uses it or what is just
 * before. *ret_begin is the address that is used. */
bool hs_go_user_of(const struct hs_go_heap *heap, const struct hs_go_users *users, hs_addr at,
                   char *package, char *function, size_t n, hs_addr *ret_begin);
/* Returns the length of a name's package: "net/http" of "net/http.(*conn).serve". */
size_t hs_go_package_bytes(const char *name);

#endif
