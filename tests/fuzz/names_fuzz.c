/* links: hs_ocaml hs_runtimes hs_process hs_base */
/* Any bytes as a table of OCaml's source names: a file of --names, or what the helper answers. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "ocaml/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_TEXT_BYTES = 1 << 16, MAX_LOOKED = 512 };

static const char *text_of(const struct hs_names *names, hs_str id)
{
    return hs_strtab_get(&names->strings, id);
}

/* These go to terminals and into files of others. */
static void check_text(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        assert(*c >= 0x20 && *c != 0x7f);
}

static void check_entries(const struct hs_names *names)
{
    struct hs_name name;
    for (size_t i = 0; i < names->n_entries; i++) {
        const struct hs_name_entry *e = &names->entries[i];
        const char *unit = text_of(names, e->unit);
        check_text(unit);
        check_text(text_of(names, e->name));
        check_text(text_of(names, e->file));
        assert(unit[0] != '\0' && text_of(names, e->name)[0] != '\0');
        if (i > 0) {
            int order = strcmp(text_of(names, e[-1].unit), unit);
            assert(order < 0 || (order == 0 && e[-1].slot < e->slot));
        }
        if (i >= MAX_LOOKED)
            continue;
        assert(hs_names_find(names, unit, e->slot, &name));
        assert(strcmp(name.name, text_of(names, e->name)) == 0 && name.line == e->line);
        bool has_next =
            i + 1 < names->n_entries && e[1].unit == e->unit && e[1].slot == e->slot + 1;
        if (e->slot != UINT32_MAX)
            assert(hs_names_find(names, unit, e->slot + 1, &name) == has_next);
    }
}

static void put(struct hs_buffer *out, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    if (hs_buffer_reserve(out, strlen(text), &err) != HS_OK)
        abort();
    for (; *text != '\0'; text++)
        hs_buffer_put_u8(out, (uint8_t)*text);
}

/* The table written from what was understood says the same. */
static void check_again(const struct hs_names *names)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer out = {0};
    struct hs_names again = {0};
    char number[32];
    for (size_t i = 0; i < names->n_entries; i++) {
        const struct hs_name_entry *e = &names->entries[i];
        put(&out, text_of(names, e->unit));
        snprintf(number, sizeof number, "\t%u\t", e->slot);
        put(&out, number);
        put(&out, text_of(names, e->name));
        put(&out, "\t");
        put(&out, text_of(names, e->file));
        snprintf(number, sizeof number, "\t%u\n", e->line);
        put(&out, number);
    }
    if (hs_names_parse(&again, (const char *)out.bytes, out.n_bytes, "again", &err) != HS_OK)
        abort();
    assert(again.n_entries == names->n_entries);
    for (size_t i = 0; i < again.n_entries; i++) {
        const struct hs_name_entry *x = &names->entries[i], *y = &again.entries[i];
        assert(x->slot == y->slot && x->line == y->line);
        assert(strcmp(text_of(names, x->unit), text_of(&again, y->unit)) == 0);
        assert(strcmp(text_of(names, x->name), text_of(&again, y->name)) == 0);
        assert(strcmp(text_of(names, x->file), text_of(&again, y->file)) == 0);
    }
    hs_names_fini(&again);
    hs_buffer_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_names names = {0};
    if (n_bytes > MAX_TEXT_BYTES)
        return 0;
    hs_status status = hs_names_parse(&names, (const char *)bytes, n_bytes, "fuzz", &err);
    assert(status == HS_OK || status == HS_FORMAT);
    if (status != HS_OK) {
        assert(names.entries == NULL && names.n_entries == 0);
        return 0;
    }
    check_entries(&names);
    check_again(&names);
    hs_names_fini(&names);
    return 0;
}
