#include "trace_reader.h"

struct location_bits {
    uint32_t line;
    uint16_t char_begin, char_end;
    unsigned file_code, name_code;
};

static struct location_bits read_bits(struct trace_bytes *bytes)
{
    uint64_t low = trace_bytes_u32(bytes);
    uint64_t all = low | (uint64_t)trace_bytes_u16(bytes) << 32;
    return (struct location_bits){
        .line = all & 0xFFFFF,
        .char_begin = all >> 20 & 0xFF,
        .char_end = all >> 28 & 0x3FF,
        .file_code = all >> 38 & 0x1F,
        .name_code = all >> 43 & 0x1F,
    };
}

static hs_status read_record(struct hs_trace *trace, struct trace_bytes *bytes,
                             struct hs_trace_location *ret, struct hs_error *err)
{
    struct location_bits bits = read_bits(bytes);
    struct trace_names *names = trace->domain->names;
    struct trace_file *file = NULL;
    *ret = (struct hs_trace_location){
        .line = bits.line, .char_begin = bits.char_begin, .char_end = bits.char_end};
    size_t n = 0;
    if (bits.file_code == TRACE_NEW_NAME) {
        const char *text = trace_bytes_string(bytes, &n);
        HS_TRY(hs_trace_sites_string(&trace->sites, text, n, &ret->file, err));
        if (!bytes->failed)
            file = hs_trace_names_new_file(names, ret->file, trace->info.version);
    } else {
        file = hs_trace_names_file(names, bits.file_code);
        ret->file = file == NULL ? 0 : file->name;
    }
    if (bits.name_code == TRACE_NEW_NAME) {
        const char *text = trace_bytes_string(bytes, &n);
        HS_TRY(hs_trace_sites_string(&trace->sites, text, n, &ret->function, err));
        if (file != NULL && !bytes->failed)
            hs_trace_names_new_function(file, ret->function);
    } else if (file != NULL) {
        ret->function = hs_trace_names_function(file, bits.name_code);
    }
    ret->is_damaged = file == NULL || ret->function == 0;
    return HS_OK;
}

hs_status hs_trace_read_location(struct hs_trace *trace, struct trace_bytes *bytes,
                                 struct hs_error *err)
{
    struct hs_trace_location locations[TRACE_MAX_INLINED];
    uint64_t code = trace_bytes_code(bytes);
    unsigned n = trace_bytes_u8(bytes);
    for (unsigned i = 0; i < n && !bytes->failed; i++)
        HS_TRY(read_record(trace, bytes, &locations[i], err));
    if (bytes->failed || n == 0) /* none: known to be unknown */
        return HS_OK;
    for (unsigned i = 0; i < n; i++)
        trace->gaps.n_damaged_locations += locations[i].is_damaged;
    trace->gaps.n_locations += n;
    return hs_trace_sites_put(&trace->sites, code, locations, n, err);
}
