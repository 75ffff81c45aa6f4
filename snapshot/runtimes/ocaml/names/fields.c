#include "fields.h"

#include <string.h>

bool hs_fields_split(const char *line, size_t n_bytes, struct hs_text_field fields[HS_FIELDS_MAX],
                     size_t *ret_n)
{
    const char *end = line + n_bytes;

    for (size_t n = 0; n < HS_FIELDS_MAX; n++) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        const char *stop = tab != NULL ? tab : end;
        if (stop - line > HS_FIELD_BYTES)
            return false;
        fields[n] = (struct hs_text_field){line, (size_t)(stop - line)};
        if (tab == NULL) {
            *ret_n = n + 1;
            return true;
        }
        line = tab + 1;
    }
    return false;
}

bool hs_field_is_clean(struct hs_text_field field)
{
    for (size_t i = 0; i < field.n_bytes; i++)
        if ((unsigned char)field.text[i] < ' ' || field.text[i] == 0x7f)
            return false;
    return true;
}

bool hs_field_number(struct hs_text_field field, uint32_t most, uint32_t *ret)
{
    uint64_t value = 0;

    if (field.n_bytes == 0 || field.n_bytes > 10)
        return false;
    for (size_t i = 0; i < field.n_bytes; i++) {
        if (field.text[i] < '0' || field.text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(field.text[i] - '0');
    }
    if (value > most)
        return false;
    *ret = (uint32_t)value;
    return true;
}

void hs_field_word(const char *word, size_t n, char *ret, size_t n_ret)
{
    static const char letters[] = "+~-.abcdefghijklmnopqrstuvwxyz0123456789";

    if (n >= n_ret)
        return;
    for (size_t i = 0; i < n; i++)
        if (word[i] == '\0' || strchr(letters, word[i]) == NULL)
            return;
    memcpy(ret, word, n);
    ret[n] = '\0';
}
