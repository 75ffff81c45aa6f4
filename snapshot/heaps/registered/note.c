/* Notes named "heapsnap" in a mapped ELF file. */
#include <elf.h>
#include <string.h>

#include "base/cursor.h"
#include "parts.h"
#include "symbols/elf.h"

#define NOTE_NAME "heapsnap"
#define NOTE_VERSION 1
#define HEADER_BYTES 65536 /* of a file, with its program headers */
#define NOTE_DESC_BYTES 16
#define NOTES_MAX (UINT64_C(1) << 20) /* of one file: its sections may lie over each other */
#define NOTE_OFFSET_AT 8              /* of the distance within the description */

/* The bytes of the next section of notes that is in memory. */
static bool notes_next_section(struct hs_registered_notes *notes)
{
    struct hs_elf *elf = notes->object->elf;
    struct hs_elf_section section;
    struct hs_error ignored = HS_ERROR_INIT;

    for (size_t n = hs_elf_n_sections(elf); notes->section < n; notes->section++) {
        if (!hs_elf_section(elf, notes->section, &section) || section.type != SHT_NOTE ||
            (section.flags & SHF_ALLOC) == 0 || section.vaddr == 0)
            continue;
        if (hs_elf_section_bytes(elf, notes->section, &notes->bytes, &notes->n_bytes, &ignored) !=
            HS_OK)
            continue;
        notes->vaddr = section.vaddr;
        notes->at = 0;
        notes->section++;
        return true;
    }
    return false;
}

/* Without sections: the program headers, which the loader needs in memory behind the header of the
 * file. All notes of one file are in one segment of their alignment; ours is the first that has
 * one.
 */
static bool notes_first_segment(struct hs_registered_notes *notes)
{
    struct hs_elf *elf = notes->object->elf;
    hs_addr low, high;
    size_t n_bytes = 0;

    if (notes->has_tried_segments || hs_elf_n_sections(elf) > 1 || !hs_elf_extent(elf, &low, &high))
        return false;
    notes->has_tried_segments = true;
    const uint8_t *bytes = hs_elf_bytes_from(elf, low, HEADER_BYTES, &n_bytes);
    struct hs_cursor c = hs_cursor_make(bytes, bytes != NULL ? n_bytes : 0);
    hs_cursor_seek(&c, offsetof(Elf64_Ehdr, e_phoff));
    uint64_t headers = hs_cursor_u64(&c);
    hs_cursor_seek(&c, offsetof(Elf64_Ehdr, e_phnum));
    unsigned n = hs_cursor_u16(&c);
    for (unsigned i = 0; i < n && !c.failed && headers < n_bytes; i++) {
        size_t header = (size_t)headers + i * sizeof(Elf64_Phdr);
        hs_cursor_seek(&c, header);
        uint32_t type = hs_cursor_u32(&c);
        hs_cursor_seek(&c, header + offsetof(Elf64_Phdr, p_vaddr));
        uint64_t vaddr = hs_cursor_u64(&c);
        hs_cursor_seek(&c, header + offsetof(Elf64_Phdr, p_filesz));
        uint64_t size = hs_cursor_u64(&c);
        if (c.failed || type != PT_NOTE || size > n_bytes)
            continue;
        const uint8_t *found = hs_elf_bytes_at(elf, vaddr, (size_t)size);
        if (found == NULL || memmem(found, (size_t)size, NOTE_NAME, sizeof NOTE_NAME) == NULL)
            continue;
        notes->bytes = found;
        notes->n_bytes = (size_t)size;
        notes->vaddr = vaddr;
        notes->at = 0;
        return true;
    }
    return false;
}

/* The next note of the bytes at hand; false at their end. *ret_registry is 0 for another's note. */
static bool notes_next(struct hs_registered_notes *notes, hs_addr *ret_registry)
{
    struct hs_cursor c = hs_cursor_make(notes->bytes, notes->n_bytes);

    *ret_registry = 0;
    hs_cursor_seek(&c, notes->at);
    uint32_t name_bytes = hs_cursor_u32(&c);
    uint32_t desc_bytes = hs_cursor_u32(&c);
    uint32_t type = hs_cursor_u32(&c);
    const uint8_t *name = hs_cursor_bytes(&c, name_bytes);
    hs_cursor_align(&c, 4);
    size_t desc_at = c.at;
    hs_cursor_skip(&c, desc_bytes);
    if (c.failed)
        return false;
    /* The padding of the last note may be missing. */
    notes->at = (c.at + 3) / 4 * 4 < notes->n_bytes ? (c.at + 3) / 4 * 4 : notes->n_bytes;
    if (name_bytes != sizeof NOTE_NAME || memcmp(name, NOTE_NAME, sizeof NOTE_NAME) != 0 ||
        type != notes->type || desc_bytes < NOTE_DESC_BYTES)
        return true;
    struct hs_cursor desc = hs_cursor_make(notes->bytes + desc_at, desc_bytes);
    uint32_t version = hs_cursor_u32(&desc);
    hs_cursor_seek(&desc, NOTE_OFFSET_AT);
    uint64_t distance = hs_cursor_u64(&desc);
    if (version == NOTE_VERSION)
        *ret_registry = notes->object->bias + notes->vaddr + desc_at + NOTE_OFFSET_AT + distance;
    return true;
}

bool hs_registered_next(struct hs_registered_notes *notes, hs_addr *ret_registry)
{
    hs_addr registry;

    if (notes->object->elf == NULL)
        return false;
    do {
        while (notes->at < notes->n_bytes && notes->n_looks++ < NOTES_MAX &&
               notes_next(notes, &registry))
            if (registry != 0) {
                *ret_registry = registry;
                return true;
            }
        notes->n_bytes = 0;
    } while (notes_next_section(notes) || notes_first_segment(notes));
    return false;
}
