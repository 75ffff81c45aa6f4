#include "frame_label.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/demangle.h"
#include "v5/ocaml5.h"

enum { TEXT_BYTES = 512 };

void hs_frame_labels_fini(struct hs_frame_labels *labels)
{
    if (labels == NULL)
        return;
    hs_free(labels->labels);
    hs_free(labels->of_entry);
    memset(labels, 0, sizeof *labels);
}

/* Reads a text that lies in the binary whose frame table mentions it: never the program's own data.
 */
static bool text_at(const struct hs_ocaml *rt, hs_addr at, const struct hs_object *object,
                    char *text, size_t n)
{
    return object != NULL && at >= object->begin && at < object->end &&
           hs_image_string(rt->image, at, text, n) && text[0] != '\0';
}

/* Makes a path of a packed module's name, in place: "Ltac_plugin__Tacenv.f" ->
 * "Ltac_plugin.Tacenv.f". */
static void unpack(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        if (from != text && from[0] == '_' && from[1] == '_' && isupper((unsigned char)from[2])) {
            *to++ = '.';
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static enum hs_place_packing packing_of(const struct hs_ocaml *rt)
{
    const struct hs_ocaml5 *five = rt->five;
    return five != NULL && five->layout.minor >= 2 ? HS_PLACES_FROM_5_2 : HS_PLACES_UP_TO_5_1;
}

/* Appends " (inlined in A, B)" for the places after the first. */
static void append_callers(const struct hs_root_walk *walk, const struct hs_object *object,
                           struct hs_frame_place place, char *text, size_t n)
{
    size_t used = strlen(text);
    const char *before = " (inlined in ";
    for (unsigned i = 0; place.has_next && i < HS_FRAME_MAX_INLINED; i++) {
        char caller[TEXT_BYTES];
        if (!hs_frame_place_read(walk->rt->image, packing_of(walk->rt), place.next, &place) ||
            !text_at(walk->rt, place.function, object, caller, sizeof caller))
            break;
        unpack(caller);
        int added = snprintf(text + used, n - used, "%s%s", before, caller);
        if (added < 0 || (size_t)added + 1 >= n - used)
            break;
        used += (size_t)added;
        before = ", ";
    }
    text[used] = '\0';
    if (before[0] == ',' && used + 1 < n) {
        text[used] = ')';
        text[used + 1] = '\0';
    }
}

hs_status hs_frame_label_of_code(struct hs_root_walk *walk, hs_addr code,
                                 struct hs_frame_label *ret)
{
    struct hs_live_symbol symbol;
    struct hs_frame_label label = {0};
    char text[TEXT_BYTES];
    if (hs_objects_at(walk->rt->objects, code, &symbol)) {
        label.offset = code - symbol.address;
        hs_demangle(symbol.name, text, sizeof text);
        HS_TRY(hs_strtab_add(walk->rt->strings, symbol.name, &label.symbol, walk->err));
        HS_TRY(hs_strtab_add(walk->rt->strings, text, &label.function, walk->err));
    } else {
        HS_TRY(hs_walk_name(walk, &label.function, "code at 0x%llx", (unsigned long long)code));
    }
    *ret = label;
    return HS_OK;
}

static hs_status add_place(struct hs_root_walk *walk, const struct hs_frame_entry *entry,
                           struct hs_frame_label *label)
{
    const struct hs_object *object = hs_objects_object_at(walk->rt->objects, entry->at);
    struct hs_frame_descriptor d;
    struct hs_frame_place place;
    char text[TEXT_BYTES];
    if (!hs_frame_descriptor_read(walk->rt->image, entry->at, &d) ||
        !hs_frame_first_place(walk->rt->image, packing_of(walk->rt), &d, &place))
        return HS_OK;
    if (text_at(walk->rt, place.function, object, text, sizeof text)) {
        unpack(text);
        append_callers(walk, object, place, text, sizeof text);
        HS_TRY(hs_strtab_add(walk->rt->strings, text, &label->function, walk->err));
    }
    if (!text_at(walk->rt, place.file, object, text, sizeof text))
        return HS_OK;
    label->line = place.line;
    label->char_begin = place.char_begin;
    label->char_end = place.char_end;
    return hs_strtab_add(walk->rt->strings, text, &label->file, walk->err);
}

hs_status hs_frame_label_of(struct hs_root_walk *walk, struct hs_frame_labels *labels,
                            const struct hs_frame_entry *entry, struct hs_frame_label *ret)
{
    const struct hs_frame_table *table = walk->roots->frames;
    if (labels->of_entry == NULL)
        HS_TRY(HS_ALLOC(&labels->of_entry, table->n_entries, walk->err));
    uint32_t *slot = &labels->of_entry[entry - table->entries];
    if (*slot == 0) {
        struct hs_frame_label label;
        HS_TRY(hs_frame_label_of_code(walk, entry->return_address, &label));
        HS_TRY(add_place(walk, entry, &label));
        HS_TRY(HS_GROW(&labels->labels, &labels->capacity, labels->n + 1, walk->err));
        labels->labels[labels->n++] = label;
        *slot = (uint32_t)labels->n;
    }
    *ret = labels->labels[*slot - 1];
    return HS_OK;
}

bool hs_frame_own_place(const struct hs_ocaml *rt, const struct hs_frame_entry *entry, char *file,
                        size_t n, struct hs_frame_place *ret)
{
    const struct hs_object *object = hs_objects_object_at(rt->objects, entry->at);
    struct hs_frame_descriptor d;

    if (!hs_frame_descriptor_read(rt->image, entry->at, &d) ||
        !hs_frame_first_place(rt->image, packing_of(rt), &d, ret))
        return false;
    for (unsigned i = 0; ret->has_next && i < HS_FRAME_MAX_INLINED; i++)
        if (!hs_frame_place_read(rt->image, packing_of(rt), ret->next, ret))
            return false;
    return text_at(rt, ret->file, object, file, n);
}
