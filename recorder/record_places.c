#include "record_places.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N_BYTES (HS_RECORD_PLACES * sizeof(struct hs_record_known))

/* /usr/bin/python3, which is a link to python3.11 beside it: a dump calls it so, too. */
static void find_called(struct hs_record_places *places)
{
    const char *started = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    const char *name = started == NULL ? NULL : strrchr(started, '/');
    const char *end = strrchr(places->executable, '/');
    struct stat file, link;
    size_t n, n_name;

    memcpy(places->called, places->executable, sizeof places->called);
    name = name == NULL ? started : name + 1;
    if (name == NULL || end == NULL)
        return;
    n = (size_t)(end + 1 - places->executable);
    n_name = strlen(name);
    if (n + n_name >= sizeof places->called || stat(places->executable, &file) != 0)
        return;
    memcpy(places->called + n, name, n_name + 1);
    if (stat(places->called, &link) != 0 || link.st_dev != file.st_dev ||
        link.st_ino != file.st_ino)
        memcpy(places->called, places->executable, sizeof places->called);
}

bool hs_record_places_init(struct hs_record_places *places)
{
    void *at = mmap(NULL, N_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    long n =
        syscall(SYS_readlink, "/proc/self/exe", places->executable, sizeof places->executable - 1);

    places->executable[n > 0 ? n : 0] = '\0';
    find_called(places);
    places->n_known = 0;
    places->known = at == MAP_FAILED ? NULL : at;
    return places->known != NULL;
}

void hs_record_places_fini(struct hs_record_places *places)
{
    if (places->known != NULL)
        munmap(places->known, N_BYTES);
    places->known = NULL;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash | 1; /* 0 stands for none */
}

/* The module's name is its loader's: it stays as long as its code is on our stack. */
static const char *module_at(const struct hs_record_places *places, uint64_t address,
                             uint64_t *ret_base)
{
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
    extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));
    struct dl_find_object object;

    if (_dl_find_object != NULL &&
        _dl_find_object((void *)(uintptr_t)(address - 1), &object) == 0 &&
        object.dlfo_link_map != NULL) {
        *ret_base = object.dlfo_link_map->l_addr;
        return object.dlfo_link_map->l_name[0] != '\0' ? object.dlfo_link_map->l_name
                                                       : places->executable;
    }
    return NULL;
#else
    Dl_info info;
    struct link_map *map;

    if (dladdr1((void *)(uintptr_t)(address - 1), &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
        return NULL;
    *ret_base = map->l_addr;
    return map->l_name[0] != '\0' ? map->l_name : places->executable;
#endif
}

/* The entry of an address; a new one is not explained. */
static struct hs_record_known *entry_of(struct hs_record_places *places, uint64_t address)
{
    uint64_t at = address * UINT64_C(0x9e3779b97f4a7c15) >> 48;

    _Static_assert(HS_RECORD_PLACES == 1U << 16, "the hash has 16 bits");
    if (4 * places->n_known > 3 * HS_RECORD_PLACES) {
        memset(places->known, 0, N_BYTES);
        places->n_known = 0;
    }
    for (; places->known[at].address != 0 && places->known[at].address != address;)
        at = (at + 1) % HS_RECORD_PLACES;
    places->n_known += places->known[at].address == 0;
    places->known[at].address = address;
    return &places->known[at];
}

bool hs_record_place_script(struct hs_record_places *places, uint64_t frame,
                            struct hs_record_known **ret)
{
    bool is_new;

    *ret = entry_of(places, frame);
    is_new = (*ret)->module == 0;
    (*ret)->module = 1;
    return is_new;
}

struct hs_record_known *hs_record_place_find(struct hs_record_places *places, uint64_t address,
                                             const char **ret_file, uint64_t *ret_offset)
{
    struct hs_record_known *known = entry_of(places, address);
    uint64_t base = 0, module;

    *ret_file = NULL;
    if (known->module != 0 && known->unloads == places->unloads)
        return known;
    known->unloads = places->unloads;

    const char *file = module_at(places, address, &base);

    /* Code that was made at run time has no file, and no name. */
    module = file == NULL ? 1 : hash_text(base ^ UINT64_C(0xcbf29ce484222325), file);
    if (module == known->module)
        return known;
    if (known->module != 0)
        known->change = ++places->change;
    known->module = module;
    *ret_file = file;
    *ret_offset = address - base;
    return known;
}
