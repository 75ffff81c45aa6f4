/* links: hs_base */
#include "core_writer.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITER_PAGE = 4096 };

void core_writer_init(struct core_writer *w)
{
    memset(w, 0, sizeof *w);
}

void core_writer_fini(struct core_writer *w)
{
    free(w->bytes);
    w->bytes = NULL;
}

void core_writer_note(struct core_writer *w, uint32_t type, const void *bytes, size_t n_bytes)
{
    const uint32_t head[3] = {5, (uint32_t)n_bytes, type};
    size_t padded = (n_bytes + 3) & ~(size_t)3;

    assert(sizeof w->notes - w->n_notes >= 20 + padded);
    uint8_t *at = w->notes + w->n_notes;
    memcpy(at, head, sizeof head);
    memcpy(at + 12, "CORE\0\0\0", 8);
    memcpy(at + 20, bytes, n_bytes);
    w->n_notes += 20 + padded;
}

void core_writer_thread(struct core_writer *w, int32_t tid, uint64_t rip, uint64_t rsp)
{
    uint8_t status[336] = {0};
    uint64_t registers[27] = {0};

    for (size_t i = 0; i < 27; i++)
        registers[i] = 1000 + i;
    registers[16] = rip;
    registers[19] = rsp;
    memcpy(status + 32, &tid, sizeof tid);
    memcpy(status + 112, registers, sizeof registers);
    core_writer_note(w, NT_PRSTATUS, status, sizeof status);
}

void core_writer_info(struct core_writer *w, int32_t pid, const char *name, const char *arguments)
{
    uint8_t info[136] = {0};

    memcpy(info + 24, &pid, sizeof pid);
    memcpy(info + 40, name, strnlen(name, 16));
    memcpy(info + 56, arguments, strnlen(arguments, 80));
    core_writer_note(w, NT_PRPSINFO, info, sizeof info);
}

void core_writer_auxv(struct core_writer *w, uint64_t key, uint64_t value)
{
    assert(w->n_auxv + 2 <= sizeof w->auxv / sizeof *w->auxv);
    w->auxv[w->n_auxv++] = key;
    w->auxv[w->n_auxv++] = value;
}

void core_writer_file(struct core_writer *w, uint64_t begin, uint64_t end, uint64_t pages,
                      const char *path)
{
    assert(w->n_files < CORE_WRITER_FILES && strlen(path) < sizeof w->files->path);
    struct core_writer_file *file = &w->files[w->n_files++];
    *file = (struct core_writer_file){.begin = begin, .end = end, .pages = pages};
    memcpy(file->path, path, strlen(path) + 1);
}

void core_writer_segment(struct core_writer *w, uint64_t begin, uint64_t end, uint32_t flags,
                         const void *bytes, uint64_t n_bytes)
{
    assert(w->n_segments < CORE_WRITER_SEGMENTS);
    w->segments[w->n_segments++] = (struct core_writer_segment){begin, end, flags, bytes, n_bytes};
}

static void writer_add_files(struct core_writer *w)
{
    uint8_t bytes[16 + CORE_WRITER_FILES * (24 + sizeof w->files->path)];
    const uint64_t head[2] = {w->n_files, WRITER_PAGE};
    size_t n = sizeof head;

    memcpy(bytes, head, sizeof head);
    for (size_t i = 0; i < w->n_files; i++, n += 24)
        memcpy(bytes + n, &w->files[i], 24);
    for (size_t i = 0; i < w->n_files; i++) {
        size_t n_path = strlen(w->files[i].path) + 1;
        memcpy(bytes + n, w->files[i].path, n_path);
        n += n_path;
    }
    core_writer_note(w, NT_FILE, bytes, n);
}

static size_t writer_pages(size_t n)
{
    return (n + WRITER_PAGE - 1) & ~(size_t)(WRITER_PAGE - 1);
}

static void writer_fill(struct core_writer *w)
{
    size_t n_headers = w->n_segments + 1, at = w->contents_at;
    Elf64_Phdr *headers = (Elf64_Phdr *)(void *)(w->bytes + sizeof(Elf64_Ehdr));

    *core_writer_header(w) = (Elf64_Ehdr){
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_CORE,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(Elf64_Ehdr),
        .e_ehsize = sizeof(Elf64_Ehdr),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = w->counts_in_section ? PN_XNUM : (uint16_t)n_headers,
    };
    headers[0] = (Elf64_Phdr){
        .p_type = PT_NOTE, .p_offset = w->notes_at, .p_filesz = w->n_notes, .p_align = 4};
    memcpy(w->bytes + w->notes_at, w->notes, w->n_notes);
    for (size_t i = 0; i < w->n_segments; i++) {
        const struct core_writer_segment *s = &w->segments[i];
        headers[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                      .p_flags = s->flags,
                                      .p_offset = at,
                                      .p_vaddr = s->begin,
                                      .p_filesz = s->n_bytes,
                                      .p_memsz = s->end - s->begin,
                                      .p_align = WRITER_PAGE};
        if (s->n_bytes != 0)
            memcpy(w->bytes + at, s->bytes, s->n_bytes);
        at += writer_pages(s->n_bytes);
    }
    if (w->counts_in_section) {
        core_writer_header(w)->e_shoff = at;
        core_writer_header(w)->e_shentsize = sizeof(Elf64_Shdr);
        core_writer_header(w)->e_shnum = 1;
        ((Elf64_Shdr *)(void *)(w->bytes + at))->sh_info = (uint32_t)n_headers;
    }
}

void core_writer_finish(struct core_writer *w)
{
    core_writer_note(w, NT_AUXV, w->auxv, w->n_auxv * sizeof *w->auxv);
    if (w->n_files != 0)
        writer_add_files(w);
    w->notes_at = sizeof(Elf64_Ehdr) + (w->n_segments + 1) * sizeof(Elf64_Phdr);
    w->contents_at = writer_pages(w->notes_at + w->n_notes);
    w->n_bytes = w->contents_at;
    for (size_t i = 0; i < w->n_segments; i++)
        w->n_bytes += writer_pages(w->segments[i].n_bytes);
    if (w->counts_in_section)
        w->n_bytes += sizeof(Elf64_Shdr);
    w->bytes = calloc(1, w->n_bytes);
    assert(w->bytes != NULL);
    writer_fill(w);
}

Elf64_Ehdr *core_writer_header(struct core_writer *w)
{
    return (Elf64_Ehdr *)(void *)w->bytes;
}

Elf64_Phdr *core_writer_program_header(struct core_writer *w, size_t number)
{
    return (Elf64_Phdr *)(void *)(w->bytes + sizeof(Elf64_Ehdr)) + number;
}

/* ---- files ---- */

static char directory[64];
static unsigned n_saved;

const char *core_writer_directory(void)
{
    if (directory[0] == '\0') {
        snprintf(directory, sizeof directory, "core_writer.XXXXXX");
        assert(mkdtemp(directory) != NULL);
    }
    return directory;
}

const char *core_writer_save(const void *bytes, size_t n_bytes)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/core.%u", core_writer_directory(), n_saved++);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0);
    assert(write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
    close(fd);
    return path;
}

static int writer_remove(const char *path, const struct stat *about, int type, struct FTW *at)
{
    (void)about;
    (void)type;
    (void)at;
    return remove(path);
}

void core_writer_clean(void)
{
    if (directory[0] == '\0')
        return;
    assert(nftw(directory, writer_remove, 8, FTW_DEPTH | FTW_PHYS) == 0);
    directory[0] = '\0';
}

/* ---- the sample ---- */

static uint8_t data_page[WRITER_PAGE], heap_pages[4 * WRITER_PAGE], stack_pages[2 * WRITER_PAGE],
    vdso_page[WRITER_PAGE];

/* What the kernel puts at the end of a stack: see core/command.c. */
static void sample_stack(void)
{
    static const char strings[] = "made\0--with\0some\narguments\0HOME=nowhere\0made";
    const uint64_t end = CORE_SAMPLE_STACK + sizeof stack_pages, text = end - sizeof strings;
    const uint64_t words[] = {3,
                              text,
                              text + 5,
                              text + 12,
                              0,
                              text + 27,
                              0,
                              AT_PAGESZ,
                              WRITER_PAGE,
                              AT_PHDR,
                              CORE_SAMPLE_PROGRAM + 64,
                              AT_NULL,
                              0};

    memset(stack_pages, 0, sizeof stack_pages);
    memcpy(stack_pages + sizeof stack_pages - sizeof strings, strings, sizeof strings);
    memcpy(stack_pages + sizeof stack_pages - 512, words, sizeof words);
    stack_pages[0] = 1;
}

void core_writer_sample(struct core_writer *w, const char *path, const uint8_t *header)
{
    const uint64_t p = CORE_SAMPLE_PROGRAM;

    sample_stack();
    memset(data_page, 'd', sizeof data_page);
    memset(vdso_page, 'v', sizeof vdso_page);
    memset(heap_pages, 0, sizeof heap_pages);
    memset(heap_pages, 'h', WRITER_PAGE);
    heap_pages[3 * WRITER_PAGE - 1] = 1;
    core_writer_init(w);
    core_writer_thread(w, 42, p + 0x1010, CORE_SAMPLE_STACK + 16);
    core_writer_info(w, 40, "made", "made --with ");
    core_writer_thread(w, 40, p + 0x1000, CORE_SAMPLE_STACK + 64);
    core_writer_auxv(w, AT_PHDR, p + 64);
    core_writer_auxv(w, AT_SYSINFO_EHDR, CORE_SAMPLE_VVAR + 2 * WRITER_PAGE);
    core_writer_auxv(w, AT_RANDOM, CORE_SAMPLE_STACK + 2 * WRITER_PAGE - 600);
    core_writer_file(w, p, p + 0x1000, 0, path);
    core_writer_file(w, p + 0x1000, p + 0x2000, 1, path);
    core_writer_file(w, p + 0x2000, p + 0x3000, 2, path);
    core_writer_segment(w, p, p + 0x1000, PF_R, header, header != NULL ? WRITER_PAGE : 0);
    core_writer_segment(w, p + 0x1000, p + 0x2000, PF_R | PF_X, NULL, 0);
    core_writer_segment(w, p + 0x2000, p + 0x3000, PF_R | PF_W, data_page, WRITER_PAGE);
    core_writer_segment(w, CORE_SAMPLE_HEAP, CORE_SAMPLE_HEAP + sizeof heap_pages, PF_R | PF_W,
                        heap_pages, sizeof heap_pages);
    core_writer_segment(w, CORE_SAMPLE_UNTOUCHED, CORE_SAMPLE_UNTOUCHED + 2 * WRITER_PAGE,
                        PF_R | PF_W, NULL, 0);
    core_writer_segment(w, CORE_SAMPLE_GUARD, CORE_SAMPLE_GUARD + WRITER_PAGE, 0, NULL, 0);
    core_writer_segment(w, CORE_SAMPLE_VVAR, CORE_SAMPLE_VVAR + 2 * WRITER_PAGE, PF_R, NULL, 0);
    core_writer_segment(w, CORE_SAMPLE_VVAR + 2 * WRITER_PAGE, CORE_SAMPLE_VVAR + 3 * WRITER_PAGE,
                        PF_R | PF_X, vdso_page, WRITER_PAGE);
    core_writer_segment(w, CORE_SAMPLE_STACK, CORE_SAMPLE_STACK + sizeof stack_pages, PF_R | PF_W,
                        stack_pages, sizeof stack_pages);
}
