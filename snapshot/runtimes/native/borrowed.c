#include "borrowed.h"

#include <string.h>

#include "roots.h"

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* By what stands before the template's arguments: "std::_Rb_tree_iterator<...>",
 * "__gnu_cxx::__normal_iterator<...>", "std::basic_string_view<...>". */
static bool is_view(const char *name)
{
    static const char *const views[] = {"std::basic_string_view", "std::span",
                                        "std::initializer_list", "std::reference_wrapper"};
    size_t n = strcspn(name, "<");
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strlen(views[i]) == n && begins_with(name, views[i]))
            return true;
    const char *iterator = strstr(name, "_iterator");
    return iterator != NULL && (size_t)(iterator - name) < n;
}

static bool is_reference(const char *name)
{
    size_t n = strlen(name);
    return name[0] == '&' || (n != 0 && name[n - 1] == '&');
}

static bool is_inside(const struct hs_native *native, uint64_t word)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    return hs_native_resolve(native, word, &how, &block) && how != HS_POINTER_START;
}

bool hs_native_is_borrowed(const struct hs_native *native,
                           const struct hs_native_frame_label *label, const struct hs_local *local,
                           uint64_t word)
{
    struct hs_ctype_facts facts;
    if (native->ctypes == NULL || local->type == 0)
        return false;
    hs_ctype_facts(native->ctypes, local->type, &facts);
    if (facts.kind != HS_CTYPE_POINTER && !label->is_c)
        return facts.kind == HS_CTYPE_RECORD && is_view(facts.name);
    if (begins_with(facts.name, "alloc::boxed::Box<"))
        return false;
    return local->is_argument || local->n_inlined >= label->n_outer || is_reference(facts.name) ||
           is_inside(native, word);
}
