/* Sections of a hs_elf, loaded when first asked for. */
#include <elf.h>
#include <gelf.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "elf_private.h"

/* Tells whether a section is in the file: only what lies whole within it counts. */
static bool section_in_file(const struct hs_elf *elf, const GElf_Shdr *sh)
{
    uint64_t end;
    return sh->sh_type != SHT_NOBITS && sh->sh_type != SHT_NULL &&
           hs_add_fits(sh->sh_offset, sh->sh_size, &end) && end <= elf->n_file_bytes;
}

static void section_load(struct hs_elf *elf, size_t number, size_t names)
{
    struct elf_section *section = &elf->sections[number];
    GElf_Shdr sh;
    section->seen.name = "";
    section->scn = elf_getscn(elf->elf, number);
    if (section->scn == NULL || gelf_getshdr(section->scn, &sh) == NULL) {
        section->scn = NULL;
        return;
    }
    const char *name = elf_strptr(elf->elf, names, sh.sh_name);
    section->seen = (struct hs_elf_section){
        .name = name == NULL ? "" : name,
        .vaddr = sh.sh_addr,
        .n_bytes = sh.sh_size,
        .file_offset = sh.sh_offset,
        .type = sh.sh_type,
        .flags = sh.sh_flags,
        .is_in_file = section_in_file(elf, &sh),
        .is_compressed = (sh.sh_flags & SHF_COMPRESSED) != 0,
    };
    section->link = sh.sh_link;
}

hs_status hs_elf_load_sections_(struct hs_elf *elf, struct hs_error *err)
{
    size_t n = 0, names = 0;
    /* A program runs without section headers: damaged ones are as good as none. */
    if (elf_getshdrnum(elf->elf, &n) != 0 || elf_getshdrstrndx(elf->elf, &names) != 0)
        return HS_OK;
    if (n > ELF_MAX_SECTIONS)
        return hs_fail(err, HS_LIMIT, "'%s' claims %zu sections", elf->name, n);
    HS_TRY(HS_ALLOC(&elf->sections, n, err));
    for (size_t i = 0; i < n; i++)
        section_load(elf, i, names);
    elf->n_sections = n;
    return HS_OK;
}

size_t hs_elf_n_sections(const struct hs_elf *elf)
{
    return elf->n_sections;
}

bool hs_elf_section(const struct hs_elf *elf, size_t number, struct hs_elf_section *ret)
{
    if (number >= elf->n_sections || elf->sections[number].scn == NULL)
        return false;
    *ret = elf->sections[number].seen;
    return true;
}

static size_t section_number(const struct hs_elf *elf, const char *name)
{
    for (size_t i = 1; i < elf->n_sections; i++)
        if (elf->sections[i].scn != NULL && strcmp(elf->sections[i].seen.name, name) == 0)
            return i;
    return elf->n_sections;
}

bool hs_elf_section_named(const struct hs_elf *elf, const char *name, struct hs_elf_section *ret)
{
    return hs_elf_section(elf, section_number(elf, name), ret);
}

bool hs_elf_section_at(const struct hs_elf *elf, hs_addr vaddr, struct hs_elf_section *ret)
{
    enum { MOST = 512, ALLOCATED = 2, THREAD_LOCAL = 0x400 }; /* linked files have some forty */
    for (size_t i = 0; i < hs_elf_n_sections(elf) && i < MOST; i++) {
        struct hs_elf_section section;
        if (hs_elf_section(elf, i, &section) && section.vaddr != 0 &&
            (section.flags & (ALLOCATED | THREAD_LOCAL)) == ALLOCATED && vaddr >= section.vaddr &&
            vaddr - section.vaddr < section.n_bytes && section.name[0] != '\0') {
            *ret = section;
            return true;
        }
    }
    return false;
}

/* Decompresses what is behind the header of a section. */
static bool section_unzstd(struct elf_section *section, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const Elf_Data *data = elf_rawdata(section->scn, NULL);
    void *own = NULL;

    if (data == NULL || data->d_buf == NULL || data->d_size < sizeof(Elf64_Chdr) || n_bytes == 0 ||
        hs_pages_alloc(n_bytes, 1, &own, &ignored) != HS_OK)
        return false;
    size_t n = ZSTD_decompress(own, n_bytes, (const uint8_t *)data->d_buf + sizeof(Elf64_Chdr),
                               data->d_size - sizeof(Elf64_Chdr));
    if (n != n_bytes) {
        hs_pages_free(own, n_bytes, 1);
        return false;
    }
    section->content.own = own;
    section->content.bytes = own;
    section->content.n_bytes = n_bytes;
    return true;
}

static bool section_decompress(struct elf_section *section, struct hs_effort *effort)
{
    GElf_Chdr head;
    if (gelf_getchdr(section->scn, &head) == NULL ||
        !hs_elf_claim_is_possible_(head.ch_size, section->seen.n_bytes) ||
        !hs_effort_hold(effort, head.ch_size))
        return false;
    return head.ch_type == ELF_COMPRESS_ZSTD ? section_unzstd(section, head.ch_size)
                                             : elf_compress(section->scn, 0, 0) >= 0;
}

static void section_read(struct elf_section *section, struct hs_effort *effort)
{
    section->content.tried = true;
    if (section->seen.is_compressed ? !section_decompress(section, effort)
                                    : !hs_effort_hold(effort, section->seen.n_bytes))
        return;
    if (section->content.own != NULL)
        return;
    const Elf_Data *data = elf_rawdata(section->scn, NULL);
    if (data == NULL || data->d_buf == NULL ||
        (!section->seen.is_compressed && data->d_size != section->seen.n_bytes))
        return;
    section->content.bytes = data->d_buf;
    section->content.n_bytes = data->d_size;
}

hs_status hs_elf_section_bytes(struct hs_elf *elf, size_t number, const uint8_t **ret,
                               size_t *ret_n_bytes, struct hs_error *err)
{
    if (number >= elf->n_sections || elf->sections[number].scn == NULL)
        return hs_fail(err, HS_FORMAT, "'%s' has no section %zu", elf->name, number);
    struct elf_section *section = &elf->sections[number];
    if (!section->seen.is_in_file)
        return hs_fail(err, HS_FORMAT, "section '%s' of '%s' is not in the file",
                       section->seen.name, elf->name);
    if (section->seen.n_bytes > ELF_MAX_CONTENT)
        return hs_fail(err, HS_LIMIT, "section '%s' of '%s' is larger than 2 GiB",
                       section->seen.name, elf->name);
    if (!section->content.tried)
        section_read(section, &elf->effort);
    if (section->content.bytes == NULL && section->seen.n_bytes != 0)
        return hs_fail(err, HS_FORMAT, "section '%s' of '%s' cannot be read%s", section->seen.name,
                       elf->name, section->seen.is_compressed ? " or decompressed" : "");
    *ret = section->content.bytes;
    *ret_n_bytes = section->content.n_bytes;
    return HS_OK;
}

hs_status hs_elf_section_bytes_named(struct hs_elf *elf, const char *name, const uint8_t **ret,
                                     size_t *ret_n_bytes, struct hs_error *err)
{
    size_t number = section_number(elf, name);
    if (number == elf->n_sections)
        return hs_fail(err, HS_FORMAT, "'%s' has no section '%s'", elf->name, name);
    return hs_elf_section_bytes(elf, number, ret, ret_n_bytes, err);
}

/* A note: u32 name size, u32 contents size, u32 type, name, contents, both padded to 4 bytes. */
static bool build_id_in(struct hs_cursor c, char *ret_hex)
{
    while (hs_cursor_left(&c) >= 12) {
        uint32_t n_name = hs_cursor_u32(&c), n_id = hs_cursor_u32(&c), type = hs_cursor_u32(&c);
        const uint8_t *name = hs_cursor_bytes(&c, n_name);
        hs_cursor_align(&c, 4);
        const uint8_t *id = hs_cursor_bytes(&c, n_id);
        hs_cursor_align(&c, 4);
        if (name == NULL || id == NULL)
            return false;
        if (type != NT_GNU_BUILD_ID || n_name != 4 || memcmp(name, "GNU", 4) != 0)
            continue;
        if (n_id == 0 || n_id > ELF_BUILD_ID_MAX)
            return false;
        for (uint32_t i = 0; i < n_id; i++) {
            ret_hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
            ret_hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
        }
        ret_hex[2 * n_id] = '\0';
        return true;
    }
    return false;
}

void hs_elf_load_build_id_(struct hs_elf *elf)
{
    /* Sections first: in a debug file the note segment points nowhere. */
    for (size_t i = 1; i < elf->n_sections; i++) {
        const struct hs_elf_section *s = &elf->sections[i].seen;
        struct hs_error ignored = HS_ERROR_INIT;
        const uint8_t *bytes;
        size_t n;
        if (s->type == SHT_NOTE && s->is_in_file && s->n_bytes < 65536 &&
            hs_elf_section_bytes(elf, i, &bytes, &n, &ignored) == HS_OK &&
            build_id_in(hs_cursor_make(bytes, n), elf->build_id))
            return;
    }
    size_t n_headers = 0;
    if (elf_getphdrnum(elf->elf, &n_headers) != 0)
        return;
    for (size_t i = 0; i < n_headers; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(elf->elf, (int)i, &ph) == NULL || ph.p_type != PT_NOTE ||
            ph.p_filesz >= 65536 || ph.p_offset >= elf->n_file_bytes ||
            ph.p_filesz > elf->n_file_bytes - ph.p_offset)
            continue;
        const Elf_Data *data =
            elf_getdata_rawchunk(elf->elf, (int64_t)ph.p_offset, (size_t)ph.p_filesz, ELF_T_BYTE);
        if (data != NULL && data->d_buf != NULL &&
            build_id_in(hs_cursor_make(data->d_buf, data->d_size), elf->build_id))
            return;
    }
}
