#include "elf_sources.h"

#include <elf.h>
#include <string.h>

#include "base/bisect.h"

enum {
    SOURCES_PIECE = 1 << 16,
    SOURCES_BYTES_PER_STEP = 8,
    SOURCES_MAX = 1 << 16,
    SOURCES_LEAST_STEM = 2,
};

static bool source_is_of_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool hs_elf_is_source_name_(const char *text, size_t n)
{
    static const char *const suffixes[] = {"c", "cc", "cpp", "cxx", "c++", "y", "l", "m", "re"};
    size_t dot = n, stem = 0;

    for (size_t i = 0; i < n; i++) {
        if (!source_is_of_word(text[i]) && strchr("./+-", text[i]) == NULL)
            return false;
        dot = text[i] == '.' ? i : dot;
    }
    if (dot == n || n > ELF_SOURCE_NAME_MAX)
        return false;
    while (stem < dot && source_is_of_word(text[dot - stem - 1]))
        stem++;
    if (stem < SOURCES_LEAST_STEM)
        return false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strlen(suffixes[i]) == n - dot - 1 &&
            memcmp(suffixes[i], text + dot + 1, n - dot - 1) == 0)
            return true;
    return false;
}

static hs_status source_add(struct elf_sources *s, hs_addr at, const char *text, size_t n,
                            struct hs_error *err)
{
    if (s->n == SOURCES_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&s->all, &s->capacity, s->n + 1, err));
    HS_TRY(HS_GROW(&s->names, &s->names_capacity, s->n_names + n + 1, err));
    s->all[s->n++] = (struct elf_source){at, (uint32_t)s->n_names};
    memcpy(s->names + s->n_names, text, n);
    s->names[s->n_names + n] = '\0';
    s->n_names += n + 1;
    return HS_OK;
}

/* Looks at the texts that end in a piece, but for one that begins before it. Returns in *ret_done
 * where the first text begins that does not end in it. */
static hs_status sources_in(struct elf_sources *s, const char *piece, size_t n, hs_addr vaddr,
                            size_t *ret_done, struct hs_error *err)
{
    size_t begin = 0;

    for (const char *end; begin < n; begin = (size_t)(end - piece) + 1) {
        end = memchr(piece + begin, '\0', n - begin);
        if (end == NULL)
            break;
        size_t length = (size_t)(end - piece) - begin;
        if (length > SOURCES_LEAST_STEM && length <= ELF_SOURCE_NAME_MAX &&
            hs_elf_is_source_name_(piece + begin, length))
            HS_TRY(source_add(s, vaddr + begin, piece + begin, length, err));
    }
    *ret_done = begin;
    return HS_OK;
}

static hs_status sources_of_section(struct hs_elf *elf, const struct hs_elf_section *section,
                                    struct hs_effort *effort, char *piece, struct elf_sources *ret,
                                    struct hs_error *err)
{
    for (uint64_t at = 0, done; at < section->n_bytes; at += done) {
        uint64_t left = section->n_bytes - at;
        size_t n = left < SOURCES_PIECE ? (size_t)left : SOURCES_PIECE, in_texts;
        if (!hs_effort_take(effort, 1 + n / SOURCES_BYTES_PER_STEP))
            return HS_OK;
        n = hs_elf_copy_at(elf, section->vaddr + at, piece, n);
        if (n == 0)
            return HS_OK;
        HS_TRY(sources_in(ret, piece, n, section->vaddr + at, &in_texts, err));
        done =
            in_texts != 0 && in_texts < n ? in_texts : n; /* a text longer than a piece is none */
    }
    return HS_OK;
}

hs_status hs_elf_sources_find_(struct hs_elf *elf, struct hs_effort *effort,
                               struct elf_sources *ret, struct hs_error *err)
{
    hs_auto_free char *piece = NULL;
    hs_addr end = 0; /* sections that overlap are read once, so that the texts ascend */

    HS_TRY(HS_ALLOC(&piece, SOURCES_PIECE, err));
    for (size_t i = 0; i < elf->n_sections && hs_effort_take(effort, 1); i++) {
        const struct hs_elf_section *section = &elf->sections[i].seen;
        if (section->type != SHT_PROGBITS || strncmp(section->name, ".rodata", 7) != 0 ||
            (section->flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC ||
            section->vaddr < end || section->n_bytes > UINT64_MAX - section->vaddr)
            continue;
        end = section->vaddr + section->n_bytes;
        HS_TRY(sources_of_section(elf, section, effort, piece, ret, err));
    }
    return HS_OK;
}

void hs_elf_sources_fini_(struct elf_sources *sources)
{
    hs_free(sources->all);
    hs_free(sources->names);
    *sources = (struct elf_sources){0};
}

uint32_t hs_elf_source_at_(const struct elf_sources *sources, hs_addr vaddr)
{
    size_t i = HS_FIRST_NOT(at, 0, sources->n, sources->all[at].at < vaddr);

    return i < sources->n && sources->all[i].at == vaddr ? (uint32_t)i + 1 : 0;
}
