/* links: hs_symbols hs_base */
/* Any bytes as a program that names a debug file, and as that debug file: u16 of how many bytes are
 * the program, the program, the debug file. The latter lies wherever a search may look. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "symbols/debugfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { PATH_BYTES = 160 };

static char directory[64];
static int candidate_fd = -1; /* in memory: the places are links to it */
static const char *const places[] = {"/prog.debug", "/.debug/prog.debug",
                                     "/.build-id/ab/cdef0123456789abcdef0123456789abcdef01.debug"};
static const char *const folders[] = {"/.build-id/ab", "/.build-id", "/.debug", ""};

static void remove_directory(void)
{
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s", directory, places[i]);
        (void)unlink(path);
    }
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(path, sizeof path, "%s%s", directory, folders[i]);
        (void)rmdir(path);
    }
}

static void make_directory(void)
{
    char path[PATH_BYTES];
    snprintf(directory, sizeof directory, "/tmp/heapsnap-fuzz.XXXXXX");
    if (mkdtemp(directory) == NULL)
        abort();
    for (size_t i = sizeof folders / sizeof folders[0] - 1; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", directory, folders[i]);
        (void)mkdir(path, 0700);
    }
    (void)atexit(remove_directory);
    candidate_fd = memfd_create("candidate", MFD_CLOEXEC);
    if (candidate_fd < 0)
        abort();
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char link[PATH_BYTES];
        snprintf(link, sizeof link, "%s%s", directory, places[i]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", candidate_fd);
        if (symlink(path, link) != 0)
            abort();
    }
}

static void write_candidate(const uint8_t *bytes, size_t n_bytes)
{
    if (ftruncate(candidate_fd, 0) != 0 ||
        (n_bytes != 0 && pwrite(candidate_fd, bytes, n_bytes, 0) != (ssize_t)n_bytes))
        abort();
}

/* The sum does not depend on where the bytes are cut. */
static uint32_t crc_of(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t whole = hs_debugfile_crc(0, bytes, n_bytes);
    uint32_t half = hs_debugfile_crc(0, bytes, n_bytes / 2);
    assert(hs_debugfile_crc(half, bytes + n_bytes / 2, n_bytes - n_bytes / 2) == whole);
    return whole;
}

static void check_found(struct hs_elf *elf, struct hs_elf *found, uint32_t crc)
{
    struct hs_error err = HS_ERROR_INIT;
    const char *wanted = hs_elf_build_id(elf), *id = hs_elf_build_id(found);
    const uint8_t *link = NULL;
    size_t n = 0;
    if (*wanted != '\0' && *id != '\0') {
        assert(strcmp(wanted, id) == 0);
        return;
    }
    assert(hs_elf_section_bytes_named(elf, ".gnu_debuglink", &link, &n, &err) == HS_OK);
    assert(memmem(link, n, &crc, sizeof crc) != NULL);
}

static void fuzz_search(struct hs_elf *elf, uint32_t crc)
{
    static const char *const outside[] = {"/proc/1/"
                                          "root"
                                          "/x/prog",
                                          "prog", "/", ""};
    struct hs_error err = HS_ERROR_INIT;
    const char *const directories[] = {directory};
    char own_path[PATH_BYTES], said[PATH_BYTES], cut[8];
    struct hs_debugfile_search search;
    struct hs_elf *found = NULL;
    snprintf(own_path, sizeof own_path, "%s/prog", directory);
    if (hs_debugfile_find(elf, own_path, directories, 1, &found, &search, &err) != HS_OK)
        abort();
    assert((found != NULL) == (search.outcome == HS_DEBUGFILE_FOUND));
    assert(memchr(search.path, '\0', sizeof search.path) != NULL);
    assert(hs_debugfile_explain(&search, said, sizeof said) == strlen(said));
    assert(hs_debugfile_explain(&search, cut, sizeof cut) == strlen(cut));
    /* Nothing outside of where we were told to look. */
    assert(search.path[0] == '\0' || strncmp(search.path, directory, strlen(directory)) == 0);
    if (found != NULL)
        check_found(elf, found, crc);
    hs_elf_close(found);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        found = NULL;
        if (hs_debugfile_open(elf, outside[i], directories, 1, &found, &err) != HS_OK)
            abort();
        hs_elf_close(found);
    }
    struct hs_debugfile_link other;
    assert(!hs_debugfile_supplement(elf, &other) ||
           (other.path[0] != '\0' && strlen(other.build_id) >= 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (n_bytes < 2)
        return 0;
    if (directory[0] == '\0')
        make_directory();
    size_t n_program = bytes[0] | (size_t)bytes[1] << 8;
    n_program = n_program < n_bytes - 2 ? n_program : n_bytes - 2;
    if (hs_elf_open_memory(bytes + 2, n_program, "fuzz", &elf, &err) != HS_OK)
        return 0;
    const uint8_t *candidate = bytes + 2 + n_program;
    write_candidate(candidate, n_bytes - 2 - n_program);
    fuzz_search(elf, crc_of(candidate, n_bytes - 2 - n_program));
    hs_elf_close(elf);
    return 0;
}
