/* The names of the model, as JSON spells them. */
#include "snapshot/model.h"

#include <string.h>

#define MODEL_NAME(table, at) ((at) < sizeof table / sizeof table[0] ? table[at] : NULL)

const char *hs_root_kind_name(unsigned kind)
{
    static const char *const names[HS_N_ROOT_KINDS] = {
        [HS_ROOT_GLOBAL] = "global",
        [HS_ROOT_DYNAMIC_GLOBAL] = "dynamic_global",
        [HS_ROOT_C_ROOT] = "c_root",
        [HS_ROOT_STACK] = "stack",
        [HS_ROOT_LOCAL] = "local",
        [HS_ROOT_REGISTER] = "register",
        [HS_ROOT_TLS] = "tls",
        [HS_ROOT_FINALISER] = "finaliser",
        [HS_ROOT_MEMPROF] = "memprof",
        [HS_ROOT_HOOK] = "hook",
        [HS_ROOT_REGISTERED] = "registered",
        [HS_ROOT_UNCLAIMED] = "unclaimed",
    };
    return MODEL_NAME(names, kind);
}

const char *hs_root_group_name(unsigned kind)
{
    static const char *const names[HS_N_ROOT_KINDS] = {
        [HS_ROOT_GLOBAL] = "globals",
        [HS_ROOT_DYNAMIC_GLOBAL] = "dynamic_globals",
        [HS_ROOT_C_ROOT] = "c_roots",
        [HS_ROOT_STACK] = "stacks",
        [HS_ROOT_LOCAL] = "locals",
        [HS_ROOT_REGISTER] = "registers",
        [HS_ROOT_TLS] = "tls",
        [HS_ROOT_FINALISER] = "finalisers",
        [HS_ROOT_MEMPROF] = "memprof",
        [HS_ROOT_HOOK] = "hooks",
        [HS_ROOT_REGISTERED] = "registered",
        [HS_ROOT_UNCLAIMED] = "unclaimed",
    };
    return MODEL_NAME(names, kind);
}

bool hs_root_is_place(const char *name)
{
    static const char *const places[] = {".",
                                         "[",
                                         HS_PLACE_TLS,
                                         HS_PLACE_STATIC_TLS,
                                         HS_PLACE_KEY,
                                         HS_PLACE_VECTOR,
                                         HS_PLACE_CONTROL,
                                         HS_PLACE_LOADER};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strncmp(name, places[i], strlen(places[i])) == 0)
            return true;
    return name[0] == 0;
}

const char *hs_certainty_name(unsigned certainty)
{
    static const char *const names[HS_UNREAD + 1] = {
        [HS_EXACT] = "exact",
        [HS_CONSERVATIVE] = "conservative",
        [HS_SAMPLED] = "sampled",
        [HS_UNREAD] = "unread",
    };
    return MODEL_NAME(names, certainty);
}

const char *hs_tier_name(unsigned tier)
{
    static const char *const names[HS_N_TIERS] = {"firm", "runtime", "doubtful"};
    return MODEL_NAME(names, tier);
}

const char *hs_edge_class_name(unsigned edge_class)
{
    static const char *const names[HS_N_EDGE_CLASSES] = {
        [HS_EDGE_EXACT] = "exact",
        [HS_EDGE_INTERIOR] = "interior",
        [HS_EDGE_PAST_END] = "past_end",
        [HS_EDGE_GUESSED] = "guessed",
        [HS_EDGE_EPHEMERON] = "ephemeron",
        [HS_EDGE_WEAK] = "weak",
        [HS_EDGE_EPHEMERON_OFF] = "ephemeron_off",
    };
    return MODEL_NAME(names, edge_class);
}

const char *hs_reason_name(unsigned reason)
{
#define REASON(number, symbol, name, text) [number] = (name),
    static const char *const names[] = {
#include "snapshot/reasons.def"
    };
#undef REASON
    return MODEL_NAME(names, reason);
}

const char *hs_reason_text(unsigned reason)
{
#define REASON(number, symbol, name, text) [number] = (text),
    static const char *const texts[] = {
#include "snapshot/reasons.def"
    };
#undef REASON
    return MODEL_NAME(texts, reason);
}

unsigned hs_reason_by_name(const char *name)
{
    for (unsigned reason = 1; reason <= HS_MAX_REASON; reason++) {
        const char *known = hs_reason_name(reason);
        if (known != NULL && strcmp(known, name) == 0)
            return reason;
    }
    return HS_REASON_NONE;
}

const char *hs_type_form_name(unsigned form)
{
    static const char *const names[HS_N_FORMS] = {
        [HS_FORM_BLOCK] = "block",
        [HS_FORM_CLOSURE] = "closure",
        [HS_FORM_STRING] = "string",
        [HS_FORM_FLOAT] = "float",
        [HS_FORM_FLOAT_ARRAY] = "float_array",
        [HS_FORM_CUSTOM] = "custom",
        [HS_FORM_ABSTRACT] = "abstract",
        [HS_FORM_WEAK] = "weak",
        [HS_FORM_OBJECT] = "object",
        [HS_FORM_LAZY] = "lazy",
        [HS_FORM_FORWARD] = "forward",
        [HS_FORM_OTHER] = "other",
        [HS_FORM_RECORD] = "record",
        [HS_FORM_POINTER] = "pointer",
        [HS_FORM_SCALAR] = "scalar",
        [HS_FORM_BYTES] = "bytes",
        [HS_FORM_MAPPING] = "mapping",
        [HS_FORM_PYTHON] = "python",
        [HS_FORM_GO] = "go",
    };
    return MODEL_NAME(names, form);
}

bool hs_type_is_opaque(const char *name, unsigned form)
{
    size_t n = strlen(name), n_end = sizeof HS_TYPE_OPAQUE - 1;

    return form == HS_FORM_RECORD && n > n_end && strcmp(name + n - n_end, HS_TYPE_OPAQUE) == 0;
}

const char *hs_sample_state_name(unsigned state)
{
    static const char *const names[HS_N_SAMPLE_STATES] = {
        [HS_SAMPLE_LIVE] = "live",
        [HS_SAMPLE_PROMOTED] = "promoted",
    };
    return MODEL_NAME(names, state);
}

const char *hs_sampler_kind_name(unsigned kind)
{
    static const char *const names[HS_N_SAMPLER_KINDS] = {
        [HS_SAMPLER_MEMPROF] = "memprof",
        [HS_SAMPLER_JEMALLOC] = "jemalloc",
        [HS_SAMPLER_RECORD] = "record",
        [HS_SAMPLER_GO] = "go",
    };
    return MODEL_NAME(names, kind);
}

const char *hs_memory_state_name(unsigned state)
{
    static const char *const names[HS_N_MEMORY_STATES] = {
        [HS_MEMORY_LIVE] = "live",         [HS_MEMORY_CACHED] = "cached",
        [HS_MEMORY_FREE] = "free",         [HS_MEMORY_DIRTY] = "dirty",
        [HS_MEMORY_INTERNAL] = "internal", [HS_MEMORY_DAMAGED] = "damaged",
        [HS_MEMORY_OTHER] = "other",
    };
    return MODEL_NAME(names, state);
}

bool hs_memory_is_private(const char *owner)
{
    static const char *const others[] = {HS_MEMORY_OF_CODE, HS_MEMORY_OF_FILES, HS_MEMORY_OF_SHARED,
                                         HS_MEMORY_OF_KERNEL};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(owner, others[i]) == 0)
            return false;
    return true;
}

void hs_unread_add(struct hs_unread_sum *sum, const char *owner, uint64_t resident_bytes)
{
    if (!hs_memory_is_private(owner))
        return;
    sum->private_bytes += resident_bytes;
    if (strcmp(owner, HS_MEMORY_OF_NOBODY) == 0)
        sum->unread_bytes += resident_bytes;
}

unsigned hs_unread_percent(const struct hs_unread_sum *sum)
{
    if (sum->private_bytes == 0)
        return 0;
    return (unsigned)(100.0 * (double)sum->unread_bytes / (double)sum->private_bytes);
}

const char *hs_unread_own_dump(const char *name)
{
    static const struct {
        const char *runtime, *commands;
    } known[] = {
        {"a Java machine", "jcmd PID GC.heap_dump FILE, then heapsnap import FILE"},
        {"V8", "node --heapsnapshot-signal=SIGUSR2, then heapsnap import FILE"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(name, known[i].runtime) != NULL)
            return known[i].commands;
    return NULL;
}
