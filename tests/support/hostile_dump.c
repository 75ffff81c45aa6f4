/* links: hs_native hs_heaps hs_ocaml hs_process hs_format hs_symbols hs_base */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "hostile_process.h"
#include "native/emit.h"
#include "native/facts.h"
#include "native/prepare.h"
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

static hs_status list_blocks(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_native_prepare_objects(native, err));
    HS_TRY(hs_heaps_open(&native->heaps, &native->scene, err));
    HS_TRY(hs_native_add_unclaimed(native, err));
    return hs_heaps_mark(&native->heaps, &native->scene, err);
}

static hs_status collect_roots(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_native_collect_globals(native, err));
    HS_TRY(hs_native_collect_tls(native, err));
    HS_TRY(hs_native_collect_stacks(native, err));
    HS_TRY(hs_native_collect_registered(native, err));
    return hs_native_collect_unclaimed(native, err);
}

static hs_status write_all(struct hs_native *native, struct hs_out *out, struct hs_error *err)
{
    struct hs_flow flow = {0};
    struct hs_scan scan = {0};
    struct hs_native_facts facts = {0};
    struct hs_native_samples samples = {0};
    struct hs_snap_totals totals;

    hs_status status = hs_native_flow(native, &flow, err);
    if (status == HS_OK)
        status = hs_scan_open(&scan, native, &flow, err);
    if (status == HS_OK)
        status = hs_native_collect_samples(native, &samples, err);
    if (status == HS_OK)
        status = hs_native_make_facts(native, &flow, &scan, &facts, err);
    native->facts.samplers = samples.samplers;
    native->facts.n_samplers = samples.n_samplers;
    if (status == HS_OK)
        status = hs_native_emit(native, &flow, &scan, &samples, out, &totals, err);
    if (status == HS_OK)
        status = hs_out_commit(out, err);
    hs_native_samples_fini(&samples);
    hs_native_facts_fini(&facts);
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    return status;
}

static void check_ledger(const struct hs_native *native)
{
    uint64_t n = 0;

    for (size_t i = 0; i < native->facts.n_memory; i++) {
        const struct hs_memory_row *row = &native->facts.memory[i];
        insist(row->resident_bytes <= row->n_bytes, "more resident memory than memory");
        n += row->resident_bytes;
    }
    insist(n == native->facts.resident_bytes, "resident memory does not add up");
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
    struct hs_native *native = &process->native;
    struct hs_out out = {0};

    HS_TRY(list_blocks(native, err));
    check_blocks(&native->heaps.map);
    HS_TRY(collect_roots(native, err));
    HS_TRY(hs_out_open_fd(fd, "memory", &out, err));
    hs_status status = write_all(native, &out, err);
    hs_out_close(&out);
    if (status != HS_OK)
        return status;
    check_ledger(native);
    check_file(fd);
    return HS_OK;
}
