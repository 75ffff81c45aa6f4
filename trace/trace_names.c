#include "trace_names.h"

#include <string.h>

void hs_trace_names_init(struct trace_names *names)
{
    *names = (struct trace_names){0};
    for (unsigned i = 0; i < TRACE_N_NAMES; i++)
        names->order[i] = (uint8_t)i;
}

static struct trace_file *to_front(struct trace_names *names, unsigned place)
{
    uint8_t which = names->order[place];
    memmove(names->order + 1, names->order, place);
    names->order[0] = which;
    return &names->files[which];
}

struct trace_file *hs_trace_names_file(struct trace_names *names, unsigned place)
{
    if (names->files[names->order[place]].name == 0)
        return NULL;
    return to_front(names, place);
}

struct trace_file *hs_trace_names_new_file(struct trace_names *names, hs_str name, unsigned version)
{
    struct trace_file *file = to_front(names, TRACE_N_NAMES - 1);
    if (version >= 2)
        *file = (struct trace_file){0};
    file->name = name;
    return file;
}

hs_str hs_trace_names_function(struct trace_file *file, unsigned place)
{
    hs_str name = file->functions[place];
    if (name == 0)
        return 0;
    memmove(file->functions + 1, file->functions, place * sizeof *file->functions);
    return file->functions[0] = name;
}

void hs_trace_names_new_function(struct trace_file *file, hs_str name)
{
    memmove(file->functions + 1, file->functions, (TRACE_N_NAMES - 1) * sizeof *file->functions);
    file->functions[0] = name;
}
