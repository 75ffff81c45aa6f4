#include "access.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <string.h>

#include "base/units.h"

static hs_status parse_mode(const char *text, mode_t *ret, struct hs_error *err)
{
    mode_t mode = 0;
    size_t n = strlen(text);

    if (n < 3 || n > 4 || strspn(text, "01234567") != n || (n == 4 && text[0] != '0')) {
        (void)hs_fail(err, HS_USAGE, "--mode: '%.80s' is not a mode", text);
        return hs_hint(err, "three octal digits, for the owner, the group and others: 0640");
    }
    for (size_t i = 0; i < n; i++)
        mode = mode << 3 | (mode_t)(text[i] - '0');
    *ret = mode;
    return HS_OK;
}

/* A name wins over a number, as in chown(1). */
static hs_status parse_group(const char *text, gid_t *ret, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t number;

    errno = 0;
    const struct group *group = getgrnam(text);
    if (group != NULL) {
        *ret = group->gr_gid;
        return HS_OK;
    }
    /* The largest says "leave it" to chown(2). */
    if (hs_parse_count(text, &number, &ignored) == HS_OK && number < UINT32_MAX) {
        *ret = (gid_t)number;
        return HS_OK;
    }
    (void)hs_fail(err, HS_USAGE, "--group: there is no group '%.80s'", text);
    return hs_hint(err, "'id' lists the groups that you are in; a number will do, too");
}

hs_status hs_access_parse(const struct hs_invocation *inv, struct hs_out_access *ret,
                          struct hs_error *err)
{
    struct hs_out_access access = {
        .has_mode = hs_given(inv, HS_OPT_MODE),
        .has_group = hs_given(inv, HS_OPT_GROUP),
    };
    if (access.has_mode)
        HS_TRY(parse_mode(inv->text[HS_OPT_MODE], &access.mode, err));
    if (access.has_group)
        HS_TRY(parse_group(inv->text[HS_OPT_GROUP], &access.group, err));
    *ret = access;
    return HS_OK;
}

mode_t hs_access_directory_mode(const struct hs_out_access *access)
{
    mode_t mode = access->has_mode ? access->mode : access->has_group ? 0640 : 0600;
    return mode | (mode & 0444) >> 2 | 0300;
}
