#include "process/unwind.h"

#include <string.h>

static bool read_target(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;
    return hs_target_read(context, at, ret, n_bytes, &ignored) == HS_OK;
}

struct hs_cfi *hs_unwind_cfi(struct hs_objects *objects, struct hs_object *object)
{
    struct hs_error ignored = HS_ERROR_INIT;
    if (!object->cfi_tried) {
        object->cfi_tried = true;
        if (hs_cfi_open(hs_objects_box(objects), object->elf, object->name, &object->cfi,
                        &ignored) != HS_OK)
            object->cfi = NULL;
    }
    return object->cfi;
}

static bool step_with(struct hs_objects *objects, const struct hs_registers *r,
                      bool is_return_address, const struct hs_memory_reader *memory,
                      struct hs_frame *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const struct hs_object *object =
        hs_objects_object_at(objects, r->value[HS_REG_PC] - (is_return_address ? 1 : 0));
    if (object == NULL)
        return false;
    struct hs_object *owned = &objects->objects[object - objects->objects];
    struct hs_cfi *cfi = hs_unwind_cfi(objects, owned);
    return cfi != NULL &&
           hs_cfi_step(cfi, owned->bias, r, is_return_address, memory, ret, &ignored) == HS_OK;
}

bool hs_unwind_step(struct hs_target *target, struct hs_objects *objects,
                    const struct hs_registers *r, bool is_return_address, struct hs_frame *ret)
{
    const struct hs_memory_reader memory = {read_target, target};
    /* A stack that does not rise is damaged, or its tables are. */
    return step_with(objects, r, is_return_address, &memory, ret) && ret->cfa > r->value[HS_REG_SP];
}

bool hs_unwind_switch(struct hs_target *target, struct hs_objects *objects,
                      const struct hs_registers *r, bool is_return_address, struct hs_frame *ret)
{
    const struct hs_memory_reader memory = {read_target, target};
    return step_with(objects, r, is_return_address, &memory, ret);
}

static bool read_image(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    const uint8_t *bytes = hs_image_bytes(context, at, n_bytes);
    if (bytes != NULL)
        memcpy(ret, bytes, n_bytes);
    return bytes != NULL;
}

/* The reader's context has no const, but nothing writes through it. */
struct hs_memory_reader hs_unwind_image_reader(const struct hs_image *image)
{
    return (struct hs_memory_reader){read_image, (void *)(uintptr_t)image};
}

bool hs_unwind_image_step(const struct hs_image *image, struct hs_objects *objects,
                          const struct hs_registers *r, bool is_return_address,
                          struct hs_frame *ret)
{
    const struct hs_memory_reader memory = hs_unwind_image_reader(image);
    struct hs_frame frame;
    if (!step_with(objects, r, is_return_address, &memory, &frame))
        return false;
    if (!frame.is_signal_frame && frame.cfa <= r->value[HS_REG_SP])
        return false;
    *ret = frame;
    return true;
}
