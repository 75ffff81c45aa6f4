/* Names of what lies in an object's data: debug information, else symbols, else sections. */
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "globals.h"
#include "symbols/demangle.h"
#include "tiers.h"

#define NAME_PAGE UINT64_C(4096)
/* The most objects that are asked, in all, for what a copied variable is. */
#define NAME_COPY_LOOKS (UINT64_C(1) << 22)

const struct hs_elf *hs_native_symbols(const struct hs_object *object)
{
    bool use_debug = !hs_elf_has_symtab(object->elf) && object->debug != NULL &&
                     hs_elf_has_symtab(object->debug);
    return use_debug ? object->debug : object->elf;
}

void hs_native_symbol_name(const char *name, char *text, size_t n_bytes)
{
    char plain[HS_VARIABLE_NAME_BYTES];
    size_t n = strcspn(name, "@");
    if (n == 0 || n >= sizeof plain || name[n] == '\0') {
        hs_demangle(name, text, n_bytes);
        return;
    }
    memcpy(plain, name, n);
    plain[n] = '\0';
    hs_demangle(plain, text, n_bytes);
}

/* Cuts off what Rust's thread_local! puts behind the name of a variable: the block that fills it,
 * and a variable of the macro's own, whose name is with the version. */
static void cut_thread_local(char *text)
{
    static const char *const begins[] = {"::{constant#", "::{{constant}}", "::__getit"};
    static const char *const ends[] = {"::__RUST_STD_INTERNAL_VAL", "::VAL", "::__KEY"};
    size_t n = strlen(text);
    bool is_macros = false;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is_macros |= n > strlen(ends[i]) && strcmp(text + n - strlen(ends[i]), ends[i]) == 0;
    for (size_t i = 0; is_macros && i < sizeof begins / sizeof *begins; i++) {
        char *begin = strstr(text, begins[i]);
        if (begin != NULL && begin != text)
            *begin = '\0';
    }
}

/* Leaves of a static variable of lazy_static! the name that the program has for it:
 * "<app::REGISTRY as core::ops::deref::Deref>::deref::__stability::LAZY" is "app::REGISTRY". */
static void cut_lazy_static(char *text)
{
    static const char as[] = " as core::ops::deref::Deref>::deref::__stability::LAZY";
    char *begin = strstr(text, as);

    if (text[0] != '<' || begin == NULL || strcmp(begin, as) != 0)
        return;
    *begin = '\0';
    memmove(text, text + 1, strlen(text));
}

void hs_native_cut_macros(char *text)
{
    cut_thread_local(text);
    cut_lazy_static(text);
}

/* Takes the name of a variable of lazy_static! from its symbol: debug information has "{impl#3}" in
 * the place of the type that stands for it. */
static void name_lazy_static(const struct hs_object *object, struct hs_cvariable *found, char *text,
                             size_t n_bytes)
{
    static const char lazy[] = "::{impl#", end[] = "::deref::__stability::LAZY";
    size_t n = found->name == NULL ? 0 : strlen(found->name);
    uint64_t offset = 0;

    if (n <= strlen(end) || strcmp(found->name + n - strlen(end), end) != 0 ||
        strstr(found->name, lazy) == NULL)
        return;
    const struct hs_elf_symbol *symbol =
        hs_elf_symbol_at(hs_native_symbols(object), found->vaddr, &offset);
    if (symbol == NULL || offset != 0)
        return;
    hs_native_symbol_name(symbol->name, text, n_bytes);
    found->name = text;
}

hs_status hs_native_set_module(struct hs_native *native, const struct hs_object *object,
                               struct hs_root_leaf *leaf, struct hs_error *err)
{
    size_t i = (size_t)(object - native->dump->objects.objects);
    HS_TRY(hs_strtab_add(&native->dump->strings, object->name, &leaf->root.module, err));
    if (!native->of_object[i].is_system) {
        leaf->group_module = leaf->root.module;
        leaf->is_strangers = i != 0 && native->of_object[i].types == 0;
        return HS_OK;
    }
    return hs_native_name(native, &leaf->group_module, err, "system: %s", object->name);
}

hs_status hs_native_describe(struct hs_native *native, const struct hs_cvariable *found,
                             hs_addr base, hs_addr at, struct hs_native_variable *ret,
                             bool *ret_is_valid, struct hs_error *err)
{
    char text[HS_VARIABLE_NAME_BYTES];
    hs_addr begin = found->vaddr + base;
    *ret_is_valid = found->name != NULL && found->name[0] != '\0' && at >= begin &&
                    at - begin < found->n_bytes && found->n_bytes <= UINT64_MAX - begin;
    if (!*ret_is_valid)
        return HS_OK;
    ret->begin = begin;
    ret->n_bytes = found->n_bytes;
    ret->type = found->type;
    ret->is_whole = found->n_bytes > HS_WORD_BYTES;
    ret->leaf.root.line = found->line;
    bool has_room = (size_t)snprintf(text, sizeof text, "%s", found->name) < sizeof text;
    hs_native_cut_macros(text);
    HS_TRY(hs_strtab_add(&native->dump->strings, has_room ? text : found->name, &ret->name, err));
    HS_TRY(hs_strtab_add(&native->dump->strings, found->file, &ret->leaf.root.file, err));
    ret->leaf.root.symbol = ret->name;
    return HS_OK;
}

static hs_status find_described(struct hs_native *native, size_t object, hs_addr at,
                                struct hs_native_variable *ret, bool *ret_found,
                                struct hs_error *err)
{
    const struct hs_object *o = &native->dump->objects.objects[object];
    struct hs_cvariable found = {0};
    char lazy[HS_VARIABLE_NAME_BYTES];
    hs_native_set_tier(native, object, NULL, false, &ret->leaf.root);
    *ret_found = native->ctypes != NULL && native->of_object[object].types != 0 &&
                 hs_ctypes_variable_at(native->ctypes, native->of_object[object].types,
                                       at - o->bias, &found);
    if (!*ret_found)
        return HS_OK;
    name_lazy_static(o, &found, lazy, sizeof lazy);
    HS_TRY(hs_native_describe(native, &found, o->bias, at, ret, ret_found, err));
    if (*ret_found)
        hs_native_set_tier(native, object, found.name, false, &ret->leaf.root);
    return HS_OK;
}

/* Tells whether a symbol is a linker's label at the border of a section: these name no variable. */
static bool is_border(const struct hs_elf_symbol *symbol)
{
    static const char *const names[] = {
        "__bss_start",  "_edata",     "edata",    "_end",        "end",
        "__data_start", "data_start", "_DYNAMIC", "__TMC_END__", "_GLOBAL_OFFSET_TABLE_",
        "__dso_handle"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(symbol->name, names[i]) == 0)
            return true;
    return false;
}

/* Returns the first symbol behind `vaddr`, or `end`. */
static hs_addr next_symbol(const struct hs_elf *elf, hs_addr vaddr, hs_addr end)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n);
    size_t next = HS_FIRST_ABOVE(symbols, n, vaddr, vaddr);
    return next < n && symbols[next].vaddr < end ? symbols[next].vaddr : end;
}

/* Finds the section around `vaddr`, else the segment; its name and extent. */
static void find_section(const struct hs_elf *elf, hs_addr vaddr, struct hs_elf_section *ret)
{
    const struct hs_elf_segment *segment = hs_elf_segment_at(elf, vaddr);
    if (hs_elf_section_at(elf, vaddr, ret))
        return;
    *ret = (struct hs_elf_section){.name = "data",
                                   .vaddr = segment != NULL ? segment->vaddr : vaddr,
                                   .n_bytes = segment != NULL ? segment->n_memory_bytes : 0};
}

/* Describes a variable by the library that it was copied from. The executable has a copy of a
 * library's variable when its code uses it directly (System V ABI, a copy relocation): the
 * library's debug information knows the type. */
static hs_status describe_copy(struct hs_native *native, const char *name,
                               struct hs_native_variable *v, struct hs_error *err)
{
    for (size_t i = 1; native->ctypes != NULL && i < native->dump->objects.n; i++) {
        if (native->n_copy_looks++ >= NAME_COPY_LOOKS)
            return HS_OK;
        const struct hs_elf_symbol *symbol =
            hs_elf_find(native->dump->objects.objects[i].elf, name);
        struct hs_cvariable found = {0};
        if (symbol == NULL || symbol->kind != HS_SYMBOL_DATA || !symbol->is_global ||
            native->of_object[i].types == 0 ||
            !hs_ctypes_variable_at(native->ctypes, native->of_object[i].types, symbol->vaddr,
                                   &found) ||
            found.vaddr != symbol->vaddr || found.n_bytes != v->n_bytes)
            continue;
        v->type = found.type;
        v->leaf.root.line = found.line;
        return hs_strtab_add(&native->dump->strings, found.file, &v->leaf.root.file, err);
    }
    return HS_OK;
}

static hs_status name_by_symbol(struct hs_native *native, size_t object,
                                const struct hs_elf_symbol *symbol, struct hs_native_variable *v,
                                struct hs_error *err)
{
    const struct hs_object *o = &native->dump->objects.objects[object];
    const struct hs_elf_symbol *other = hs_elf_find(hs_native_symbols(o), symbol->name);
    char text[HS_VARIABLE_NAME_BYTES], plain[HS_VARIABLE_NAME_BYTES];
    hs_native_symbol_name(symbol->name, text, sizeof text);
    hs_native_cut_macros(text);
    /* Static variables of one name are told apart by their addresses. */
    if (other != NULL && other->vaddr != symbol->vaddr)
        HS_TRY(hs_native_name(native, &v->name, err, "%s (at 0x%llx)", text,
                              (unsigned long long)symbol->vaddr));
    else
        HS_TRY(hs_strtab_add(&native->dump->strings, text, &v->name, err));
    v->leaf.root.symbol = v->name;
    hs_native_set_tier(native, object, symbol->name, symbol->is_global, &v->leaf.root);
    if (!o->is_executable || !symbol->is_global)
        return HS_OK;
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(symbol->name, "@"), symbol->name);
    return describe_copy(native, plain, v, err);
}

/* Names a word by its section, up to the next variable that an allocator knows by name; that
 * variable itself, if it is at `at`. */
static hs_status name_by_section(struct hs_native *native, hs_addr at,
                                 const struct hs_elf_section *section, hs_addr bias, hs_addr *end,
                                 struct hs_native_variable *ret, struct hs_error *err)
{
    const struct hs_known_variable known = hs_heaps_known_variable(&native->dump->heaps, at, *end);

    if (known.name != NULL)
        *end = known.address == at ? at + HS_WORD_BYTES : known.address;
    if (known.name != NULL && known.address == at) {
        ret->begin = at;
        ret->n_bytes = HS_WORD_BYTES;
        HS_TRY(hs_strtab_add(&native->dump->strings, known.name, &ret->name, err));
    } else {
        ret->begin = section->vaddr + bias;
        ret->n_bytes = *end - ret->begin;
        bool is_dotted = section->name[0] == '.';
        HS_TRY(hs_native_name(native, &ret->name, err, is_dotted ? "%.255s" : "[%.253s]",
                              section->name));
    }
    ret->leaf.root.symbol = ret->name;
    return HS_OK;
}

hs_status hs_native_find_variable(struct hs_native *native, size_t object, hs_addr at,
                                  struct hs_native_variable *ret, hs_addr *ret_end,
                                  struct hs_error *err)
{
    const struct hs_object *o = &native->dump->objects.objects[object];
    const struct hs_elf *elf = hs_native_symbols(o);
    struct hs_elf_section section;
    hs_addr vaddr = at - o->bias;
    bool is_described;
    HS_TRY(find_described(native, object, at, ret, &is_described, err));
    if (is_described) {
        *ret_end = ret->begin + ret->n_bytes;
        return HS_OK;
    }
    find_section(o->elf, vaddr, &section);
    const struct hs_elf_symbol *symbol = hs_elf_symbol_at(elf, vaddr, NULL);
    if (symbol != NULL && symbol->n_bytes == 0 &&
        (is_border(symbol) || symbol->vaddr < section.vaddr))
        symbol = NULL;
    hs_addr end = symbol != NULL && symbol->n_bytes != 0
                      ? symbol->vaddr + symbol->n_bytes
                      : next_symbol(elf, vaddr, section.vaddr + section.n_bytes);
    if (end <= vaddr)
        end = vaddr + HS_WORD_BYTES;
    if (symbol == NULL && end - vaddr > NAME_PAGE)
        end = vaddr + NAME_PAGE; /* debug information may know what comes behind */
    *ret_end = end + o->bias;
    if (symbol != NULL) {
        ret->begin = symbol->vaddr + o->bias;
        ret->n_bytes = end - symbol->vaddr;
        ret->is_whole = ret->n_bytes > HS_WORD_BYTES;
        return name_by_symbol(native, object, symbol, ret, err);
    }
    return name_by_section(native, at, &section, o->bias, ret_end, ret, err);
}
