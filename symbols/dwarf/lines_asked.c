#include "symbols/lines.h"

#include <string.h>

#include "box/box_private.h"

struct hs_lines {
    struct box_file file;
    uint64_t n_damaged;
};

bool hs_dwarf_present(const struct hs_elf *elf)
{
    struct hs_elf_section section;
    return hs_elf_section_named(elf, ".debug_info", &section) && section.is_in_file &&
           section.n_bytes != 0;
}

hs_status hs_lines_open(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                        struct hs_lines **ret, struct hs_error *err)
{
    hs_auto(hs_lines) *lines = NULL;
    struct box_answer ignored;
    if (!hs_dwarf_present(elf))
        return hs_fail(err, HS_FORMAT, "'%s' has no section '.debug_info'",
                       name != NULL ? name : hs_elf_name(elf));
    HS_TRY(HS_ALLOC(&lines, 1, err));
    HS_TRY(hs_box_file_open_(box, elf, name, BOX_OPEN_LINES, &lines->file, &ignored, err));
    *ret = HS_STEAL(lines);
    return HS_OK;
}

void hs_lines_close(struct hs_lines *lines)
{
    if (lines == NULL)
        return;
    hs_box_file_close_(&lines->file);
    hs_free(lines);
}

uint64_t hs_lines_n_damaged(const struct hs_lines *lines)
{
    return lines->n_damaged;
}

/* Texts of just these sizes, each with its NUL at the end and nowhere before. */
static bool source_is_sound(const struct box_answer *answer, struct box_source *head,
                            struct hs_source *ret)
{
    if (answer->n_bytes < sizeof(*head))
        return false;
    memcpy(head, answer->bytes, sizeof(*head));
    uint64_t n_texts = (uint64_t)head->n_file_bytes + head->n_name_bytes;
    const char *texts = (const char *)answer->bytes + sizeof(*head);
    if (head->n_file_bytes == 0 || head->n_name_bytes == 0 ||
        n_texts != answer->n_bytes - sizeof(*head) ||
        strnlen(texts, head->n_file_bytes) != head->n_file_bytes - 1 ||
        strnlen(texts + head->n_file_bytes, head->n_name_bytes) != head->n_name_bytes - 1)
        return false;
    *ret = (struct hs_source){texts, texts + head->n_file_bytes, head->line, head->bytes_before};
    return true;
}

static struct hs_source lines_find(struct hs_lines *lines, uint32_t kind, hs_addr vaddr)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_source source = {"", "", 0, 0};
    struct box_answer answer;
    struct box_source head;
    if (hs_box_ask_(&lines->file, kind, vaddr, &answer, &ignored) != HS_OK)
        return source;
    if (!source_is_sound(&answer, &head, &source)) {
        (void)hs_box_refuse_(&lines->file, &ignored);
        return source;
    }
    lines->n_damaged = head.n_damaged;
    return source;
}

struct hs_source hs_lines_find_code(struct hs_lines *lines, hs_addr vaddr)
{
    return lines_find(lines, BOX_CODE, vaddr);
}

struct hs_source hs_lines_find_variable(struct hs_lines *lines, hs_addr vaddr)
{
    return lines_find(lines, BOX_VARIABLE, vaddr);
}
