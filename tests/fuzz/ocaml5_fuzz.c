/* links: hs_ocaml hs_runtimes hs_process hs_format hs_target hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* A valid OCaml 5 process in a core and any damage to its memory and registers: domains, pools,
 * large blocks, stacks, threads, roots of every kind, marks, and the snapshot that comes of them.
 * The first byte chooses the version (two bits), how its first thread stands (the next two), and
 * whether the runtime is a library. Then comes the damage (word_damage.h). */
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_ocaml5.h"
#include "word_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* The core is opened once. */
static struct fake_ocaml5 *process(void)
{
    static struct fake_ocaml5 *fake;
    if (fake == NULL)
        fake = fake_ocaml5_new();
    return fake;
}

/* What is read most has areas of its own. */
static void list_areas(struct fake_ocaml5 *fake, struct damage_areas *areas)
{
    static const struct {
        hs_addr at;
        size_t n_words;
    } parts[] = {
        {FAKE5_STATE(0), 66},
        {FAKE5_STATE(1), 66},
        {FAKE5_HEAP(0), 140},
        {FAKE5_HEAP(1), 140},
        {FAKE5_MALLOC, 700},
        {FAKE5_THREAD(0) + 0x3c0, 300},
        {FAKE5_THREAD(1) + 0x20, 300},
        {FAKE5_THREAD(3) + 0x3c0, 300},
        {FAKE5_C_STACK, 256},
        {FAKE5_POOL(0), 64},
        {FAKE5_POOL(1), 64},
        {FAKE5_POOL(2), 64},
        {FAKE5_POOL(3), 64},
        {FAKE5_LARGE, 8},
        {FAKE5_STACK_END(0) - 16 * HS_WORD, 20},
        {FAKE5_STACK_END(2) - 16 * HS_WORD, 20},
        {FAKE5_STACK(0), 6 * 512},
        {FAKE5_YOUNG(1) - 16 * HS_WORD, 16},
        {FAKE5_YOUNG(2) - 16 * HS_WORD, 16},
        {FAKE5_DATA, 160},
        {FAKE5_ENDED, 80},
        {FAKE5_DATA, 600},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        damage_add(areas, parts[i].at, fake5_word(fake, parts[i].at), parts[i].n_words);
    for (size_t i = 0; i < 2; i++)
        damage_add(areas, FAKE5_C_STACK, (uint64_t *)(void *)&fake->target.threads[3 * i].regs,
                   sizeof fake->target.threads->regs / HS_WORD);
}

static hs_status walk(struct fake_ocaml5 *fake, int fd, struct hs_error *err)
{
    struct hs_out out = {0};
    HS_TRY(hs_out_open_fd(fd, "memory", &out, err));
    hs_status status = fake_ocaml5_walk(fake, &out, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

static void check(const struct fake_ocaml5 *fake)
{
    const struct hs_ocaml5 *five = fake->rt.five;
    assert(five->n_domains > 0 && fake->rt.findings.n_proofs >= 2);
    damage_check_spans(&fake->rt.chunks);
    damage_check_ranges(&fake->rt.statics);
    damage_check_ranges(&fake->rt.code);
    damage_check_blocks(&fake->map);
    for (size_t i = 0; i < five->n_domains; i++) {
        const struct hs_ocaml5_domain *domain = &five->domains[i];
        assert(i == 0 || five->domains[i - 1].id <= domain->id);
        assert(domain->young_start <= domain->young_ptr && domain->young_ptr <= domain->young_end);
    }
    for (size_t i = 1; i < five->n_fibers; i++)
        assert(five->fibers[i - 1].block <= five->fibers[i].block);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct damage_areas areas = {0};
    struct fake_ocaml5 *fake = process();

    if (n_bytes == 0)
        return 0;
    fake_ocaml5_process(fake, 1 + bytes[0] % 4, (bytes[0] >> 2) % FAKE5_STANDS);
    fake->objects.objects[0].is_executable = (bytes[0] & 0x10) == 0;
    list_areas(fake, &areas);
    damage_apply(&areas, bytes + 1, n_bytes - 1);
    fake_ocaml5_seal(fake);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    hs_status status = walk(fake, fd, &err);
    assert(status == HS_OK || status == HS_LIMIT || status == HS_TARGET);
    if (status == HS_OK) {
        check(fake);
        damage_check_snapshot(fd);
        assert(n_bytes > 6 || fake5_proofs_hold(fake)); /* undamaged */
    }
    assert(n_bytes > 6 || status == HS_OK);
    close(fd);
    return 0;
}
