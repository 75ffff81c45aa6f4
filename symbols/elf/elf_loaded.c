/* An ELF file made of what is loaded of it. Sources: elf(5), the gABI's chapter on program loading,
 * the layout of DT_GNU_HASH as in glibc's elf/dl-lookup.c, the LSB's chapter on .eh_frame_hdr. */
#include "symbols/elf_loaded.h"

#include <elf.h>
#include <string.h>

#include "arch/processor.h"
#include "base/checked.h"
#include "base/load.h"

enum { LOADED_SEGMENTS_MAX = 64, LOADED_DYNAMIC_MAX = 1024, LOADED_NAMES_BYTES = 128 };
#define LOADED_PAGE ((uint64_t)4096)
#define LOADED_BYTES_MAX ((uint64_t)512 << 20)
#define LOADED_POINTER_PCREL_INT32 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */

enum loaded_section {
    LOADED_NULL,
    LOADED_DYNSYM,
    LOADED_DYNSTR,
    LOADED_EH_FRAME,
    LOADED_BUILD_ID,
    LOADED_DYNAMIC,
    LOADED_SHSTRTAB,
    LOADED_N_SECTIONS
};

struct loaded {
    const struct hs_memory_reader *memory;
    hs_addr begin, end;
    uint64_t bias;
    Elf64_Ehdr head;
    Elf64_Phdr segments[LOADED_SEGMENTS_MAX]; /* as they were */
    uint8_t *image;                           /* owned by the caller in the end */
    uint64_t n_image_bytes;                   /* with names and section headers */
    uint64_t n_copied_bytes;                  /* before them */
    Elf64_Shdr sections[LOADED_N_SECTIONS];
    char names[LOADED_NAMES_BYTES];
    size_t n_names;
};

static bool loaded_read(const struct loaded *l, hs_addr at, void *ret, size_t n_bytes)
{
    return at >= l->begin && at <= l->end && n_bytes <= l->end - at &&
           l->memory->read(l->memory->context, at, ret, n_bytes);
}

static hs_status loaded_read_head(struct loaded *l, struct hs_error *err)
{
    struct hs_elf_identity id;

    if (!loaded_read(l, l->begin, &l->head, sizeof l->head))
        return hs_fail(err, HS_TARGET, "cannot read the ELF header at 0x%llx",
                       (unsigned long long)l->begin);
    if (!hs_elf_identify(&l->head, sizeof l->head, &id) || id.address_bits != 64 ||
        !id.is_our_machine || !id.little_endian || l->head.e_phentsize != sizeof *l->segments ||
        l->head.e_phnum == 0 || l->head.e_phnum > LOADED_SEGMENTS_MAX ||
        l->head.e_phoff > l->end - l->begin)
        return hs_fail(err, HS_FORMAT, "no " HS_ARCH_NAME " ELF object is loaded at 0x%llx",
                       (unsigned long long)l->begin);
    if (!loaded_read(l, l->begin + l->head.e_phoff, l->segments,
                     l->head.e_phnum * sizeof *l->segments))
        return hs_fail(err, HS_TARGET, "cannot read the program headers at 0x%llx",
                       (unsigned long long)l->begin);
    return HS_OK;
}

static bool loaded_is_copied(const Elf64_Phdr *segment)
{
    return segment->p_type == PT_LOAD && (segment->p_flags & PF_W) == 0;
}

/* Finds the bias, and how long the file is up to its last read-only segment. */
static hs_status loaded_measure(struct loaded *l, struct hs_error *err)
{
    uint64_t n_bytes = 0;
    bool has_first = false;

    for (size_t i = 0; i < l->head.e_phnum; i++) {
        const Elf64_Phdr *s = &l->segments[i];
        uint64_t end;
        if (!loaded_is_copied(s))
            continue;
        if (!hs_add_fits(s->p_offset, s->p_filesz, &end) || s->p_filesz > s->p_memsz)
            return hs_fail(err, HS_FORMAT, "a segment of the object at 0x%llx wraps",
                           (unsigned long long)l->begin);
        if (!has_first && s->p_offset < LOADED_PAGE)
            l->bias = l->begin - (s->p_vaddr - s->p_offset);
        has_first |= s->p_offset < LOADED_PAGE;
        n_bytes = end > n_bytes ? end : n_bytes;
    }
    if (!has_first || n_bytes < sizeof l->head)
        return hs_fail(err, HS_FORMAT, "the object at 0x%llx has no read-only head",
                       (unsigned long long)l->begin);
    if (n_bytes > LOADED_BYTES_MAX)
        return hs_fail(err, HS_LIMIT, "the object at 0x%llx is too large to be read from memory",
                       (unsigned long long)l->begin);
    l->n_copied_bytes = (n_bytes + 15) & ~(uint64_t)15;
    l->n_image_bytes = l->n_copied_bytes + sizeof l->names + sizeof l->sections;
    return HS_OK;
}

static hs_status loaded_copy(struct loaded *l, struct hs_error *err)
{
    for (size_t i = 0; i < l->head.e_phnum; i++) {
        const Elf64_Phdr *s = &l->segments[i];
        if (loaded_is_copied(s) &&
            !loaded_read(l, s->p_vaddr + l->bias, l->image + s->p_offset, s->p_filesz))
            return hs_fail(err, HS_TARGET, "cannot read the segment at 0x%llx",
                           (unsigned long long)(s->p_vaddr + l->bias));
    }
    return HS_OK;
}

/* The place in the image of `n_bytes` at a link-time address; NULL when they are not in it.
 * *ret_left (may be NULL) is how many there are up to the end of the segment. */
static uint8_t *loaded_at(const struct loaded *l, uint64_t vaddr, uint64_t n_bytes,
                          uint64_t *ret_left)
{
    for (size_t i = 0; i < l->head.e_phnum; i++) {
        const Elf64_Phdr *s = &l->segments[i];
        if (!loaded_is_copied(s) || vaddr < s->p_vaddr || vaddr - s->p_vaddr > s->p_filesz ||
            n_bytes > s->p_filesz - (vaddr - s->p_vaddr))
            continue;
        if (ret_left != NULL)
            *ret_left = s->p_filesz - (vaddr - s->p_vaddr);
        return l->image + s->p_offset + (vaddr - s->p_vaddr);
    }
    return NULL;
}

static uint32_t loaded_u32(const uint8_t *bytes, uint64_t number)
{
    return hs_load_u32(bytes + number * sizeof(uint32_t));
}

/* States a section of bytes that are in the image; none when they are not. */
static void loaded_state(struct loaded *l, enum loaded_section number, const char *name,
                         uint32_t type, uint64_t vaddr, uint64_t n_bytes)
{
    Elf64_Shdr *section = &l->sections[number];
    uint8_t *at = loaded_at(l, vaddr, n_bytes, NULL);
    size_t n_name = strlen(name) + 1;

    if ((at == NULL && type != SHT_NOBITS) || n_bytes == 0 || n_name > sizeof l->names - l->n_names)
        return;
    *section = (Elf64_Shdr){
        .sh_name = (Elf64_Word)l->n_names,
        .sh_type = type,
        .sh_flags = SHF_ALLOC,
        .sh_addr = vaddr,
        .sh_offset = at != NULL ? (uint64_t)(at - l->image) : 0,
        .sh_size = n_bytes,
        .sh_addralign = 1,
    };
    memcpy(l->names + l->n_names, name, n_name);
    l->n_names += n_name;
}

/* ---- the dynamic section */

/* glibc adds the bias to the addresses in the loaded section, others leave them. */
static uint64_t loaded_dynamic_vaddr(const struct loaded *l, uint64_t value)
{
    return value >= l->begin && value < l->end ? value - l->bias : value;
}

/* Counts symbols by DT_HASH: one chain entry per symbol. */
static uint64_t loaded_count_hash(const struct loaded *l, uint64_t vaddr)
{
    const uint8_t *hash = loaded_at(l, vaddr, 8, NULL);
    return hash == NULL ? 0 : loaded_u32(hash, 1);
}

/* Counts symbols by DT_GNU_HASH: | n_buckets, first symbol, n_bloom, shift | bloom (8 each) |
 * buckets | chains |. The last symbol is the end of the chain of the highest bucket. */
static uint64_t loaded_count_gnu_hash(const struct loaded *l, uint64_t vaddr)
{
    uint64_t n_bytes = 0, highest = 0;
    const uint8_t *hash = loaded_at(l, vaddr, 16, &n_bytes);

    if (hash == NULL)
        return 0;
    uint64_t n_buckets = loaded_u32(hash, 0), first = loaded_u32(hash, 1);
    uint64_t buckets = 4 + 2 * (uint64_t)loaded_u32(hash, 2), n_words = n_bytes / 4;
    if (buckets > n_words || n_buckets > n_words - buckets)
        return 0;
    for (uint64_t i = 0; i < n_buckets; i++) {
        uint32_t bucket = loaded_u32(hash, buckets + i);
        highest = bucket > highest ? bucket : highest;
    }
    if (highest < first)
        return first; /* none is hashed: all that there are stand before */
    for (uint64_t at = buckets + n_buckets + (highest - first); at < n_words; at++, highest++)
        if (loaded_u32(hash, at) & 1)
            return highest + 1;
    return 0;
}

static void loaded_state_symbols(struct loaded *l, const Elf64_Dyn *dynamic, size_t n)
{
    uint64_t symbols = 0, strings = 0, n_string_bytes = 0, n_symbols = 0, n_left = 0;

    for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
        uint64_t value = dynamic[i].d_un.d_val, vaddr = loaded_dynamic_vaddr(l, value);
        switch (dynamic[i].d_tag) {
        case DT_SYMTAB:
            symbols = vaddr;
            break;
        case DT_STRTAB:
            strings = vaddr;
            break;
        case DT_STRSZ:
            n_string_bytes = value;
            break;
        case DT_GNU_HASH:
            n_symbols = loaded_count_gnu_hash(l, vaddr);
            break;
        case DT_HASH:
            if (n_symbols == 0)
                n_symbols = loaded_count_hash(l, vaddr);
            break;
        default:
            break;
        }
    }
    if (loaded_at(l, symbols, 0, &n_left) == NULL || n_symbols > n_left / sizeof(Elf64_Sym))
        return;
    loaded_state(l, LOADED_DYNSTR, ".dynstr", SHT_STRTAB, strings, n_string_bytes);
    if (l->sections[LOADED_DYNSTR].sh_type == SHT_NULL)
        return;
    loaded_state(l, LOADED_DYNSYM, ".dynsym", SHT_DYNSYM, symbols, n_symbols * sizeof(Elf64_Sym));
    l->sections[LOADED_DYNSYM].sh_link = LOADED_DYNSTR;
    l->sections[LOADED_DYNSYM].sh_entsize = sizeof(Elf64_Sym);
    l->sections[LOADED_DYNSYM].sh_info = 1;
    l->sections[LOADED_DYNSYM].sh_addralign = 8;
}

static void loaded_state_dynamic(struct loaded *l, const Elf64_Phdr *segment)
{
    Elf64_Dyn dynamic[LOADED_DYNAMIC_MAX];
    size_t n = segment->p_memsz / sizeof *dynamic;

    n = n < LOADED_DYNAMIC_MAX ? n : LOADED_DYNAMIC_MAX;
    if (!loaded_read(l, segment->p_vaddr + l->bias, dynamic, n * sizeof *dynamic))
        return;
    loaded_state(l, LOADED_DYNAMIC, ".dynamic", SHT_NOBITS, segment->p_vaddr, segment->p_memsz);
    loaded_state_symbols(l, dynamic, n);
}

/* ---- other segments that name a section */

static void loaded_state_frames(struct loaded *l, const Elf64_Phdr *segment)
{
    uint8_t *head = loaded_at(l, segment->p_vaddr, 8, NULL);
    uint64_t n_bytes;
    int32_t offset;

    if (head == NULL || head[0] != 1 || head[1] != LOADED_POINTER_PCREL_INT32)
        return;
    memcpy(&offset, head + 4, sizeof offset);
    uint64_t vaddr = segment->p_vaddr + 4 + (uint64_t)(int64_t)offset;
    /* Nothing states its length: it ends with a mark of its own. */
    if (loaded_at(l, vaddr, 0, &n_bytes) != NULL)
        loaded_state(l, LOADED_EH_FRAME, ".eh_frame", SHT_PROGBITS, vaddr, n_bytes);
}

static void loaded_state_build_id(struct loaded *l, const Elf64_Phdr *segment)
{
    uint64_t align = segment->p_align == 8 ? 8 : 4, at = 0;
    const uint8_t *notes = loaded_at(l, segment->p_vaddr, segment->p_filesz, NULL);

    while (notes != NULL && segment->p_filesz - at >= 16) {
        uint64_t n_name = loaded_u32(notes + at, 0), n_value = loaded_u32(notes + at, 1);
        uint64_t value = at + 12 + ((n_name + align - 1) & ~(align - 1));
        uint64_t next = value + ((n_value + align - 1) & ~(align - 1));
        if (value > segment->p_filesz || n_value > segment->p_filesz - value)
            return;
        if (n_name == 4 && loaded_u32(notes + at, 2) == NT_GNU_BUILD_ID &&
            memcmp(notes + at + 12, "GNU", 4) == 0) {
            loaded_state(l, LOADED_BUILD_ID, ".note.gnu.build-id", SHT_NOTE, segment->p_vaddr + at,
                         value + n_value - at);
            return;
        }
        if (next >= segment->p_filesz)
            return;
        at = next;
    }
}

/* ---- the image */

static void loaded_state_all(struct loaded *l)
{
    l->n_names = 1; /* the empty one */
    for (size_t i = 0; i < l->head.e_phnum; i++) {
        const Elf64_Phdr *segment = &l->segments[i];
        if (segment->p_type == PT_DYNAMIC)
            loaded_state_dynamic(l, segment);
        else if (segment->p_type == PT_GNU_EH_FRAME)
            loaded_state_frames(l, segment);
        else if (segment->p_type == PT_NOTE && l->sections[LOADED_BUILD_ID].sh_type == SHT_NULL)
            loaded_state_build_id(l, segment);
    }
    l->sections[LOADED_SHSTRTAB] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB,
        .sh_offset = l->n_copied_bytes,
        .sh_size = sizeof l->names,
        .sh_addralign = 1,
    };
}

static void loaded_finish(struct loaded *l)
{
    Elf64_Ehdr head = l->head;

    head.e_phoff = l->head.e_phoff;
    head.e_shoff = l->n_copied_bytes + sizeof l->names;
    head.e_shentsize = sizeof *l->sections;
    head.e_shnum = LOADED_N_SECTIONS;
    head.e_shstrndx = LOADED_SHSTRTAB;
    for (size_t i = 0; i < l->head.e_phnum; i++)
        if (l->segments[i].p_type == PT_LOAD && !loaded_is_copied(&l->segments[i]))
            l->segments[i].p_filesz = 0;
    memcpy(l->image, &head, sizeof head);
    memcpy(l->image + head.e_phoff, l->segments, l->head.e_phnum * sizeof *l->segments);
    memcpy(l->image + l->n_copied_bytes, l->names, sizeof l->names);
    memcpy(l->image + head.e_shoff, l->sections, sizeof l->sections);
}

hs_status hs_elf_read_loaded(const struct hs_memory_reader *memory, hs_addr begin, hs_addr end,
                             void **ret, size_t *ret_n_bytes, struct hs_error *err)
{
    struct loaded l = {.memory = memory, .begin = begin, .end = end};
    void *image;

    if (begin >= end)
        return hs_fail(err, HS_FORMAT, "nothing is loaded at 0x%llx", (unsigned long long)begin);
    HS_TRY(loaded_read_head(&l, err));
    HS_TRY(loaded_measure(&l, err));
    if (l.head.e_phoff + l.head.e_phnum * sizeof *l.segments > l.n_copied_bytes)
        return hs_fail(err, HS_FORMAT, "the object at 0x%llx has its program headers elsewhere",
                       (unsigned long long)begin);
    HS_TRY(hs_pages_alloc(l.n_image_bytes, 1, &image, err));
    l.image = image;
    hs_status status = loaded_copy(&l, err);
    if (status != HS_OK) {
        hs_pages_free(image, l.n_image_bytes, 1);
        return status;
    }
    loaded_state_all(&l);
    loaded_finish(&l);
    *ret = image;
    *ret_n_bytes = l.n_image_bytes;
    return HS_OK;
}
