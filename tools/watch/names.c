#include "names.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char name_begin[] = "heap-";
static const char name_end[] = ".snap", keys_end[] = ".keys";
enum { MIN_DIGITS = 6, MAX_DIGITS = 12, RANDOM_LETTERS = 6 };

static void format_time(int64_t unix_s, const char *format, char *text)
{
    time_t time = (time_t)unix_s;
    struct tm parts = {0};

    if (gmtime_r(&time, &parts) == NULL || strftime(text, HS_WATCH_TIME_BYTES, format, &parts) == 0)
        text[0] = '\0';
}

void hs_watch_time_format(int64_t unix_s, char *text)
{
    format_time(unix_s, "%Y-%m-%dT%H:%M:%SZ", text);
}

void hs_watch_name_format(int64_t unix_s, uint64_t number, char *name)
{
    char time[HS_WATCH_TIME_BYTES];
    format_time(unix_s, "%Y%m%dT%H%M%SZ", time);
    (void)snprintf(name, HS_WATCH_NAME_BYTES, "%s%.16s-%06llu%s", name_begin, time,
                   (unsigned long long)number, name_end);
}

/* Tells whether `text` begins with what the pattern says: 0 stands for a digit, all else for
 * itself. */
static bool fits(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; pattern++, text++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return true;
}

/* Parses a name at the start of `text`; how many bytes it has, 0 when none stands there. */
static size_t parse_at(const char *text, uint64_t *ret_number)
{
    static const char pattern[] = "heap-00000000T000000Z-";
    const char *digits = text + sizeof pattern - 1;

    if (!fits(text, pattern))
        return 0;
    size_t n = strspn(digits, "0123456789");
    if (n < MIN_DIGITS || n > MAX_DIGITS || (n > MIN_DIGITS && digits[0] == '0') ||
        strncmp(digits + n, name_end, sizeof name_end - 1) != 0)
        return 0;
    uint64_t number = 0;
    for (size_t i = 0; i < n; i++)
        number = number * 10 + (uint64_t)(digits[i] - '0');
    *ret_number = number;
    return (size_t)(digits - text) + n + sizeof name_end - 1;
}

bool hs_watch_name_parse(const char *name, uint64_t *ret_number)
{
    uint64_t number;
    size_t n = parse_at(name, &number);
    if (n == 0 || name[n] != '\0')
        return false;
    *ret_number = number;
    return true;
}

bool hs_watch_name_parse_keys(const char *name, uint64_t *ret_number)
{
    uint64_t number;
    size_t n = parse_at(name, &number);
    if (n == 0 || strcmp(name + n, keys_end) != 0)
        return false;
    *ret_number = number;
    return true;
}

bool hs_watch_name_is_neighbour(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    uint64_t number;

    if (name[0] != '.')
        return false;
    size_t n = parse_at(name + 1, &number);
    const char *tail = name + 1 + n;
    if (n != 0 && strncmp(tail, keys_end, sizeof keys_end - 1) == 0)
        tail += sizeof keys_end - 1;
    return n != 0 && tail[0] == '.' && strspn(tail + 1, letters) == RANDOM_LETTERS &&
           tail[1 + RANDOM_LETTERS] == '\0';
}
