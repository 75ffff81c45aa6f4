/* The functions of a Go program that call C, by the names that cgo gives to what it puts between
 * them: "main._Cfunc_make_record". What C has allocated there is freed by C.free alone, and once it
 * is lost nothing but these calls says where it came from. */
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "session.h"
#include "snapshot/notes.h"
#include "users.h"

enum { CALLS_MAX = 1 << 10, CALLERS_TOLD = 3, CALLEES_TOLD = 3, TEXT_BYTES = 700 };

struct c_call {
    hs_str caller, callee;
};

struct search {
    const struct hs_go_heap *heap;
    struct hs_dict functions; /* entry -> name of the function of C */
    struct c_call *calls;     /* owned: by caller in order of address, each pair once */
    size_t n, capacity;
};

/* Finds the function of C that a function of cgo's calls: "make_record" of the one above. NULL: it
 * is none, only frees or copies, or is of a library of Go's own. */
static const char *c_function(const char *name)
{
    static const char *const libraries[] = {"net", "os/user", "plugin", "runtime/cgo"};
    static const char *const marks[] = {"._Cfunc_", "._C2func_"};
    static const char *const harmless[] = {"free", "GoString", "GoStringN", "GoBytes"};
    size_t n_package = hs_go_package_bytes(name);
    const char *found = NULL;

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strncmp(name + n_package, marks[i], strlen(marks[i])) == 0)
            found = name + n_package + strlen(marks[i]);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strlen(libraries[i]) == n_package && memcmp(name, libraries[i], n_package) == 0)
            return NULL;
    for (size_t i = 0; found != NULL && i < sizeof harmless / sizeof *harmless; i++)
        if (strcmp(found, harmless[i]) == 0)
            return NULL;
    return found != NULL && strcmp(found, "_CMalloc") == 0 ? "malloc" : found;
}

static hs_status add_function(void *context, hs_addr entry, const char *name, struct hs_error *err)
{
    struct search *s = context;
    const char *called = c_function(name);
    hs_str of;

    if (called == NULL)
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->heap->dump->strings, called, &of, err));
    return hs_dict_put(&s->functions, entry, of, err);
}

/* Cuts what the compiler adds for a function within another: "main.run.func1" is main.run's. */
static void cut_inner(char *name)
{
    static const char inner[] = ".func";

    for (char *at = strstr(name, inner); at != NULL; at = strstr(at + 1, inner))
        if (at[sizeof inner - 1] >= '0' && at[sizeof inner - 1] <= '9') {
            *at = '\0';
            return;
        }
}

static hs_status add_call(void *context, const struct hs_go_function *caller, hs_addr at,
                          uint64_t callee, struct hs_error *err)
{
    struct search *s = context;
    struct c_call call = {.callee = (hs_str)callee};
    char name[HS_GO_NAME_BYTES];
    (void)at;

    if (s->n == CALLS_MAX || hs_dict_find(&s->functions, caller->entry) != NULL ||
        !hs_go_function_name(s->heap, caller, name, sizeof name))
        return HS_OK;
    cut_inner(name);
    HS_TRY(hs_strtab_add(&s->heap->dump->strings, name, &call.caller, err));
    for (size_t i = 0; i < s->n; i++)
        if (s->calls[i].caller == call.caller && s->calls[i].callee == call.callee)
            return HS_OK;
    HS_TRY(HS_GROW(&s->calls, &s->capacity, s->n + 1, err));
    s->calls[s->n++] = call;
    return HS_OK;
}

/* Puts "main.parse (CString, make_record)", of the call at `first` and those of the same caller. */
static void put_caller(const struct search *s, size_t first, char *text)
{
    const struct hs_strtab *strings = &s->heap->dump->strings;
    unsigned n = 0;

    hs_append(text, TEXT_BYTES, "%.120s (", hs_strtab_get(strings, s->calls[first].caller));
    for (size_t i = first; i < s->n; i++)
        if (s->calls[i].caller == s->calls[first].caller && n++ < CALLEES_TOLD)
            hs_append(text, TEXT_BYTES, "%s%.60s", n == 1 ? "" : ", ",
                      hs_strtab_get(strings, s->calls[i].callee));
    hs_append(text, TEXT_BYTES, "%s)", n > CALLEES_TOLD ? ", ..." : "");
}

static bool is_first_of_caller(const struct search *s, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (s->calls[i].caller == s->calls[at].caller)
            return false;
    return true;
}

hs_status hs_go_note_c_calls(struct hs_go_session *s, struct hs_error *err)
{
    struct search search = {.heap = &s->heap};
    char text[TEXT_BYTES] = "";
    unsigned n = 0;
    hs_status status = hs_go_each_function(&s->heap, add_function, &search, err);

    if (status == HS_OK)
        status = hs_go_each_call(&s->heap, &search.functions, add_call, &search, err);

    for (size_t i = 0; status == HS_OK && i < search.n; i++)
        if (is_first_of_caller(&search, i) && n++ < CALLERS_TOLD) {
            hs_append(text, TEXT_BYTES, "%s", n == 1 ? "" : ", ");
            put_caller(&search, i, text);
        }
    if (status == HS_OK && n > CALLERS_TOLD)
        hs_append(text, TEXT_BYTES, " and %u others", n - CALLERS_TOLD);
    if (status == HS_OK && n != 0)
        status = hs_findings_note(&s->findings, false, err, HS_NOTE_CALLS_C "%s", text);
    hs_dict_fini(&search.functions);
    hs_free(search.calls);
    return status;
}
