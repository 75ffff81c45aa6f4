/* Package variables: the words of the module's data that its masks call pointers, by the name of
 * the variable that they are part of. A variable that only static data leads to, as what a
 * composite literal makes, has the name of the one that leads there. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "code.h"
#include "pointers.h"
#include "session.h"
#include "symbols/elf.h"
#include "users.h"

enum { NAME_BYTES = 512, HOLDERS_MAX = 6, NAMELESS_BYTES = 1 << 16 };
#define NO_FACT UINT64_MAX

/* A static word that leads to static data. */
struct link {
    hs_addr to, from;
};

/* The static words that lead from a variable to a value which the compiler made, the last first. */
struct way {
    struct link links[HOLDERS_MAX];
    unsigned n;
};

struct statics {
    struct hs_go_session *s;
    const struct hs_object *object; /* the program */
    struct link *links;             /* owned: ascending by `to` */
    size_t n_links, links_capacity;
    struct hs_dict facts;     /* word of these -> number of what code says of it; else NO_FACT */
    struct hs_go_users users; /* of a program without symbols */
    hs_str module;
};

/* A variable: a symbol, or without symbols the beginning of static data. */
struct variable {
    const char *name; /* borrowed; NULL: unknown */
    hs_addr begin;
    uint64_t n_bytes;
    struct way way; /* from it to the word that is asked for */
};

static bool is_static(const struct hs_go_module *m, hs_addr at)
{
    for (unsigned i = 0; i < HS_GO_N_DATA; i++)
        if (at >= m->data[i].begin && at < m->data[i].end)
            return true;
    return false;
}

/* Visits the words of the data that are pointers by their masks and are not 0. */
static hs_status each_word(struct statics *st,
                           hs_status (*visit)(struct statics *st, hs_addr at, uint64_t word,
                                              struct hs_error *err),
                           struct hs_error *err)
{
    const struct hs_go_heap *heap = &st->s->heap;

    for (unsigned i = 0; i < HS_GO_NOPTRDATA; i++) {
        const struct hs_go_data *data = &heap->module.data[i];
        const uint8_t *bits =
            hs_go_bytes(heap, data->mask, (data->n_mask_bits + CHAR_BIT - 1) / CHAR_BIT);
        for (uint64_t k = 0; bits != NULL && k < data->n_mask_bits; k++) {
            hs_addr at = data->begin + k * HS_WORD_BYTES;
            uint64_t word;
            if ((bits[k / CHAR_BIT] >> k % CHAR_BIT & 1) != 0 &&
                hs_image_u64(&heap->dump->image, at, &word) && word != 0)
                HS_TRY(visit(st, at, word, err));
        }
    }
    return HS_OK;
}

static hs_status add_link(struct statics *st, hs_addr at, uint64_t word, struct hs_error *err)
{
    if (!is_static(&st->s->heap.module, word))
        return HS_OK;
    HS_TRY(HS_GROW(&st->links, &st->links_capacity, st->n_links + 1, err));
    st->links[st->n_links++] = (struct link){.to = word, .from = at};
    return HS_OK;
}

static int link_compare(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* ---- names */

static struct variable symbol_at(const struct statics *st, hs_addr at)
{
    const struct hs_elf *elf = st->object->debug != NULL ? st->object->debug : st->object->elf;
    uint64_t offset = 0;
    const struct hs_elf_symbol *symbol = hs_elf_symbol_at(elf, at - st->object->bias, &offset);

    if (symbol == NULL || offset >= (symbol->n_bytes == 0 ? HS_WORD_BYTES : symbol->n_bytes))
        return (struct variable){.begin = at};
    return (struct variable){
        .name = symbol->name, .begin = at - offset, .n_bytes = symbol->n_bytes};
}

/* Tells whether a symbol was made by the compiler for a value that a variable leads to. */
static bool is_made_up(const char *name)
{
    return name == NULL || strstr(name, "..stmp_") != NULL || strstr(name, "..dict") != NULL;
}

/* Finds the variable that a static word is part of. What the compiler made has no symbol or one of
 * its own: it begins where the nearest static word leads to, and is named by that. */
static struct variable find_variable(const struct statics *st, hs_addr at)
{
    struct variable variable = symbol_at(st, at);
    struct way way = {.n = 0};

    for (unsigned i = 0; i < HOLDERS_MAX && is_made_up(variable.name); i++) {
        size_t k = HS_FIRST_ABOVE(st->links, st->n_links, to, at);
        hs_addr from = variable.name != NULL ? variable.begin
                       : at > NAMELESS_BYTES ? at - NAMELESS_BYTES
                                             : 0;
        if (k == 0 || st->links[k - 1].to < from || st->links[k - 1].from == at)
            break;
        way.links[way.n++] = st->links[k - 1];
        at = st->links[k - 1].from;
        variable = symbol_at(st, at);
    }
    variable.way = way;
    return variable;
}

/* Tells whether a package is the runtime's own: its tables lead to everything. */
static bool is_of_runtime(const char *package, size_t n)
{
    static const char *const own[] = {"runtime", "sync", "internal/godebug", "unique"};
    static const char *const below[] = {"runtime/", "internal/runtime/"};

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == n && memcmp(package, own[i], n) == 0)
            return true;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (strncmp(package, below[i], strlen(below[i])) == 0)
            return true;
    return false;
}

/* Finds the place of a nameless word: that in the data which leads to it, where only data does. */
static hs_addr find_place(const struct statics *st, hs_addr at, char *package, char *function,
                          struct way *ret_way)
{
    hs_addr used = 0;

    ret_way->n = 0;
    for (unsigned i = 0; i < HOLDERS_MAX; i++) {
        bool is_used =
            hs_go_user_of(&st->s->heap, &st->users, at, package, function, NAME_BYTES, &used);
        size_t k = HS_FIRST_ABOVE(st->links, st->n_links, to, at);
        if (k == 0 || at - st->links[k - 1].to >= NAMELESS_BYTES || st->links[k - 1].from == at ||
            (is_used && used >= st->links[k - 1].to))
            return at;
        ret_way->links[ret_way->n++] = st->links[k - 1];
        at = st->links[k - 1].from;
    }
    return at;
}

/* ---- members of what the compiler made */

/* Appends the name of the word at an offset of a type: ".pool.idle", "[2].name". False: the type
 * has no name for it, or there is no room. */
static bool append_member(const struct statics *st, hs_addr type, uint64_t offset, char *text)
{
    const struct hs_go_heap *heap = &st->s->heap;
    struct hs_go_named_type named = {.type = type};
    struct hs_go_members members = {.members = NULL};
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n = strlen(text);
    struct hs_go_type of;
    bool is_named = false;

    if (!hs_go_read_type(heap, type, &of))
        return false;
    if (of.kind != HS_GO_STRUCT && of.kind != HS_GO_ARRAY)
        return offset <= HS_WORD_BYTES;
    if (hs_go_add_members(heap, &named, 0, &members, &ignored) == HS_OK)
        for (size_t i = 0; i < members.n && !is_named; i++)
            if (members.members[i].offset_bytes == offset) {
                const char *name = hs_strtab_get(&heap->dump->strings, members.members[i].name);
                int more =
                    snprintf(text + n, NAME_BYTES - n, "%s%s", name[0] == '[' ? "" : ".", name);
                is_named = more > 0 && (size_t)more < NAME_BYTES - n;
            }
    hs_free(members.members);
    return is_named;
}

/* Finds the type of what a static word leads to: by the word of an interface before it, by what
 * code does with it, or by the type of the value that it is in. */
static hs_addr pointee_of(const struct statics *st, hs_addr word, hs_addr holder, uint64_t offset)
{
    const struct hs_go_heap *heap = &st->s->heap;
    const struct hs_go_code *code = st->s->typing.code;
    hs_addr type = hs_go_dynamic_type(heap, hs_go_member(heap, word - HS_WORD_BYTES, 0));
    const uint64_t *fact = hs_dict_find(&st->facts, word);
    enum hs_go_holding holding;
    struct hs_go_type of;
    uint64_t element;

    if (hs_go_read_type(heap, type, &of))
        return of.kind == HS_GO_POINTER && hs_go_u64(heap, type + HS_GO_ELEM_AT, &element) ? element
                                                                                           : type;
    if (fact != NULL && *fact != NO_FACT &&
        hs_go_value_of(code, &code->facts[*fact].value, &type, &holding) &&
        holding == HS_GO_HOLD_ONE)
        return type;
    const struct hs_go_slot_kind slot = hs_go_find_slot(heap, holder, offset);
    return slot.kind == HS_GO_POINTER || slot.kind == HS_GO_SLICE ? slot.of : 0;
}

/* Appends the members by which a variable leads to a word: "net/http.DefaultTransport.idleConn".
 * Their types are told on the way; false: not all of them. `type` and `begin` are the variable's,
 * and of the last value afterwards. */
static bool append_way(const struct statics *st, const struct way *way, hs_addr at, hs_addr *type,
                       hs_addr begin, char *text)
{
    for (unsigned i = way->n; i-- > 0;) {
        const struct link *link = &way->links[i];
        struct hs_go_type of;
        hs_addr next = pointee_of(st, link->from, *type, link->from - begin);
        if (link->from < begin || (*type == 0 && link->from - begin > HS_WORD_BYTES) ||
            (*type != 0 && !append_member(st, *type, link->from - begin, text)) ||
            !hs_go_read_type(&st->s->heap, next, &of))
            return false;
        *type = next;
        begin = link->to;
    }
    return at >= begin && append_member(st, *type, at - begin, text);
}

/* Tells whether a word is one of a sync.Pool's two that lead to what is in it. */
static bool is_pool(const struct statics *st, hs_addr at)
{
    enum { VICTIM_AT = 16 };
    const struct hs_go_heap *heap = &st->s->heap;
    const struct hs_go_code *code = st->s->typing.code;

    return hs_go_is_named(heap, hs_go_type_of_static(code, at), "sync.Pool") ||
           hs_go_is_named(heap, hs_go_type_of_static(code, at - VICTIM_AT), "sync.Pool");
}

/* Names a word of a program without symbols: by its section, its package and a function of that
 * which uses it. The words of one package are one variable. */
static hs_status name_by_user(const struct statics *st, hs_addr at, struct hs_root_leaf *leaf,
                              struct hs_error *err)
{
    struct hs_strtab *strings = &st->s->dump->strings;
    char text[2 * NAME_BYTES], package[NAME_BYTES] = "", function[NAME_BYTES] = "";
    struct way way;
    hs_addr place = find_place(st, at, package, function, &way), type = 0;
    char member[NAME_BYTES] = "", name[HS_GO_TYPE_NAME_BYTES];
    struct hs_elf_section section;
    struct hs_go_type of;

    if (hs_elf_section_at(st->object->elf, place - st->object->bias, &section))
        snprintf(text, sizeof text, "%s+%#llx", section.name,
                 (unsigned long long)(place - st->object->bias - section.vaddr));
    else
        snprintf(text, sizeof text, ".data+%#llx", (unsigned long long)(place - st->object->begin));
    HS_TRY(hs_strtab_add(strings, text, &leaf->root.name, err));
    if (package[0] == '\0')
        return hs_strtab_add(strings, "package variables", &leaf->group_unit, err);
    HS_TRY(hs_strtab_add(strings, package, &leaf->group_unit, err));
    HS_TRY(hs_strtab_add(strings, function, &leaf->root.function, err));
    if (is_of_runtime(package, strlen(package)))
        hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    snprintf(text, sizeof text, "variable that %s uses", function);
    /* The last value alone has a type by name: members of others would be read as its own. */
    if (way.n == 1 && append_way(st, &way, at, &type, place, member) && member[0] == '.' &&
        hs_go_read_type(&st->s->heap, type, &of) && hs_go_type_name(&st->s->heap, &of, name))
        snprintf(text, sizeof text, "variable that %s uses: %.400s%.400s", function, name, member);
    HS_TRY(hs_strtab_add(strings, text, &leaf->root.name, err));
    if (is_pool(st, place))
        snprintf(text, sizeof text, "sync.Pool that %s uses", function);
    else
        snprintf(text, sizeof text, "variables of package %s", package);
    return hs_strtab_add(strings, text, &leaf->group_variable, err);
}

/* Names a word of a variable of which code tells the type, "main.logger.out.buf", or of what it
 * leads to where the compiler made that. */
static bool name_member(const struct statics *st, const struct variable *variable, hs_addr at,
                        char *text)
{
    hs_addr type = hs_go_type_of_static(st->s->typing.code, variable->begin);
    struct hs_go_type of;

    if (!hs_go_read_type(&st->s->heap, type, &of) || of.n_bytes != variable->n_bytes)
        type = 0;
    if (type == 0 && variable->way.n == 0)
        return false;
    snprintf(text, NAME_BYTES, "%s", variable->name);
    return append_way(st, &variable->way, at, &type, variable->begin, text) &&
           strcmp(text, variable->name) != 0;
}

static hs_status name_leaf(const struct statics *st, const struct variable *variable, hs_addr at,
                           struct hs_root_leaf *leaf, struct hs_error *err)
{
    struct hs_strtab *strings = &st->s->dump->strings;
    char text[NAME_BYTES];

    if (variable->name == NULL)
        return name_by_user(st, at, leaf, err);
    size_t n = hs_go_package_bytes(variable->name);
    HS_TRY(hs_strtab_add_n(strings, variable->name, n, &leaf->group_unit, err));
    HS_TRY(hs_strtab_add(strings, variable->name, &leaf->root.symbol, err));
    if (is_of_runtime(variable->name, n))
        hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    uint64_t before = 0;
    leaf->root.offset = at - variable->begin < variable->n_bytes ? at - variable->begin : 0;
    /* The second word of an interface is the variable's value. */
    bool is_interface = variable->n_bytes == 2ul * HS_WORD_BYTES &&
                        leaf->root.offset == HS_WORD_BYTES &&
                        hs_go_u64(&st->s->heap, variable->begin, &before) && before != 0;
    if (name_member(st, variable, at, text)) {
        HS_TRY(hs_strtab_add(strings, text, &leaf->root.name, err));
    } else if (variable->n_bytes <= HS_WORD_BYTES || leaf->root.offset == 0 || is_interface) {
        leaf->root.name = leaf->root.symbol;
    } else {
        snprintf(text, sizeof text, "%s+%#llx", variable->name,
                 (unsigned long long)leaf->root.offset);
        HS_TRY(hs_strtab_add(strings, text, &leaf->root.name, err));
    }
    /* The words of what the compiler made are those of the variable that leads there. */
    if (variable->n_bytes > HS_WORD_BYTES || at - variable->begin >= variable->n_bytes)
        leaf->group_variable = leaf->root.symbol;
    if (!hs_go_is_named(&st->s->heap, hs_go_type_of_static(st->s->typing.code, variable->begin),
                        "sync.Pool"))
        return HS_OK;
    /* The objects in a pool are spare: who put them there has let them go. */
    snprintf(text, sizeof text, "sync.Pool %s", variable->name);
    return hs_strtab_add(strings, text, &leaf->group_variable, err);
}

static hs_status add_leaf(struct statics *st, hs_addr at, uint64_t word, struct hs_error *err)
{
    struct hs_go_block block;

    if (!hs_go_resolve(&st->s->heap, word, &block))
        return HS_OK;
    const struct variable variable = find_variable(st, at);
    bool is_start = word == block.begin + hs_go_header_bytes(&st->s->heap, block.span);
    struct hs_root_leaf leaf = {.root = {.address = at,
                                         .kind = HS_ROOT_GLOBAL,
                                         .certainty = HS_EXACT,
                                         .edge_class = is_start ? HS_EDGE_EXACT : HS_EDGE_INTERIOR,
                                         .field = HS_NO_FIELD,
                                         .module = st->module},
                                .target = block.begin,
                                .group_module = st->module};
    HS_TRY(name_leaf(st, &variable, at, &leaf, err));
    return hs_roots_add(&st->s->roots, &leaf, err);
}

/* Finds what code says of the words that lead to static data. */
static hs_status find_facts(struct statics *st, struct hs_error *err)
{
    const struct hs_go_code *code = st->s->typing.code;

    for (size_t i = 0; i < st->n_links; i++)
        HS_TRY(hs_dict_put(&st->facts, st->links[i].from, NO_FACT, err));
    for (size_t i = 0; st->n_links != 0 && i < code->n_facts; i++) {
        const struct hs_go_value *place = &code->facts[i].place;
        uint64_t *known = place->kind == HS_GO_WORD && place->n_steps == 0
                              ? hs_dict_find(&st->facts, place->at)
                              : NULL;
        if (known != NULL && *known == NO_FACT)
            *known = i;
    }
    return HS_OK;
}

hs_status hs_go_collect_statics(struct hs_go_session *s, struct hs_error *err)
{
    struct statics st = {.s = s, .object = &s->dump->objects.objects[0]};

    HS_TRY(hs_strtab_add(&s->dump->strings, st.object->name, &st.module, err));
    hs_status status = each_word(&st, add_link, err);
    if (status == HS_OK && !hs_elf_has_symtab(st.object->elf) && !s->dump->options->no_names)
        status = hs_go_find_users(&s->heap, &st.users, err);
    if (status == HS_OK && !s->dump->options->no_names)
        status = find_facts(&st, err);
    if (status == HS_OK) {
        if (st.n_links > 1)
            qsort(st.links, st.n_links, sizeof *st.links, link_compare);
        status = each_word(&st, add_leaf, err);
    }
    hs_go_users_fini(&st.users);
    hs_dict_fini(&st.facts);
    hs_free(st.links);
    return status;
}
