#include "version.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/elf.h"

/* The record stands at a multiple of 16: magic, size of a pointer, flags, and since 1.18 the texts
 * themselves from byte 32 on, each behind its length. */
#define MAGIC "\xff Go buildinf:"
enum {
    MAGIC_BYTES = 14,
    FLAGS_AT = 15,
    TEXT_AT = 32,
    HAS_TEXT = 2,
    STEP = 16,
    WINDOW_BYTES = 1 << 16,
    SEARCH_BYTES = 1 << 28 /* of data, where no section says where it is */
};

/* A copy of the record's beginning. */
struct record {
    uint8_t bytes[TEXT_AT + 1 + HS_GO_VERSION_BYTES];
    size_t n;
};

static bool find_in_section(struct hs_elf *elf, struct record *ret)
{
    struct hs_elf_section section;

    if (!hs_elf_section_named(elf, ".go.buildinfo", &section))
        return false;
    ret->n = hs_elf_copy_at(elf, section.vaddr, ret->bytes, sizeof ret->bytes);
    return ret->n > TEXT_AT && memcmp(ret->bytes, MAGIC, MAGIC_BYTES) == 0;
}

static bool find_in_segment(struct hs_elf *elf, const struct hs_elf_segment *segment,
                            struct record *ret)
{
    static const size_t keeps = sizeof ret->bytes / STEP * STEP;
    uint8_t window[WINDOW_BYTES];
    uint64_t end = segment->n_file_bytes < SEARCH_BYTES ? segment->n_file_bytes : SEARCH_BYTES;

    for (uint64_t at = 0; at < end; at += WINDOW_BYTES - keeps) {
        size_t n = hs_elf_copy_at(elf, segment->vaddr + at, window, sizeof window);
        for (size_t i = 0; i + TEXT_AT < n; i += STEP) {
            if (memcmp(window + i, MAGIC, MAGIC_BYTES) != 0)
                continue;
            ret->n = n - i < sizeof ret->bytes ? n - i : sizeof ret->bytes;
            memcpy(ret->bytes, window + i, ret->n);
            return true;
        }
        if (n < sizeof window)
            return false;
    }
    return false;
}

static bool find_record(struct hs_elf *elf, struct record *ret)
{
    size_t n;
    const struct hs_elf_segment *segments = hs_elf_segments(elf, &n);

    if (hs_elf_n_sections(elf) != 0)
        return find_in_section(elf, ret);
    for (size_t i = 0; i < n; i++)
        if (!segments[i].executable && find_in_segment(elf, &segments[i], ret))
            return true;
    return false;
}

/* Reads "go1.19.8" or "go1.24.4 X:arenas". */
static void read_text(const struct record *record, struct hs_go_version *ret)
{
    static const char prefix[] = "go";
    size_t n_prefix = sizeof prefix - 1, n = record->bytes[TEXT_AT];
    const char *text = (const char *)record->bytes + TEXT_AT + 1;

    if ((record->bytes[FLAGS_AT] & HAS_TEXT) == 0 || n <= n_prefix || n >= HS_GO_VERSION_BYTES ||
        TEXT_AT + 1 + n > record->n || memcmp(text, prefix, n_prefix) != 0)
        return;
    for (size_t i = n_prefix; i < n; i++) {
        if (text[i] < ' ' || text[i] > '~')
            return;
    }
    memcpy(ret->text, text + n_prefix, n - n_prefix);
    ret->has_experiments = strstr(ret->text, " X:") != NULL;
    if (strncmp(ret->text, "1.", 2) == 0) {
        unsigned long minor = strtoul(ret->text + 2, NULL, 10);
        ret->minor = minor < UINT8_MAX ? (unsigned)minor : 0;
    }
}

bool hs_go_version(const struct hs_objects *objects, struct hs_go_version *ret)
{
    struct record record = {.n = 0};

    *ret = (struct hs_go_version){.minor = 0};
    if (objects->n == 0 || !find_record(objects->objects[0].elf, &record))
        return false;
    read_text(&record, ret);
    return true;
}
