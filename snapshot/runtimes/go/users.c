#include "users.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "symbols/elf.h"

enum {
    WINDOW_BYTES = 1 << 16,
    TAIL_BYTES = 10, /* of an instruction behind its opcode */
    USES_MAX = 1 << 22,
    NEAR_BYTES = 4096,
    ASKED_MAX = 64, /* users of one variable that are asked for their package */
    FTAB_BYTES = 8,
    MODRM_MASK = 0xc7,
    MODRM_RELATIVE = 5
};

void hs_go_users_fini(struct hs_go_users *users)
{
    hs_free(users->uses);
    *users = (struct hs_go_users){0};
}

size_t hs_go_package_bytes(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *dot = strchr(slash == NULL ? name : slash, '.');
    return dot == NULL ? strlen(name) : (size_t)(dot - name);
}

/* ---- operands */

/* Returns how many bytes of a constant stand behind an operand, by the opcode; -1: it is none of
 * the instructions by which compiled Go reads or writes variables. */
static int constant_bytes(uint8_t opcode)
{
    static const uint8_t plain[] = {0x01, 0x03, 0x0b, 0x10, 0x11, 0x23, 0x28, 0x29, 0x2b, 0x33,
                                    0x38, 0x39, 0x3a, 0x3b, 0x63, 0x6f, 0x7f, 0x84, 0x85, 0x87,
                                    0x88, 0x89, 0x8a, 0x8b, 0x8d, 0xb1, 0xb6, 0xb7, 0xff};
    static const uint8_t with_byte[] = {0x80, 0x83, 0xc0, 0xc1, 0xc6}, with_word[] = {0x81, 0xc7};

    if (memchr(plain, opcode, sizeof plain) != NULL)
        return 0;
    if (memchr(with_byte, opcode, sizeof with_byte) != NULL)
        return 1;
    return memchr(with_word, opcode, sizeof with_word) != NULL ? 4 : -1;
}

struct search {
    const struct hs_go_heap *heap;
    struct hs_go_users *users;
    hs_addr begin, end; /* of all data */
    uint64_t function;  /* the one that the code is of */
};

static hs_status add_use(struct search *s, hs_addr at, hs_addr target, struct hs_error *err)
{
    const struct hs_go_module *m = &s->heap->module;

    while (s->function + 1 < m->n_functions &&
           m->text + hs_load_u32(m->ftab + (s->function + 1) * FTAB_BYTES) <= at)
        s->function++;
    if (s->users->n == USES_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&s->users->uses, &s->users->capacity, s->users->n + 1, err));
    s->users->uses[s->users->n++] = (struct hs_go_use){.target = target, .function = s->function};
    return HS_OK;
}

static hs_status search_window(struct search *s, const uint8_t *bytes, size_t n, hs_addr address,
                               struct hs_error *err)
{
    for (size_t i = 1; i + TAIL_BYTES <= n; i++) {
        if ((bytes[i] & MODRM_MASK) != MODRM_RELATIVE)
            continue;
        hs_addr end = address + i + 1 + sizeof(int32_t);
        hs_addr target = end + (uint64_t)(int64_t)(int32_t)hs_load_u32(bytes + i + 1);
        if (target < s->begin - sizeof(int32_t) || target >= s->end)
            continue;
        int more = constant_bytes(bytes[i - 1]);
        if (more >= 0 && target + (unsigned)more >= s->begin && target + (unsigned)more < s->end)
            HS_TRY(add_use(s, address + i, target + (unsigned)more, err));
    }
    return HS_OK;
}

static int use_compare(const void *a, const void *b)
{
    const struct hs_go_use *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static void keep_each_once(struct hs_go_users *users)
{
    size_t n = 0;

    if (users->n > 1)
        qsort(users->uses, users->n, sizeof *users->uses, use_compare);
    for (size_t i = 0; i < users->n; i++)
        if (n == 0 || use_compare(&users->uses[n - 1], &users->uses[i]) != 0)
            users->uses[n++] = users->uses[i];
    users->n = n;
}

hs_status hs_go_find_users(const struct hs_go_heap *heap, struct hs_go_users *ret,
                           struct hs_error *err)
{
    const struct hs_object *object = &heap->dump->objects.objects[0];
    struct search s = {.heap = heap, .users = ret, .begin = UINT64_MAX};
    uint8_t window[WINDOW_BYTES];

    for (unsigned i = 0; i < HS_GO_N_DATA; i++) {
        const struct hs_go_data *data = &heap->module.data[i];
        s.begin = data->begin < data->end && data->begin < s.begin ? data->begin : s.begin;
        s.end = data->end > s.end ? data->end : s.end;
    }
    for (hs_addr at = heap->module.text; at < heap->module.etext;
         at += WINDOW_BYTES - TAIL_BYTES - 1) {
        size_t n = hs_elf_copy_at(object->elf, at - object->bias, window, sizeof window);
        HS_TRY(search_window(&s, window, n, at, err));
        if (n < sizeof window)
            break;
    }
    keep_each_once(ret);
    return HS_OK;
}

/* ---- who uses a variable */

/* A package that uses a variable, and how much speaks for it. */
struct candidate {
    char function[HS_GO_NAME_BYTES];
    size_t package_bytes;
    unsigned weight;
};

static bool is_init(const char *name, size_t package_bytes)
{
    const char *rest = name + package_bytes;
    return strncmp(rest, ".init", 5) == 0 && (rest[5] == '\0' || rest[5] == '.');
}

static bool name_of(const struct hs_go_heap *heap, uint64_t number, char *text)
{
    struct hs_go_function function;
    hs_addr entry = heap->module.text + hs_load_u32(heap->module.ftab + number * FTAB_BYTES);

    return hs_go_function_at(heap, entry, &function) &&
           hs_go_function_name(heap, &function, text, HS_GO_NAME_BYTES);
}

/* Counts the users of [first, last) that are of one package. */
static void weigh(const struct hs_go_heap *heap, const struct hs_go_users *users, size_t first,
                  size_t last, struct candidate *c)
{
    char text[HS_GO_NAME_BYTES];

    c->package_bytes = hs_go_package_bytes(c->function);
    c->weight = is_init(c->function, c->package_bytes) ? ASKED_MAX : 0;
    for (size_t i = first; i < last; i++)
        c->weight += name_of(heap, users->uses[i].function, text) &&
                     hs_go_package_bytes(text) == c->package_bytes &&
                     memcmp(text, c->function, c->package_bytes) == 0;
}

bool hs_go_user_of(const struct hs_go_heap *heap, const struct hs_go_users *users, hs_addr at,
                   char *package, char *function, size_t n, hs_addr *ret_begin)
{
    enum { CANDIDATES_MAX = 8 };
    struct candidate best = {.weight = 0}, other;
    size_t last = HS_FIRST_ABOVE(users->uses, users->n, target, at), first = last;

    if (last == 0 || at - users->uses[last - 1].target >= NEAR_BYTES)
        return false;
    *ret_begin = users->uses[last - 1].target;
    while (first != 0 && users->uses[first - 1].target == *ret_begin && last - first < ASKED_MAX)
        first--;
    for (size_t i = first; i < last && i < first + CANDIDATES_MAX; i++) {
        if (!name_of(heap, users->uses[i].function, other.function))
            continue;
        weigh(heap, users, first, last, &other);
        if (other.weight > best.weight)
            best = other;
    }
    if (best.weight == 0 || best.package_bytes >= n || strlen(best.function) >= n)
        return false;
    memcpy(package, best.function, best.package_bytes);
    package[best.package_bytes] = '\0';
    memcpy(function, best.function, strlen(best.function) + 1);
    return true;
}
