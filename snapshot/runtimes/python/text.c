/* Names: what of Python's texts may be read. Only identifiers are, of at most PY_NAME_BYTES. */
#include <string.h>

#include "base/load.h"
#include "python.h"

enum { AT_LENGTH = 16, AT_STATE = 32, IS_COMPACT_ASCII = 0x60, AT_KEYS = 32, AT_VALUES = 40 };
enum { MAX_ENTRIES = 1 << 24, FILE_BYTES = 512 };

bool hs_python_ascii(const struct py_view *view, hs_addr object, char *text, size_t n)
{
    const uint8_t *head =
        object % PY_WORD != 0 ? NULL : hs_python_bytes(view, object, AT_STATE + sizeof(uint32_t));

    text[0] = '\0';
    if (head == NULL || (head[AT_STATE] & IS_COMPACT_ASCII) != IS_COMPACT_ASCII)
        return false;
    uint64_t length = hs_load_u64(head + AT_LENGTH);
    if (length >= n)
        return false;
    const uint8_t *bytes = hs_python_bytes(view, object + view->layout->str_ascii, length + 1);
    if (bytes == NULL || bytes[length] != 0 || memchr(bytes, 0, length) != NULL)
        return false;
    memcpy(text, bytes, length + 1);
    return true;
}

static bool is_of_name(unsigned char c, bool is_first)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

    return is_letter || (!is_first && c >= '0' && c <= '9');
}

static bool is_identifier(const char *text, bool has_dots)
{
    bool is_first = true;

    for (const char *at = text; *at != '\0'; at++) {
        bool is_dot = has_dots && !is_first && *at == '.';
        if (!is_dot && !is_of_name((unsigned char)*at, is_first))
            return false;
        is_first = is_dot;
    }
    return !is_first;
}

bool hs_python_identifier(const struct py_view *view, hs_addr object, bool has_dots, char *text,
                          size_t n)
{
    if (hs_python_ascii(view, object, text, n) && is_identifier(text, has_dots))
        return true;
    text[0] = '\0';
    return false;
}

/* Returns the characters of an ASCII str object; NULL: no such object has them. */
static const uint8_t *text_of_object(const struct py_view *view, hs_addr text_at)
{
    enum { AT_TYPE = 8, AT_TYPE_NAME = 24 };
    hs_addr object = text_at - view->layout->str_ascii;
    char type[sizeof "str"];

    if (object % PY_WORD != 0 ||
        (hs_python_u32(view, object + AT_STATE) & IS_COMPACT_ASCII) != IS_COMPACT_ASCII ||
        !hs_python_string(
            view, hs_python_word(view, hs_python_word(view, object + AT_TYPE) + AT_TYPE_NAME), type,
            sizeof type) ||
        strcmp(type, "str") != 0)
        return NULL;
    uint64_t length = hs_python_word(view, object + AT_LENGTH);
    const uint8_t *bytes = length > FILE_BYTES ? NULL : hs_python_bytes(view, text_at, length + 1);
    bool is_whole = bytes != NULL && strnlen((const char *)bytes, length + 1) == length;
    return is_whole ? bytes : NULL;
}

bool hs_python_is_text(const struct py_view *view, hs_addr text_at)
{
    return text_of_object(view, text_at) != NULL;
}

bool hs_python_class_text(const struct py_view *view, hs_addr text_at, char text[PY_NAME_BYTES])
{
    static const char rest[] = "[...]";
    const uint8_t *bytes = text_of_object(view, text_at);

    if (bytes == NULL)
        return false;
    size_t n = 0;
    while (n + sizeof rest < PY_NAME_BYTES && is_of_name(bytes[n], n == 0))
        n++;
    memcpy(text, bytes, n);
    memcpy(text + n, rest, sizeof rest);
    return true;
}

void hs_python_base_name(const struct py_view *view, hs_addr object, char text[PY_NAME_BYTES])
{
    char path[FILE_BYTES];

    text[0] = '\0';
    if (!hs_python_ascii(view, object, path, sizeof path))
        return;
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    for (const char *at = base; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return;
    size_t length = strlen(base);
    if (length < PY_NAME_BYTES)
        memcpy(text, base, length + 1);
}

/* Finds the path below the directory of the standard library, as in "/lib/python3.11/threading.py"
 * or
 * "/lib/python311.zip/threading.py"; NULL: it is not there. */
static const char *below_standard(const char *path)
{
    static const char version[] = "/python3", zip[] = ".zip";
    const char *at, *found = NULL;

    for (at = strstr(path, version); at != NULL; at = strstr(at + 1, version)) {
        const char *end = at + strlen(version);
        end += *end == '.';
        end += strspn(end, "0123456789t");
        if (strncmp(end, zip, strlen(zip)) == 0)
            end += strlen(zip);
        if (*end == '/')
            found = end + 1;
    }
    return found;
}

hs_addr hs_python_main_file(const struct py_view *view, hs_addr modules)
{
    enum { MODULE_DICT = 16 };
    hs_addr main = hs_python_dict_value(view, modules, "__main__");
    hs_addr dict = main == 0 ? 0 : hs_python_word(view, main + MODULE_DICT);
    return dict == 0 ? 0 : hs_python_dict_value(view, dict, "__file__");
}

static bool is_path(const struct py_view *view, hs_addr object, const char *path)
{
    char text[FILE_BYTES];
    return object != 0 && hs_python_ascii(view, object, text, sizeof text) &&
           strcmp(text, path) == 0;
}

enum py_library hs_python_library(const struct py_view *view, hs_addr object, hs_addr main_file)
{
    static const char *const loops[] = {"asyncio/",  "trio/",  "anyio/",  "gevent/",
                                        "eventlet/", "curio/", "uvloop/", "greenlet/"};
    static const char packages[] = "-packages/";
    char path[FILE_BYTES];

    if (!hs_python_ascii(view, object, path, sizeof path))
        return PY_LIBRARY_NONE;
    const char *below = below_standard(path), *of_package = strstr(path, packages);
    const char *name = of_package != NULL ? of_package + strlen(packages) : below;
    if (name == NULL)
        return PY_LIBRARY_NONE;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        if (strncmp(name, loops[i], strlen(loops[i])) == 0)
            return PY_LIBRARY_LOOP;
    return of_package != NULL || is_path(view, main_file, path) ? PY_LIBRARY_NONE
                                                                : PY_LIBRARY_STANDARD;
}

void hs_python_entries(const struct py_view *view, hs_addr dict, struct py_entries *ret)
{
    *ret = (struct py_entries){.values =
                                   hs_python_values(view, hs_python_word(view, dict + AT_VALUES))};
    if (!hs_python_keys(view, hs_python_word(view, dict + AT_KEYS), &ret->keys))
        ret->keys.n_entries = 0;
}

bool hs_python_next_entry(const struct py_view *view, struct py_entries *it)
{
    uint64_t n_words = it->keys.is_text ? 2 : 3;

    while (it->next < it->keys.n_entries && it->next < MAX_ENTRIES && hs_python_may_look(view, 1)) {
        uint64_t i = it->next++;
        hs_addr key = it->keys.entries + (i * n_words + n_words - 2) * PY_WORD;
        const uint8_t *bytes = hs_python_bytes(view, key, (size_t)2 * PY_WORD);
        if (bytes == NULL)
            return false; /* it claims more than there is */
        it->key = hs_load_u64(bytes);
        it->slot = it->values != 0 ? it->values + i * PY_WORD : key + PY_WORD;
        it->value = hs_python_word(view, it->slot);
        if (it->key != 0 && it->value != 0)
            return true;
    }
    return false;
}

hs_addr hs_python_dict_value(const struct py_view *view, hs_addr dict, const char *key)
{
    struct py_entries it;
    char text[PY_NAME_BYTES];

    hs_python_entries(view, dict, &it);
    while (hs_python_next_entry(view, &it))
        if (hs_python_ascii(view, it.key, text, sizeof text) && strcmp(text, key) == 0)
            return it.value;
    return 0;
}
