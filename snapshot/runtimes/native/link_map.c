/* The dynamic linker's lists of objects.
 *
 *   r_debug:  version, map, brk, state, ldbase, [next: another namespace, version 2]
 *   link_map: l_addr, l_name, l_ld, l_next, l_prev, ... private parts of glibc ...
 *
 * Among the private parts stand, one word each and in all versions since 2.3,
 *
 *   l_tls_initimage, _initimage_size, _blocksize, _align, _firstbyte_offset, _offset, _modid
 *
 * at an offset that moves from version to version. The first four are known from the file, so that
 * they are found by their values and prove themselves. */
#include "link_map.h"

#include <elf.h>
#include <string.h>

#include "stacks_extent.h"

enum {
    LINK_MAX_ENTRIES = 1 << 16,
    LINK_SPARE = 1024, /* entries, and looks at them, beyond four per object */
    LINK_MAX_NAMESPACES = 16,
    LINK_MAX_DYNAMIC = 512,
    LINK_MAP_BYTES = 2048, /* of an entry: 1,160 in 2.36 */
    LINK_MAX_MODULE = 1 << 16,
    DEBUG_MAP = 8,
    DEBUG_NEXT = 40,
    MAP_BIAS = 0,
    MAP_NEXT = 24,
    TLS_WORDS = 7,
};

/* Offsets that a module cannot have in static storage say that it is elsewhere: glibc's
 * NO_TLS_OFFSET (0 or -1) and FORCED_DYNAMIC_TLS_OFFSET (-1 or -2). */
#define LINK_MAX_TLS_OFFSET (UINT64_C(1) << 30)

/* Finds the linker's r_debug: by DT_DEBUG of the program's dynamic section, else by the linker's
 * own symbol. */
static hs_addr find_debug(const struct hs_native *native)
{
    struct hs_elf_section dynamic;
    struct hs_live_symbol symbol;
    const struct hs_objects *objects = &native->dump->objects;
    if (objects->n != 0 && hs_elf_section_named(objects->objects[0].elf, ".dynamic", &dynamic) &&
        dynamic.vaddr != 0) {
        hs_addr at = dynamic.vaddr + objects->objects[0].bias;
        for (unsigned i = 0; i < LINK_MAX_DYNAMIC; i++, at += 2 * HS_WORD_BYTES) {
            uint64_t tag, value;
            if (!hs_image_u64(&native->dump->image, at, &tag) || tag == DT_NULL ||
                !hs_image_u64(&native->dump->image, at + HS_WORD_BYTES, &value))
                break;
            if (tag == DT_DEBUG && value != 0)
                return value;
        }
    }
    return hs_objects_find(objects, "_r_debug", &symbol) ? symbol.address : 0;
}

/* Visits the lists, which may be circular in a hostile process: entries are counted over all of
 * them. */
void hs_native_each_link_map(const struct hs_native *native,
                             void (*visit)(void *context, hs_addr entry), void *context)
{
    hs_addr debug = find_debug(native);
    size_t n_entries = 0, most = 4 * native->dump->objects.n + LINK_SPARE;
    if (most > LINK_MAX_ENTRIES)
        most = LINK_MAX_ENTRIES;
    for (unsigned k = 0; debug != 0 && k < LINK_MAX_NAMESPACES; k++) {
        uint32_t version = 0;
        uint64_t entry = 0;
        if (!hs_image_u32(&native->dump->image, debug, &version) ||
            !hs_image_u64(&native->dump->image, debug + DEBUG_MAP, &entry))
            return;
        for (; entry != 0 && n_entries < most; n_entries++) {
            uint64_t next;
            if (!hs_image_u64(&native->dump->image, entry + MAP_NEXT, &next))
                break;
            visit(context, entry);
            entry = next;
        }
        if (version < 2 || !hs_image_u64(&native->dump->image, debug + DEBUG_NEXT, &debug))
            return;
    }
}

/* Reads the words of one entry that describe its thread-local storage, found by what the file says.
 */
static bool read_tls(const struct hs_native *native, hs_addr entry, const struct hs_object *object,
                     const struct hs_elf_tls *tls, struct hs_native_object *ret)
{
    for (hs_addr at = entry; at < entry + LINK_MAP_BYTES; at += HS_WORD_BYTES) {
        uint64_t words[TLS_WORDS];
        const uint8_t *bytes = hs_image_bytes(&native->dump->image, at, sizeof words);
        if (bytes == NULL)
            return false;
        memcpy(words, bytes, sizeof words);
        if (words[0] != tls->vaddr + object->bias || words[1] != tls->n_file_bytes ||
            words[2] != tls->n_memory_bytes || (words[3] > 1 ? words[3] : 1) != tls->align ||
            words[6] == 0 || words[6] > LINK_MAX_MODULE)
            continue;
        ret->tls_module = words[6];
        ret->tls_offset = words[5] <= LINK_MAX_TLS_OFFSET ? words[5] : 0;
        return true;
    }
    return false;
}

struct link_read {
    struct hs_native *native;
    size_t n_left; /* entries to look through: objects of one bias may be many */
};

static void visit_entry(void *context, hs_addr entry)
{
    struct link_read *read = context;
    struct hs_native *native = read->native;
    uint64_t bias;
    if (!hs_image_u64(&native->dump->image, entry + MAP_BIAS, &bias))
        return;
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        struct hs_elf_tls tls;
        if (object->bias != bias || native->of_object[i].tls_module != 0 || read->n_left == 0 ||
            !hs_elf_tls(object->elf, &tls))
            continue;
        read->n_left--;
        if (read_tls(native, entry, object, &tls, &native->of_object[i]))
            return;
    }
}

/* Sets the executable's place by the ABI: its block ends at the thread pointer, and is module 1. */
static void assume_executable(struct hs_native *native)
{
    struct hs_native_object *of = &native->of_object[0];
    struct hs_elf_tls tls;
    uint64_t n;
    if (of->tls_module != 0 || !hs_elf_tls(native->dump->objects.objects[0].elf, &tls) ||
        __builtin_add_overflow(tls.n_memory_bytes, tls.align - 1, &n))
        return;
    n &= ~(tls.align - 1);
    of->tls_module = 1;
    of->tls_offset = n <= LINK_MAX_TLS_OFFSET ? n : 0;
}

void hs_native_read_link_map(struct hs_native *native)
{
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        struct hs_native_object *of = &native->of_object[i];
        of->tls_module = of->tls_offset = 0;
    }
    struct link_read read = {native, 4 * native->dump->objects.n + LINK_SPARE};
    hs_native_each_link_map(native, visit_entry, &read);
    native->tcb_bytes = hs_native_tcb_bytes(native);
    if (native->dump->objects.n != 0)
        assume_executable(native);
}
