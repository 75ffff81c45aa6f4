#include "trace_locations.h"

#include <ctype.h>

#include "trace_reader.h"

static void read_bits(struct trace_bytes *bytes, struct trace_record *ret, unsigned *ret_name_code)
{
    uint64_t low = trace_bytes_u32(bytes);
    uint64_t all = low | (uint64_t)trace_bytes_u16(bytes) << 32;
    *ret = (struct trace_record){
        .line = all & 0xFFFFF,
        .char_begin = all >> 20 & 0xFF,
        .char_end = all >> 28 & 0x3FF,
        .file_code = all >> 38 & 0x1F,
    };
    *ret_name_code = all >> 43 & 0x1F;
}

static bool is_odd(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return true;
    }
    return n == 0;
}

/* A string that is there, in the lists' form. */
static hs_status read_name(struct trace_sites *sites, struct trace_bytes *bytes, bool *is_text_odd,
                           hs_str *ret, struct hs_error *err)
{
    size_t n;
    const char *text = trace_bytes_string(bytes, &n);
    *is_text_odd |= bytes->failed || is_odd(text, n);
    HS_TRY(hs_trace_sites_string(sites, text, n, ret, err));
    if (*ret == 0)
        *ret = n == 0 ? TRACE_EMPTY_NAME : TRACE_LOST_NAME;
    return HS_OK;
}

hs_status hs_trace_read_record(struct trace_sites *sites, unsigned version,
                               struct trace_names *names, struct trace_bytes *bytes, unsigned clear,
                               struct trace_record *ret, struct hs_error *err)
{
    struct trace_file *file;
    unsigned name_code;
    read_bits(bytes, ret, &name_code);
    unsigned file_code = ret->file_code & ~clear;
    if (file_code == TRACE_NEW_NAME) {
        HS_TRY(read_name(sites, bytes, &ret->is_text_odd, &ret->file, err));
        ret->is_twice = hs_trace_names_has_file(names, ret->file);
        file = hs_trace_names_new_file(names, ret->file, version);
    } else {
        file = hs_trace_names_file(names, file_code);
        ret->file = file == NULL ? 0 : file->name;
    }
    if (name_code == TRACE_NEW_NAME) {
        HS_TRY(read_name(sites, bytes, &ret->is_text_odd, &ret->function, err));
        ret->is_new_function = true;
        ret->is_twice |= file != NULL && hs_trace_names_has_function(file, ret->function);
        if (file != NULL)
            hs_trace_names_new_function(file, ret->function);
    } else if (file != NULL && hs_trace_names_function(file, name_code)) {
        ret->function = file->functions[0].name;
        ret->function_line = file->functions[0].line;
    }
    if (file != NULL && ret->function != 0)
        file->functions[0].line = ret->line;
    return HS_OK;
}

/* Returns the module that the name of a definition gives: the module, without the library it is
 * wrapped in. */
static const char *module_of(const char *function, size_t *ret_n)
{
    size_t n = strcspn(function, ".");
    for (size_t i = n; i >= 2; i--) {
        if (function[i - 1] == '_' && function[i - 2] == '_') {
            *ret_n = n - i;
            return function + i;
        }
    }
    *ret_n = n;
    return function;
}

bool hs_trace_is_named_after(const struct trace_sites *sites, hs_str function, hs_str file)
{
    size_t n;
    const char *module = module_of(hs_strtab_get(&sites->strings, function), &n);
    const char *path = hs_strtab_get(&sites->strings, file);
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    return n != 0 && n == strcspn(base, ".") &&
           tolower((unsigned char)*module) == tolower((unsigned char)*base) &&
           memcmp(module + 1, base + 1, n - 1) == 0;
}

/* ---- what the reader does with one ---- */

static struct hs_trace_location location_of(const struct trace_record *record, bool is_doubtful)
{
    struct hs_trace_location location = {
        .line = record->line,
        .char_begin = record->char_begin,
        .char_end = record->char_end,
        .is_damaged = is_doubtful || record->file == 0 || record->file == TRACE_LOST_NAME ||
                      record->function == 0 || record->function == TRACE_LOST_NAME,
    };
    if (!location.is_damaged) {
        location.file = record->file == TRACE_EMPTY_NAME ? 0 : record->file;
        location.function = record->function == TRACE_EMPTY_NAME ? 0 : record->function;
    }
    return location;
}

/* Tells whether a place looks wrong though the search settled on it, in a trace whose writer has
 * the fault, unless its names follow other rules. */
static bool is_strange(struct hs_trace *trace, uint64_t code, unsigned index,
                       const struct trace_record *record)
{
    bool is_named_after = hs_trace_is_named_after(&trace->sites, record->function, record->file);
    trace->n_named_after += record->is_new_function && is_named_after;
    trace->n_named_otherwise += record->is_new_function && !is_named_after;
    if (!trace->is_suspect || trace->n_named_otherwise > trace->n_named_after / 4)
        return false;
    return !is_named_after ||
           (index == 0 && hs_trace_places_judge(&trace->recovery.places, code, record->file) ==
                              TRACE_NEIGHBOURS_OPPOSE);
}

hs_status hs_trace_read_location(struct hs_trace *trace, struct trace_bytes *bytes,
                                 struct hs_error *err)
{
    struct hs_trace_location locations[TRACE_MAX_INLINED];
    const struct trace_choices *choices = &trace->choices;
    struct trace_record record;
    uint64_t code = trace_bytes_code(bytes);
    unsigned n = trace_bytes_u8(bytes);
    for (unsigned i = 0; i < n && !bytes->failed; i++) {
        struct trace_choice choice = {0};
        if (trace->n_chosen < choices->n)
            choice = choices->choices[trace->n_chosen++];
        HS_TRY(hs_trace_read_record(&trace->sites, trace->info.version, trace->domain->names, bytes,
                                    choice.clear, &record, err));
        choice.is_doubtful |= is_strange(trace, code, i, &record);
        locations[i] = location_of(&record, choice.is_doubtful);
    }
    if (bytes->failed || n == 0) /* none: the writer did not know it */
        return HS_OK;
    for (unsigned i = 0; i < n; i++)
        trace->gaps.n_damaged_locations += locations[i].is_damaged;
    trace->gaps.n_locations += n;
    if (trace->is_suspect && !locations[0].is_damaged)
        HS_TRY(hs_trace_places_add(&trace->recovery.places, code, locations[0].file, err));
    return hs_trace_sites_put(&trace->sites, code, locations, n, err);
}
