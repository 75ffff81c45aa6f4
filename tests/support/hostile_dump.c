/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dump/parts.h"
#include "hostile_process.h"
#include "snapshot/reader.h"

static void insist(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "hostile_process: %s\n", what);
    abort();
}

/* Every block lies in its span and resolves to itself, in order. */
static void check_blocks(const struct hs_heap_map *map)
{
    struct hs_heap_iterator it = {.map = map};
    struct hs_heap_block block, found;
    hs_addr end = 0;
    uint64_t n = 0;

    for (; hs_heap_map_next(&it, &block); n++) {
        insist(block.begin >= end && block.n_bytes != 0, "blocks overlap");
        end = block.begin + block.n_bytes;
        insist(end > block.begin && block.begin >= block.span->begin && end <= block.span->end,
               "a block leaves its span");
        insist(hs_heap_map_resolve(map, block.begin, &found) == HS_POINTER_START &&
                   found.rank == block.rank && found.n_bytes == block.n_bytes,
               "a block does not resolve to itself");
        if (block.bytes != NULL)
            insist(block.bytes == hs_image_bytes(map->image, block.begin, block.n_bytes),
                   "a block has another's bytes");
    }
    insist(n == map->n_blocks, "blocks are miscounted");
}

static hs_status list_blocks(struct hs_dump *dump, struct hs_error *err)
{
    const struct hs_serving *native = &dump->serving[0];

    HS_TRY(native->runtime->list(native->state, err));
    HS_TRY(hs_heaps_open(&dump->heaps, &dump->process, err));
    HS_TRY(native->runtime->claim(native->state, err));
    return hs_heaps_mark(&dump->heaps, &dump->process, err);
}

static hs_status write_all(struct hs_dump *dump, struct hs_leaves *leaves,
                           struct hs_dump_facts *facts, struct hs_out *out, struct hs_error *err)
{
    const struct hs_serving *native = &dump->serving[0];
    struct hs_snap_totals totals;

    HS_TRY(native->runtime->roots(native->state, err));
    HS_TRY(hs_leaves_gather(dump, leaves, err));
    HS_TRY(native->runtime->mark_end(native->state, err));
    HS_TRY(hs_dump_facts_gather(dump, facts, err));
    HS_TRY(hs_dump_write(dump, leaves, facts, out, &totals, err));
    return hs_out_commit(out, err);
}

static void check_ledger(const struct hs_snap_facts *facts)
{
    uint64_t n = 0;

    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        insist(row->resident_bytes <= row->n_bytes, "more resident memory than memory");
        n += row->resident_bytes;
    }
    insist(n == facts->resident_bytes, "resident memory does not add up");
}

static void check_file(int fd)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    off_t n = lseek(fd, 0, SEEK_END);
    void *bytes = malloc((size_t)n + 1);

    insist(n > 0 && bytes != NULL && pread(fd, bytes, (size_t)n, 0) == n, "nothing was written");
    if (hs_snap_open_bytes(bytes, (size_t)n, 0, &snap, &err) != HS_OK ||
        hs_snap_check(snap, NULL, &err) != HS_OK)
        insist(false, err.message);
    hs_snap_close(snap);
    free(bytes);
}

hs_status hostile_process_dump(struct hostile_process *process, int fd, struct hs_error *err)
{
    struct hs_dump *dump = &process->dump;
    struct hs_dump_facts facts = {0};
    struct hs_leaves leaves = {0};
    struct hs_out out = {0};

    HS_TRY(list_blocks(dump, err));
    check_blocks(&dump->heaps.map);
    HS_TRY(hs_out_open_fd(fd, "memory", &out, err));
    hs_status status = write_all(dump, &leaves, &facts, &out, err);
    hs_out_close(&out);
    if (status == HS_OK) {
        check_ledger(&facts.facts);
        check_file(fd);
    }
    hs_dump_facts_fini(&facts);
    hs_leaves_fini(&leaves);
    return status;
}
