/* Debug information as a test states it, instead of symbols/ctypes.h and locals.h: include it in
 * one source file of the test, which then links nothing of the real ones.
 *
 *   type 1  node *          type 2  struct node { node *next; long tag; uintptr_t maybe; }
 *   type 3  node [4]        type 4  char [32]        type 6  void *
 *   type 7  node &          type 8  &node            type 9  Box<node>
 *   type 10 an iterator     type 11 a list of them
 *   type 12 a lock          type 13 a holder { node *kept; node &seen; } with a destructor
 *   type 14 the same without one      type 15 a record of the name of fake_named
 */
#ifndef HS_TESTS_FAKE_CTYPES_H
#define HS_TESTS_FAKE_CTYPES_H

#include <stdio.h>
#include <string.h>

#include "fake_tasks.h"
#include "symbols/locals.h"

enum { FAKE_NODE_P = 1, FAKE_NODE, FAKE_NODES, FAKE_CHARS, FAKE_CHAR, FAKE_VOID_P };
enum { FAKE_NODE_REF = 7, FAKE_NODE_BORROW, FAKE_NODE_BOX, FAKE_ITERATOR, FAKE_LIST };
enum { FAKE_LOCK = 12, FAKE_HOLDER, FAKE_CLOSURE, FAKE_NAMED };

static const char *fake_named = "app::Named"; /* what type 15, a record, is called */

static struct hs_cvariable fake_variables[8], fake_tls_variables[8];
static size_t fake_n_variables, fake_n_tls_variables, fake_n_asked;
static void (*fake_locals)(const struct hs_frame_place *frame, struct hs_locals *ret);

/* Any address that is not NULL. */
static char fake_ctypes_place;
static struct hs_ctypes *fake_ctypes(void)
{
    return (struct hs_ctypes *)(void *)&fake_ctypes_place;
}

static bool fake_find(const struct hs_cvariable *all, size_t n, uint64_t at,
                      struct hs_cvariable *ret)
{
    fake_n_asked++;
    for (size_t i = 0; i < n; i++) {
        if (at < all[i].vaddr || at - all[i].vaddr >= all[i].n_bytes)
            continue;
        *ret = all[i];
        return true;
    }
    return false;
}

bool hs_ctypes_variable_at(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr,
                           struct hs_cvariable *ret)
{
    (void)types;
    return file == 1 && fake_find(fake_variables, fake_n_variables, vaddr, ret);
}

bool hs_ctypes_tls_variable_at(struct hs_ctypes *types, hs_type_file file, uint64_t offset,
                               struct hs_cvariable *ret)
{
    (void)types;
    return file == 1 && fake_find(fake_tls_variables, fake_n_tls_variables, offset, ret);
}

void hs_ctype_facts(struct hs_ctypes *types, hs_ctype type, struct hs_ctype_facts *ret)
{
    static const struct hs_ctype_facts facts[] = {
        {.name = "?"},
        {.name = "node *", .n_bytes = 8, .of = FAKE_NODE, .kind = HS_CTYPE_POINTER},
        {.name = "struct node", .n_bytes = 24, .kind = HS_CTYPE_RECORD},
        {.name = "struct node [4]",
         .n_bytes = 96,
         .of = FAKE_NODE,
         .n_elements = 4,
         .kind = HS_CTYPE_ARRAY},
        {.name = "char [32]",
         .n_bytes = 32,
         .of = FAKE_CHAR,
         .n_elements = 32,
         .kind = HS_CTYPE_ARRAY},
        {.name = "char", .n_bytes = 1, .kind = HS_CTYPE_SCALAR},
        {.name = "void *", .n_bytes = 8, .kind = HS_CTYPE_POINTER},
        {.name = "node &", .n_bytes = 8, .of = FAKE_NODE, .kind = HS_CTYPE_POINTER},
        {.name = "&app::node", .n_bytes = 8, .of = FAKE_NODE, .kind = HS_CTYPE_POINTER},
        {.name = "alloc::boxed::Box<app::node, alloc::alloc::Global>",
         .n_bytes = 8,
         .of = FAKE_NODE,
         .kind = HS_CTYPE_POINTER},
        {.name = "std::_List_iterator<node>", .n_bytes = 8, .kind = HS_CTYPE_RECORD},
        {.name = "std::vector<std::_List_iterator<node> >",
         .n_bytes = 24,
         .kind = HS_CTYPE_RECORD,
         .may_free = true},
        {.name = "std::unique_lock<std::mutex>",
         .n_bytes = 16,
         .kind = HS_CTYPE_RECORD,
         .may_free = true},
        {.name = "app::Holder", .n_bytes = 16, .kind = HS_CTYPE_RECORD, .may_free = true},
        {.name = "struct {...}", .n_bytes = 16, .kind = HS_CTYPE_RECORD}};
    (void)types;
    *ret = facts[type < sizeof facts / sizeof *facts ? type : 0];
    if (type == FAKE_NAMED)
        *ret = (struct hs_ctype_facts){
            .name = fake_named, .n_bytes = 16, .kind = HS_CTYPE_RECORD, .may_free = true};
}

bool hs_ctypes_is_opaque(struct hs_ctypes *types, hs_ctype type)
{
    (void)types;
    (void)type;
    return false;
}

const struct hs_cslot *hs_ctypes_slots(struct hs_ctypes *types, hs_ctype type, size_t *ret_n,
                                       bool *ret_is_cut)
{
    static const struct hs_cslot node[] = {{.offset_bytes = 0, .pointee = FAKE_NODE},
                                           {.offset_bytes = 16, .may_be_pointer_only = true}};
    (void)types;
    *ret_is_cut = false;
    *ret_n = type == FAKE_NODE ? 2 : 0;
    return node;
}

/* No slot is of a union that nothing tells apart. */
bool hs_ctypes_untold(const struct hs_ctypes *types, const struct hs_cslot *slot, hs_ctype *ret,
                      uint64_t *ret_offset)
{
    (void)types, (void)slot, (void)ret, (void)ret_offset;
    return false;
}

size_t hs_ctypes_tags(struct hs_ctypes *types, hs_ctype record, uint64_t offset,
                      struct hs_ctag ret[HS_CTAGS_MOST])
{
    (void)types, (void)record, (void)offset, (void)ret;
    return 0;
}

bool hs_ctypes_is_end_name(const char *name)
{
    return strcmp(name, "end") == 0;
}

bool hs_ctypes_choose(const struct hs_ctypes *types, const struct hs_cslot *slot,
                      hs_cvalue_read *read, void *context, struct hs_cchosen *ret)
{
    (void)types, (void)slot, (void)read, (void)context;
    *ret = (struct hs_cchosen){0};
    return false;
}

hs_ctype hs_ctypes_told(struct hs_ctypes *types, hs_type_file file, enum hs_ctold_by by,
                        hs_addr vaddr, hs_ctype declared)
{
    (void)types, (void)file, (void)by, (void)vaddr;
    return declared;
}

static size_t fake_place_of_node(uint64_t offset, char *text, size_t n_bytes)
{
    static const char *const members[] = {"next", "tag", "maybe"};
    int n = offset < 24 ? snprintf(text, n_bytes, "%s", members[offset / 8]) : 0;
    return (size_t)n;
}

size_t hs_ctypes_place(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes, char *text,
                       size_t n_bytes, hs_ctype *ret_type)
{
    (void)types;
    (void)ret_type;
    if (type == FAKE_NODE)
        return fake_place_of_node(offset_bytes, text, n_bytes);
    if (type != FAKE_NODES)
        return 0;
    int n = snprintf(text, n_bytes, "[%d].", (int)(offset_bytes / 24));
    return (size_t)n + fake_place_of_node(offset_bytes % 24, text + n, n_bytes - (size_t)n);
}

size_t hs_ctypes_around(struct hs_ctypes *types, hs_ctype type, uint64_t offset_bytes,
                        hs_ctype ret[HS_CTYPE_MAX_AROUND], bool *ret_is_whole)
{
    (void)types;
    *ret_is_whole = type >= FAKE_LOCK;
    ret[0] = type;
    ret[1] = type == FAKE_LIST ? FAKE_ITERATOR : offset_bytes == 8 ? FAKE_NODE_REF : FAKE_NODE_P;
    return *ret_is_whole ? 2 : 1;
}

size_t hs_ctypes_counts(struct hs_ctypes *types, hs_ctype type,
                        struct hs_ccount ret[HS_CTYPE_MAX_COUNTS])
{
    (void)types, (void)type, (void)ret;
    return 0;
}

bool hs_ctypes_same(struct hs_ctypes *types, hs_ctype a, hs_ctype b)
{
    (void)types;
    return a == b;
}

hs_status hs_locals_at(struct hs_ctypes *types, const struct hs_frame_place *frame,
                       struct hs_locals *ret, struct hs_error *err)
{
    (void)types;
    (void)err;
    ret->n_locals = ret->n_chain = 0;
    ret->is_known = ret->is_complete = false;
    if (fake_locals != NULL)
        fake_locals(frame, ret);
    return HS_OK;
}

#endif
