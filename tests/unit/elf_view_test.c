/* links: hs_symbols hs_base */
#include "unit.h"

#include <elf.h>
#include <unistd.h>
#include <zlib.h>

#include "fail_each.h"
#include "symbols/elf/elf_view.h"

enum { CONTENT_BYTES = 300000, CONTENT_AT = 4096 };

struct file {
    char path[32];
    struct hs_elf *elf;
};

static uint8_t content[CONTENT_BYTES];

/* A file with one section, ".debug_info", of n_bytes from `bytes`. */
static void file_open_with(struct file *f, const void *bytes, size_t n_bytes, uint64_t flags)
{
    static const char section_names[] = "\0.debug_info\0.shstrtab";
    struct hs_error err = HS_ERROR_INIT;
    Elf64_Ehdr head = {.e_type = ET_DYN,
                       .e_machine = EM_X86_64,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof(head),
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shoff = 512,
                       .e_shnum = 3,
                       .e_shstrndx = 2};
    memcpy(head.e_ident, ELFMAG "\2\1\1", 7);
    const Elf64_Shdr sections[3] = {
        {.sh_type = SHT_NULL},
        {.sh_name = 1,
         .sh_type = SHT_PROGBITS,
         .sh_flags = flags,
         .sh_offset = CONTENT_AT,
         .sh_size = n_bytes},
        {.sh_name = 13, .sh_type = SHT_STRTAB, .sh_offset = 256, .sh_size = sizeof(section_names)},
    };
    memcpy(f->path, "/tmp/hs-view-XXXXXX", sizeof("/tmp/hs-view-XXXXXX"));
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    assert_int_equal(pwrite(fd, section_names, sizeof(section_names), 256), sizeof(section_names));
    assert_int_equal(pwrite(fd, sections, sizeof(sections), 512), sizeof(sections));
    assert_int_equal(pwrite(fd, bytes, n_bytes, CONTENT_AT), n_bytes);
    close(fd);
    assert_int_equal(hs_elf_open_path(f->path, &f->elf, &err), HS_OK);
}

/* The first bytes of what is in `content`. */
static void file_open(struct file *f, size_t n_bytes)
{
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        content[i] = (uint8_t)(i % 251 + 1);
    file_open_with(f, content, n_bytes, 0);
}

static uint8_t packed[sizeof(Elf64_Chdr) + CONTENT_BYTES + 4096];
static bool is_zstd; /* packs so; else as zlib */

/* A frame of zstd (RFC 8878): one segment, blocks that are not compressed. */
static size_t pack_zstd(uint8_t *frame)
{
    const uint32_t magic = 0xfd2fb528, n_content = CONTENT_BYTES;
    size_t n = 9;
    memcpy(frame, &magic, 4);
    frame[4] = 0xa0;
    memcpy(frame + 5, &n_content, 4);
    for (size_t at = 0, n_block; at < CONTENT_BYTES; at += n_block) {
        n_block = CONTENT_BYTES - at < 65536 ? CONTENT_BYTES - at : 65536;
        uint32_t head = (uint32_t)n_block << 3 | (at + n_block == CONTENT_BYTES);
        memcpy(frame + n, &head, 3);
        memcpy(frame + n + 3, content + at, n_block);
        n += 3 + n_block;
    }
    return n;
}

/* All of it, compressed; how many bytes that takes. */
static size_t pack_content(uint64_t n_claimed_bytes)
{
    const Elf64_Chdr head = {
        .ch_type = is_zstd ? 2 : ELFCOMPRESS_ZLIB, .ch_size = n_claimed_bytes, .ch_addralign = 1};
    uLongf n_bytes = CONTENT_BYTES;
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        content[i] = (uint8_t)(i % 251 + 1);
    memcpy(packed, &head, sizeof(head));
    if (is_zstd)
        return sizeof(head) + pack_zstd(packed + sizeof(head));
    assert_int_equal(compress(packed + sizeof(head), &n_bytes, content, CONTENT_BYTES), Z_OK);
    return sizeof(head) + n_bytes;
}

static void file_close(struct file *f)
{
    hs_elf_close(f->elf);
    unlink(f->path);
}

static void brings_in_what_is_needed(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_view_total total = {0};
    struct elf_view view;
    struct file f;
    uint8_t some[8];
    file_open(&f, CONTENT_BYTES);
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_int_equal(view.n_bytes, CONTENT_BYTES);
    assert_int_equal(view.bytes[5000], 0);
    hs_elf_view_need_(&view, 5000, 1);
    assert_memory_equal(view.bytes + 4096, content + 4096, 4096);
    assert_int_equal(view.bytes[4095], 0);
    assert_int_equal(view.bytes[8192], 0);
    hs_elf_view_need_(&view, 0, 20000); /* around what is there already */
    assert_memory_equal(view.bytes, content, 20000);
    hs_elf_view_need_(&view, CONTENT_BYTES - 1, UINT64_MAX);
    assert_int_equal(view.bytes[CONTENT_BYTES - 1], content[CONTENT_BYTES - 1]);
    hs_elf_view_need_(&view, UINT64_MAX, UINT64_MAX);
    assert_int_equal(total.n_resident, 6 * 4096);
    assert_int_equal(hs_elf_view_peek_(&view, 100000, some, 8), 8);
    assert_memory_equal(some, content + 100000, 8);
    assert_int_equal(hs_elf_view_peek_(&view, CONTENT_BYTES - 3, some, 8), 3);
    assert_int_equal(hs_elf_view_peek_(&view, CONTENT_BYTES, some, 8), 0);
    assert_int_equal(total.n_resident, 6 * 4096);
    hs_elf_view_drop_(&view);
    assert_int_equal(total.n_resident, 0);
    assert_int_equal(view.bytes[5000], 0);
    hs_elf_view_need_(&view, 0, UINT64_MAX);
    assert_memory_equal(view.bytes, content, CONTENT_BYTES);
    hs_elf_view_close_(&view);
    assert_int_equal(total.n_resident, 0);
    assert_int_equal(total.n_failed, 0);
    file_close(&f);
}

static void survives_a_file_that_is_cut(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_view_total total = {0};
    struct elf_view view;
    struct file f;
    uint8_t some[8];
    file_open(&f, CONTENT_BYTES);
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_int_equal(truncate(f.path, CONTENT_AT + 100004), 0);
    hs_elf_view_need_(&view, 0, UINT64_MAX);
    assert_memory_equal(view.bytes, content, 100004);
    assert_int_equal(view.bytes[100004], 0);
    assert_int_equal(view.bytes[CONTENT_BYTES - 1], 0);
    assert_int_equal(total.n_failed, 1);
    hs_elf_view_need_(&view, 0, UINT64_MAX); /* not tried again */
    assert_int_equal(total.n_failed, 1);
    assert_int_equal(hs_elf_view_peek_(&view, 100000, some, 8), 4);
    hs_elf_view_close_(&view);
    file_close(&f);
}

static void has_small_sections_whole(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_view_total total = {0};
    struct elf_view view;
    struct file f;
    uint8_t some[8];
    file_open(&f, 1000);
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_int_equal(view.n_bytes, 1000);
    assert_memory_equal(view.bytes, content, 1000);
    hs_elf_view_need_(&view, 0, 1000);
    hs_elf_view_drop_(&view);
    assert_memory_equal(view.bytes, content, 1000);
    assert_int_equal(hs_elf_view_peek_(&view, 996, some, 8), 4);
    assert_int_equal(total.n_resident, 0);
    hs_elf_view_close_(&view);
    assert_int_equal(hs_elf_view_open_(f.elf, ".none", &total, &view, &err), HS_FORMAT);
    file_close(&f);
}

/* A section that comes in pieces, one that is held whole, and none; nothing is read for that. */
static void tells_what_a_section_takes(void **state)
{
    uint64_t whole, pieces;
    struct file f;
    file_open(&f, CONTENT_BYTES);
    uint64_t kept = hs_elf_kept_bytes(f.elf);
    hs_elf_view_foresee_(f.elf, ".debug_info", &whole, &pieces);
    assert_int_equal(whole, 0);
    assert_int_equal(pieces, CONTENT_BYTES);
    hs_elf_view_foresee_(f.elf, ".none", &whole, &pieces);
    assert_int_equal(whole, 0);
    assert_int_equal(pieces, 0);
    assert_int_equal(hs_elf_kept_bytes(f.elf), kept);
    file_close(&f);
    file_open(&f, 1000);
    hs_elf_view_foresee_(f.elf, ".debug_info", &whole, &pieces);
    assert_int_equal(whole, 1000);
    assert_int_equal(pieces, 0);
    file_close(&f);
}

/* Into a temporary file, and from there in pieces. */
static void unpacks_where_it_is_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;
    struct elf_view_total total = {.unpack = &budget};
    struct elf_view view;
    struct file f;
    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    file_open_with(&f, packed, pack_content(CONTENT_BYTES), SHF_COMPRESSED);
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_int_equal(view.n_bytes, CONTENT_BYTES);
    assert_int_equal(total.n_resident, 0);
    hs_elf_view_need_(&view, 100000, 1);
    assert_int_equal(total.n_resident, 4096);
    assert_int_equal(view.bytes[100000], content[100000]);
    hs_elf_view_drop_(&view);
    hs_elf_view_need_(&view, 0, UINT64_MAX);
    assert_memory_equal(view.bytes, content, CONTENT_BYTES);
    assert_false(total.has_lost);
    hs_elf_view_drop_(&view);
    assert_int_equal(ftruncate(view.fd, 1000), 0); /* as a disk that fails */
    hs_elf_view_need_(&view, 0, 1);
    assert_true(total.has_lost);
    hs_elf_view_close_(&view);
    assert_int_equal(total.n_failed, 1);
    total = (struct elf_view_total){.unpack = NULL}; /* the same, whole */
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_memory_equal(view.bytes, content, CONTENT_BYTES);
    assert_int_equal(total.n_resident, 0);
    hs_elf_view_close_(&view);
    file_close(&f);
}

/* Cut short, claiming more or far more than it is, of another kind, with damage; no directory. */
static void refuses_to_unpack_what_is_damaged(void **state)
{
    static const struct {
        uint64_t n_claimed_bytes;
        size_t at, n_cut;
        uint8_t damage;
        hs_status expected;
    } rows[] = {{CONTENT_BYTES, 0, 100, 0, HS_FORMAT},
                {CONTENT_BYTES + 1, 0, 0, 0, HS_FORMAT},
                {UINT64_MAX, 0, 0, 0, HS_FORMAT},
                {UINT64_C(1) << 40, 0, 0, 0, HS_FORMAT},
                {CONTENT_BYTES, 0, 0, 2, HS_FORMAT},
                {CONTENT_BYTES, sizeof(Elf64_Chdr), 0, 0xff, HS_FORMAT}};
    struct hs_budget budget;
    struct elf_view view;
    struct file f;
    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct elf_view_total total = {.unpack = &budget};
        size_t n = pack_content(rows[i].n_claimed_bytes);
        packed[rows[i].at] ^= rows[i].damage;
        file_open_with(&f, packed, n - rows[i].n_cut, SHF_COMPRESSED);
        assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err),
                         rows[i].expected);
        file_close(&f);
    }
    uint64_t whole, pieces;
    file_open_with(&f, packed, pack_content(UINT64_C(1) << 40), SHF_COMPRESSED);
    hs_elf_view_foresee_(f.elf, ".debug_info", &whole, &pieces);
    assert_int_equal(whole + pieces, 0); /* a lie is no plan */
    file_close(&f);
    file_open_with(&f, packed, pack_content(CONTENT_BYTES), SHF_COMPRESSED);
    hs_elf_view_foresee_(f.elf, ".debug_info", &whole, &pieces);
    assert_int_equal(whole, CONTENT_BYTES);
    assert_int_equal(pieces, 0);
    file_close(&f);
    struct hs_error err = HS_ERROR_INIT;
    struct elf_view_total total = {.unpack = &budget};
    budget.spill_dir = "/nowhere";
    file_open_with(&f, packed, pack_content(CONTENT_BYTES), SHF_COMPRESSED);
    assert_int_equal(hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err), HS_IO);
    file_close(&f);
}

/* A small section, there whole, then one in pieces, then one that is not there. */
static void joins_two_views(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_view_total total = {0};
    struct elf_view view, more, none = {.bytes = NULL};
    struct file small, large;
    uint8_t some[8];
    file_open(&small, 1000);
    file_open(&large, CONTENT_BYTES);
    assert_int_equal(hs_elf_view_open_(small.elf, ".debug_info", &total, &view, &err), HS_OK);
    assert_int_equal(hs_elf_view_open_(large.elf, ".debug_info", &total, &more, &err), HS_OK);
    assert_int_equal(hs_elf_view_join_(&view, &more, &err), HS_OK);
    assert_int_equal(view.n_bytes, 1000 + CONTENT_BYTES);
    assert_int_equal(hs_elf_view_join_(&view, &none, &err), HS_OK);
    hs_elf_view_need_(&view, 990, 20);
    assert_memory_equal(view.bytes, content, 1000);
    assert_memory_equal(view.bytes + 1000, content, 3096);
    assert_int_equal(total.n_resident, 4096);
    assert_int_equal(hs_elf_view_peek_(&view, 996, some, 8), 8);
    assert_memory_equal(some, content + 996, 4);
    assert_memory_equal(some + 4, content, 4);
    assert_int_equal(hs_elf_view_peek_(&view, 999 + CONTENT_BYTES, some, 8), 1);
    hs_elf_view_drop_(&view);
    hs_elf_view_need_(&view, 0, UINT64_MAX);
    assert_memory_equal(view.bytes + 1000, content, CONTENT_BYTES);
    assert_int_equal(hs_elf_view_join_(&none, &view, &err), HS_OK); /* is the other one then */
    assert_int_equal(none.n_bytes, 1000 + CONTENT_BYTES);
    hs_elf_view_close_(&view);
    hs_elf_view_close_(&none);
    assert_int_equal(total.n_resident, 0);
    assert_int_equal(total.n_failed, 0);
    FAIL_EACH (each, .at_least = 3) {
        assert_int_equal(hs_elf_view_open_(small.elf, ".debug_info", &total, &view, &err), HS_OK);
        assert_int_equal(hs_elf_view_open_range_(large.elf, CONTENT_AT, 5000, &total, &more, &err),
                         HS_OK);
        (void)FAIL_EACH_TRY(each, hs_elf_view_join_(&view, &more, &err));
        hs_elf_view_close_(&more);
        hs_elf_view_close_(&view);
    }
    file_close(&small);
    file_close(&large);
}

static void reports_running_out_of_memory(void **state)
{
    struct elf_view_total total = {0};
    struct elf_view view;
    struct file f;
    file_open(&f, CONTENT_BYTES);
    FAIL_EACH (each, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        if (FAIL_EACH_TRY(each, hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err)) ==
            HS_OK)
            hs_elf_view_close_(&view);
    }
    file_close(&f);
    struct hs_budget budget;
    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    total.unpack = &budget;
    file_open_with(&f, packed, pack_content(CONTENT_BYTES), SHF_COMPRESSED);
    FAIL_EACH (each, .at_least = 3) {
        struct hs_error err = HS_ERROR_INIT;
        if (FAIL_EACH_TRY(each, hs_elf_view_open_(f.elf, ".debug_info", &total, &view, &err)) ==
            HS_OK)
            hs_elf_view_close_(&view);
    }
    file_close(&f);
}

static int with_zstd(void **state)
{
    is_zstd = true;
    return 0;
}

static int with_zlib(void **state)
{
    is_zstd = false;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_in_what_is_needed),
        cmocka_unit_test(survives_a_file_that_is_cut),
        cmocka_unit_test(has_small_sections_whole),
        cmocka_unit_test(tells_what_a_section_takes),
        cmocka_unit_test(unpacks_where_it_is_told),
        cmocka_unit_test(refuses_to_unpack_what_is_damaged),
        cmocka_unit_test(joins_two_views),
        cmocka_unit_test_setup_teardown(unpacks_where_it_is_told, with_zstd, with_zlib),
        cmocka_unit_test_setup_teardown(refuses_to_unpack_what_is_damaged, with_zstd, with_zlib),
        cmocka_unit_test(reports_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
