#include "process/constants.h"

#include <string.h>

#include "arch/processor.h"
#include "base/load.h"
#include "symbols/elf.h"

enum { LOWEST_ADDRESS = 4096 };

static bool is_address(hs_addr address, size_t n)
{
    return address >= LOWEST_ADDRESS && address < HS_USER_END && n <= HS_USER_END - address;
}

/* Returns the bytes that an object's file has from an address on, up to the end of the segment:
 * *ret_n of them, n_most at the most. NULL: none. */
static const uint8_t *file_bytes(const struct hs_object *object, hs_addr address, size_t n_most,
                                 size_t *ret_n)
{
    *ret_n = 0;
    return object == NULL ? NULL
                          : hs_elf_bytes_from(object->elf, address - object->bias, n_most, ret_n);
}

static const struct hs_object *object_at(const struct hs_objects *objects, hs_addr address)
{
    return objects == NULL ? NULL : hs_objects_object_at(objects, address);
}

const uint8_t *hs_constant_bytes(const struct hs_image *image, const struct hs_objects *objects,
                                 hs_addr address, size_t n)
{
    size_t n_there;

    if (!is_address(address, n))
        return NULL;
    const uint8_t *bytes = hs_image_bytes(image, address, n);
    if (bytes != NULL)
        return bytes;
    bytes = file_bytes(object_at(objects, address), address, n, &n_there);
    return n_there < n ? NULL : bytes;
}

bool hs_constant_u64(const struct hs_image *image, const struct hs_objects *objects,
                     hs_addr address, uint64_t *ret)
{
    size_t n_there;

    if (hs_image_u64(image, address, ret))
        return true;
    const struct hs_object *object = object_at(objects, address);
    if (object == NULL || hs_elf_is_dyn(object->elf))
        return false;
    const uint8_t *bytes = file_bytes(object, address, sizeof *ret, &n_there);
    if (n_there < sizeof *ret)
        return false;
    *ret = hs_load_u64(bytes);
    return true;
}

bool hs_constant_string(const struct hs_image *image, const struct hs_objects *objects,
                        hs_addr address, char *text, size_t n)
{
    size_t n_there;

    if (!is_address(address, 1))
        return false;
    if (hs_image_string(image, address, text, n))
        return true;
    const uint8_t *bytes = file_bytes(object_at(objects, address), address, n, &n_there);
    size_t length = bytes == NULL ? n_there : strnlen((const char *)bytes, n_there);
    if (length == n_there)
        return false;
    memcpy(text, bytes, length + 1);
    return true;
}
