#include "trace_names.h"

#include <string.h>

void hs_trace_names_init(struct trace_names *names)
{
    *names = (struct trace_names){0};
    for (unsigned i = 0; i < TRACE_N_NAMES; i++)
        names->order[i] = (uint8_t)i;
}

void hs_trace_names_lose(struct trace_names *names)
{
    for (unsigned i = 0; i < TRACE_N_NAMES; i++) {
        names->files[i].name = TRACE_LOST_NAME;
        for (unsigned j = 0; j < TRACE_N_NAMES; j++)
            names->files[i].functions[j] = (struct trace_function){.name = TRACE_LOST_NAME};
    }
}

static struct trace_file *to_front(struct trace_names *names, unsigned place)
{
    uint8_t which = names->order[place];
    memmove(names->order + 1, names->order, place);
    names->order[0] = which;
    return &names->files[which];
}

const struct trace_file *hs_trace_names_peek(const struct trace_names *names, unsigned place)
{
    const struct trace_file *file = &names->files[names->order[place]];
    return file->name == 0 ? NULL : file;
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

bool hs_trace_names_has_file(const struct trace_names *names, hs_str name)
{
    for (unsigned i = 0; i < TRACE_N_NAMES; i++) {
        if (names->files[i].name == name)
            return true;
    }
    return false;
}

static void put_first(struct trace_file *file, unsigned place, struct trace_function function)
{
    memmove(file->functions + 1, file->functions, place * sizeof *file->functions);
    file->functions[0] = function;
}

bool hs_trace_names_function(struct trace_file *file, unsigned place)
{
    if (file->functions[place].name == 0)
        return false;
    put_first(file, place, file->functions[place]);
    return true;
}

void hs_trace_names_new_function(struct trace_file *file, hs_str name)
{
    put_first(file, TRACE_N_NAMES - 1, (struct trace_function){.name = name});
}

bool hs_trace_names_has_function(const struct trace_file *file, hs_str name)
{
    for (unsigned i = 0; i < TRACE_N_NAMES; i++) {
        if (file->functions[i].name == name)
            return true;
    }
    return false;
}
