/* Symbols and places of calls become questions, and lead to the answers. */
#include "bodies.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "frame_label.h"

enum { NAME_BYTES = 512, CALLS_MAX = 1 << 12, PLACES_OF_ONE = 4, HELD_MAX = 1 << 12 };

/* A function as the compiler called it: unit "Stm", name "observe_273". */
struct function {
    char unit[NAME_BYTES], name[NAME_BYTES];
};

/* Tells whether there is a module of this name in the program. */
static bool unit_exists(const struct hs_ocaml *rt, const char *unit)
{
    char name[NAME_BYTES + 4];
    struct hs_live_symbol symbol;

    snprintf(name, sizeof name, "caml%s", unit);
    return hs_objects_find(rt->objects, name, &symbol);
}

/* Decodes a name as symbols have it: what no symbol may have is written in hexadecimal digits,
 * "$27" is a quote. */
static void unescape(const char *from, char *to)
{
    for (unsigned code; *from != '\0'; to++) {
        if (from[0] == '$' && isxdigit((unsigned char)from[1]) &&
            isxdigit((unsigned char)from[2]) && sscanf(from + 1, "%2x", &code) == 1) {
            *to = (char)code;
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Tells whether a text can be asked about: it is printable, without blanks. */
static bool is_word(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return text[0] != '\0';
}

/* Splits "camlStm__observe_273", or since 5.1 "camlStm.observe_273": the separator may be part of
 * either name, so the longest module that there is counts. */
static bool function_of(const struct hs_ocaml *rt, const char *symbol, struct function *ret)
{
    char text[NAME_BYTES];
    size_t n = strlen(symbol);

    if (strncmp(symbol, "caml", 4) != 0 || n - 4 >= sizeof text)
        return false;
    memcpy(text, symbol + 4, n - 3);
    for (size_t i = n - 4; i-- > 1;) {
        size_t separator = text[i] == '_' && text[i + 1] == '_' ? 2
                           : text[i] == '.' || text[i] == '$'   ? 1
                                                                : 0;
        if (separator == 0 || text[i + separator] == '\0')
            continue;
        memcpy(ret->unit, text, i);
        ret->unit[i] = '\0';
        if (!unit_exists(rt, ret->unit))
            continue;
        unescape(text + i + separator, ret->name);
        return is_word(ret->unit) && is_word(ret->name);
    }
    return false;
}

/* Tells whether a function has no name: the compiler numbers such, and a place in them finds them
 * in the source. */
static bool is_anonymous(const char *name)
{
    return strncmp(name, "fun_", 4) == 0 && name[4 + strspn(name + 4, "0123456789")] == '\0';
}

static bool function_at(const struct hs_ocaml *rt, hs_addr code, struct function *ret)
{
    struct hs_live_symbol symbol;

    return hs_objects_at(rt->objects, code, &symbol) && symbol.is_code && symbol.address == code &&
           function_of(rt, symbol.name, ret);
}

/* ---- the question */

__attribute__((format(printf, 3, 4))) static hs_status put(struct hs_buffer *out,
                                                           struct hs_error *err, const char *format,
                                                           ...)
{
    char line[4 * NAME_BYTES];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof line)
        return HS_OK; /* too long to be asked about */
    HS_TRY(hs_buffer_reserve(out, (size_t)n, err));
    hs_buffer_put_bytes(out, line, (size_t)n);
    return HS_OK;
}

static bool is_call(const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_STACK && leaf->root.certainty != HS_CONSERVATIVE &&
           leaf->root.file != 0 && leaf->root.symbol != 0;
}

static hs_status ask_call(const struct hs_ocaml *rt, const struct hs_root *root,
                          struct hs_dict *asked, struct hs_buffer *out, struct hs_error *err)
{
    struct function function;
    uint64_t key = hs_hash_pair(hs_hash_pair(root->symbol, root->line),
                                hs_hash_pair(root->char_begin, root->char_end));

    if (hs_dict_find(asked, key) != NULL)
        return HS_OK;
    HS_TRY(hs_dict_put(asked, key, 1, err));
    const char *file = hs_strtab_get(rt->strings, root->file);
    if (strchr(file, '\n') != NULL ||
        !function_of(rt, hs_strtab_get(rt->strings, root->symbol), &function))
        return HS_OK;
    HS_TRY(put(out, err, "look %s\n", function.unit));
    return put(out, err, "frame %s %u %u %u\n", file, root->line, root->char_begin, root->char_end);
}

struct ask_suspended {
    const struct hs_ocaml *rt;
    struct hs_dict *asked;
    struct hs_buffer *out;
};

/* Asks about the call of a frame of a suspended stack, by the place in the function itself: what
 * was inlined has its text in another unit. */
static hs_status ask_slot(void *context, uint64_t value, const struct hs_frame_entry *entry,
                          struct hs_error *err)
{
    const struct ask_suspended *a = context;
    struct hs_live_symbol symbol;
    struct hs_frame_place place;
    struct function function;
    char file[NAME_BYTES];

    if ((value & 1) != 0 || a->asked->n >= CALLS_MAX ||
        hs_dict_find(a->asked, entry->return_address) != NULL)
        return HS_OK;
    HS_TRY(hs_dict_put(a->asked, entry->return_address, 1, err));
    if (!hs_objects_at(a->rt->objects, entry->return_address, &symbol) ||
        !function_of(a->rt, symbol.name, &function) ||
        !hs_frame_own_place(a->rt, entry, file, sizeof file, &place) || strchr(file, '\n') != NULL)
        return HS_OK;
    HS_TRY(put(a->out, err, "look %s\n", function.unit));
    return put(a->out, err, "frame %s %u %u %u\n", file, place.line, place.char_begin,
               place.char_end);
}

static hs_status ask_calls(const struct hs_sheap *heap, struct hs_buffer *out, struct hs_error *err)
{
    const struct hs_roots *roots = &heap->roots->roots;
    struct hs_dict asked = {0}, suspended = {0};
    struct ask_suspended a = {heap->rt, &suspended, out};
    hs_status status = HS_OK;

    for (size_t i = 0; i < roots->n_leaves && status == HS_OK && asked.n < CALLS_MAX; i++)
        if (is_call(&roots->leaves[i]))
            status = ask_call(heap->rt, &roots->leaves[i].root, &asked, out, err);
    if (status == HS_OK)
        status = hs_ssuspended_each(heap, ask_slot, &a, err);
    hs_dict_fini(&asked);
    hs_dict_fini(&suspended);
    return status;
}

/* Asks about functions of closures and, when they have no name, places in them: every call and
 * allocation has one in the frame tables. The first few of each are asked about, as not all can be
 * found. */
static hs_status ask_function(const struct hs_ocaml *rt, hs_addr code, struct hs_dict *nameless,
                              struct hs_buffer *out, struct hs_error *err)
{
    struct function function;

    if (!function_at(rt, code, &function))
        return HS_OK;
    if (is_anonymous(function.name))
        return hs_dict_put(nameless, code, 0, err);
    return put(out, err, "closure %s %s *\n", function.unit, function.name);
}

static hs_status ask_place(const struct hs_ocaml *rt, const struct hs_frame_entry *entry,
                           struct hs_dict *nameless, struct hs_buffer *out, struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct function function;
    struct hs_frame_place place;
    char file[NAME_BYTES];

    if (!hs_objects_at(rt->objects, entry->return_address, &symbol))
        return HS_OK;
    uint64_t *n = hs_dict_find(nameless, symbol.address);
    if (n == NULL || *n >= PLACES_OF_ONE || !function_of(rt, symbol.name, &function) ||
        !hs_frame_own_place(rt, entry, file, sizeof file, &place) || strchr(file, '\n') != NULL)
        return HS_OK;
    ++*n;
    return put(out, err, "lambda %s %s %s %u %u %u\n", function.unit, function.name, file,
               place.line, place.char_begin, place.char_end);
}

static hs_status ask_functions(const struct hs_ocaml *rt, const struct hs_ocaml_roots *roots,
                               const struct hs_ocaml_marks *marks, struct hs_buffer *out,
                               struct hs_error *err)
{
    const struct hs_frame_table *frames = roots->frames;
    struct hs_dict nameless = {0};
    hs_status status = HS_OK;

    for (size_t i = 0; i < marks->functions.n && status == HS_OK; i++)
        status = ask_function(rt, marks->functions.entries[i].key, &nameless, out, err);
    for (size_t i = 0;
         frames != NULL && nameless.n != 0 && i < frames->n_entries && status == HS_OK; i++)
        status = ask_place(rt, &frames->entries[i], &nameless, out, err);
    hs_dict_fini(&nameless);
    return status;
}

/* Finds the closure that a value leads to, when that captured anything, and the function that it
 * stands for: of several that share a closure the one that it leads to. */
static bool closure_at(const struct hs_sheap *heap, uint64_t value, struct hs_block *ret,
                       struct function *ret_function)
{
    uint64_t from, end;

    if ((value & 1) != 0 || !hs_map_resolve(heap->map, value, ret) ||
        !hs_bitmap_get(&heap->map->starts, ret->bit))
        return false;
    uint64_t header = hs_block_head(ret);
    if (HS_HEADER_TAG(header) != HS_TAG_CLOSURE)
        return false;
    hs_block_fields(ret, header, &from, &end);
    uint64_t at = (value - ret->address) / HS_WORD;
    if (from >= end || at >= from || end - at < 2)
        return false;
    hs_addr code = hs_closure_code(hs_map_bytes(ret->span, ret->address) + at * HS_WORD, end - at);
    return function_at(heap->rt, code, ret_function);
}

/* Tells whether a root is a field of a unit's block, whose name can be asked about. */
static bool is_field(const struct hs_ocaml *rt, const struct hs_root *root)
{
    const char *symbol = hs_strtab_get(rt->strings, root->symbol);

    return (root->kind == HS_ROOT_GLOBAL || root->kind == HS_ROOT_DYNAMIC_GLOBAL) && !root->weak &&
           root->field != HS_NO_FIELD && strncmp(symbol, "caml", 4) == 0 && is_word(symbol + 4);
}

/* Asks about the closures that variables of modules hold, whose types say more of what they
 * captured than their functions' own. */
static hs_status ask_held(const struct hs_sheap *heap, struct hs_buffer *out, struct hs_error *err)
{
    const struct hs_ocaml *rt = heap->rt;
    const struct hs_roots *roots = &heap->roots->roots;
    struct function function;
    struct hs_block block;
    uint64_t value;
    size_t n = 0;

    for (size_t i = 0; i < roots->n_leaves && n < HELD_MAX; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        if (!is_field(rt, root) || !hs_image_u64(rt->image, root->address, &value) ||
            !closure_at(heap, value, &block, &function))
            continue;
        if (!is_anonymous(function.name)) /* of several in one closure it may not be the first */
            HS_TRY(put(out, err, "closure %s %s *\n", function.unit, function.name));
        HS_TRY(put(out, err, "held %s %u %s %s\n", hs_strtab_get(rt->strings, root->symbol) + 4,
                   root->field, function.unit, function.name));
        n++;
    }
    return HS_OK;
}

hs_status hs_sbodies_ask(const struct hs_sheap *heap, struct hs_buffer *out, struct hs_error *err)
{
    HS_TRY(ask_calls(heap, out, err));
    HS_TRY(ask_held(heap, out, err));
    return ask_functions(heap->rt, heap->roots, heap->marks, out, err);
}

/* ---- the answer */

hs_status hs_sbodies_functions(const struct hs_ocaml *rt, const struct hs_ocaml_marks *marks,
                               const struct hs_stables *tables, struct hs_dict *ret,
                               struct hs_error *err)
{
    struct function function;

    for (size_t i = 0; i < marks->functions.n && tables->n_captured != 0; i++) {
        hs_addr code = marks->functions.entries[i].key;
        if (!function_at(rt, code, &function))
            continue;
        const struct hs_scaptured *found =
            hs_stables_captured(tables, function.unit, function.name);
        if (found != NULL)
            HS_TRY(hs_dict_put(ret, code, (uint64_t)(found - tables->captured), err));
    }
    return HS_OK;
}

bool hs_sbodies_holds(const struct hs_sheap *heap, const struct hs_stables *tables,
                      const struct hs_sheld *held, uint64_t value, struct hs_block *ret)
{
    struct function function;

    return closure_at(heap, value, ret, &function) &&
           strcmp(function.unit, hs_strtab_get(&tables->strings, held->unit)) == 0 &&
           strcmp(function.name, hs_strtab_get(&tables->strings, held->function)) == 0;
}
