/* The places of the fields of CPython's structures in each version that is known: for who reads a
 * process from outside, and for the recorder within. Not installed. */
#ifndef HEAPSNAP_PYTHON_LAYOUT_H
#define HEAPSNAP_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define HS_PYTHON_NONE UINT16_MAX /* it has no such field */

struct hs_python_layout {
    uint8_t minor;
#define FIELD(name, v9, v10, v11, v12, v13, v14) uint16_t name;
#include "heapsnap/python_layout.def"
#undef FIELD
};

/* Returns the layout of 3.`minor`; NULL: it is not known. */
static inline const struct hs_python_layout *hs_python_layout(unsigned minor)
{
#define NONE HS_PYTHON_NONE
    static const struct hs_python_layout layouts[] = {
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v9),
        {
            .minor = 9,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v10),
        {
            .minor = 10,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v11),
        {
            .minor = 11,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v12),
        {
            .minor = 12,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v13),
        {
            .minor = 13,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
#define FIELD(name, v9, v10, v11, v12, v13, v14) .name = (v14),
        {
            .minor = 14,
#include "heapsnap/python_layout.def"
        },
#undef FIELD
    };
#undef NONE
    const unsigned first = layouts[0].minor;
    const size_t n = sizeof layouts / sizeof *layouts;

    return minor >= first && minor - first < n ? &layouts[minor - first] : NULL;
}

#endif
