#include "object_lines.h"

#include "base/alloc.h"

hs_status hs_object_lines_init(struct hs_object_lines *all, struct hs_objects *objects,
                               struct hs_error *err)
{
    struct hs_object_lines made = {.objects = objects};
    hs_status status = HS_ALLOC(&made.lines, objects->n, err);
    if (status == HS_OK)
        status = HS_ALLOC(&made.has_tried, objects->n, err);
    if (status == HS_OK)
        *all = made;
    else
        hs_object_lines_fini(&made);
    return status;
}

void hs_object_lines_fini(struct hs_object_lines *all)
{
    if (all == NULL)
        return;
    for (size_t i = 0; all->lines != NULL && i < all->objects->n; i++)
        hs_lines_close(all->lines[i]);
    hs_free(all->lines);
    hs_free(all->has_tried);
    *all = (struct hs_object_lines){0};
}

struct hs_lines *hs_object_lines_of(struct hs_object_lines *all, const struct hs_object *object)
{
    size_t i = (size_t)(object - all->objects->objects);
    if (!all->has_tried[i]) {
        struct hs_error ignored = HS_ERROR_INIT;
        all->has_tried[i] = true;
        if (hs_dwarf_present(object->elf) &&
            hs_lines_open(hs_objects_box(all->objects), object->elf, object->name, &all->lines[i],
                          &ignored) != HS_OK)
            all->lines[i] = NULL;
    }
    return all->lines[i];
}
