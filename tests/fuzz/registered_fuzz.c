/* links: hs_heaps hs_runtimes hs_process hs_symbols hs_base */
/* Any bytes as an ELF file that may have notes of registered memory, and as the memory that these
 * lead to. The input is cut in two: u16 of how many bytes are the file, the file, the memory. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "heaps/registered/parts.h"
#include "symbols/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_REGISTRIES = 64 };
#define BIAS UINT64_C(0x550000000000)
#define MEMORY_AT (BIAS + 0x10000)
#define MAPPED_BYTES (UINT64_C(1) << 24)

static void check_pools(const struct hs_registered *r)
{
    uint64_t n_blocks = 0;
    for (size_t i = 0; i < r->n_pools; i++) {
        const struct hs_registered_pool *p = &r->pools[i];
        assert(p->begin < p->end && p->block_bytes <= p->end - p->begin);
        n_blocks += p->block_bytes != 0 ? (p->end - p->begin) / p->block_bytes : 1;
    }
    assert(n_blocks <= HS_REGISTERED_MOST_BLOCKS && r->n_blocks <= HS_REGISTERED_MOST_BLOCKS);
    assert(r->n_records <= HS_REGISTERED_MOST_RECORDS);
    assert(memchr(r->first_left_out, '\0', sizeof r->first_left_out) != NULL);
}

static void fuzz_notes(const struct hs_process_copy *process, const struct hs_object *object)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_registered registered = {.process = process};
    struct hs_registered_notes notes = {.object = object, .type = HS_REGISTERED_NOTE};
    hs_addr registry;
    for (unsigned i = 0; i < MAX_REGISTRIES && hs_registered_next(&notes, &registry); i++) {
        assert(notes.at <= notes.n_bytes);
        hs_status status = hs_registered_read(&registered, object, registry, &err);
        assert(status == HS_OK || status == HS_LIMIT);
        check_pools(&registered);
    }
    hs_free(registered.roots);
    hs_free(registered.pools);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (n_bytes < 2)
        return 0;
    size_t n_file = bytes[0] | (size_t)bytes[1] << 8;
    n_file = n_file < n_bytes - 2 ? n_file : n_bytes - 2;
    if (hs_elf_open_memory(bytes + 2, n_file, "fuzz", &elf, &err) != HS_OK)
        return 0;
    size_t n_memory = (n_bytes - 2 - n_file) / 8 * 8;
    uint8_t *memory = malloc(n_memory + 1);
    if (memory == NULL)
        abort();
    memcpy(memory, bytes + 2 + n_file, n_memory);
    struct hs_mapping mapping = {
        .begin = BIAS, .end = BIAS + MAPPED_BYTES, .readable = true, .writable = true};
    struct hs_target target = {.mappings = &mapping, .n_mappings = 1};
    struct hs_object object = {.elf = elf,
                               .name = (char *)"fuzz",
                               .path = (char *)"fuzz",
                               .bias = BIAS,
                               .begin = BIAS,
                               .end = BIAS + MAPPED_BYTES,
                               .is_executable = true};
    struct hs_objects objects = {.objects = &object, .n = 1, .capacity = 1};
    struct hs_image image = {0};
    struct hs_strtab strings = {0};
    struct hs_findings findings = {.strings = &strings};
    struct hs_process_copy process = {&target, &image, &objects, &findings, NULL, NULL};
    if (n_memory != 0 && hs_image_add(&image, MEMORY_AT, memory, n_memory, &err) != HS_OK)
        abort();
    fuzz_notes(&process, &object);
    hs_findings_fini(&findings);
    hs_image_fini(&image);
    hs_strtab_fini(&strings);
    hs_elf_close(elf);
    free(memory);
    return 0;
}
