#include "kinship.h"

#include <string.h>

static const char *name_of(const struct hs_compared *file, hs_str id)
{
    return hs_strtab_get(&file->keys.names, id);
}

/* The first word of a command without its directories; *ret_n bytes. */
static const char *program_of(const char *command, size_t *ret_n)
{
    size_t n = strcspn(command, " ");
    const char *begin = command;
    for (size_t i = 0; i < n; i++)
        if (command[i] == '/')
            begin = command + i + 1;
    *ret_n = n - (size_t)(begin - command);
    return begin;
}

static bool is_called(const char *path, const char *program, size_t n)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    return strlen(base) == n && strncmp(base, program, n) == 0;
}

/* The build id of the program itself; "" when it is not known. */
static const char *build_of(const struct hs_compared *file)
{
    size_t n;
    const char *program = program_of(name_of(file, file->keys.facts.command), &n);
    for (size_t i = 0; i < file->keys.n_builds; i++)
        if (is_called(name_of(file, file->keys.builds[i].path), program, n))
            return name_of(file, file->keys.builds[i].build_id);
    return "";
}

static bool is_other_program(const struct hs_compared *a, const struct hs_compared *b)
{
    size_t n_a, n_b;
    const char *of_a = program_of(name_of(a, a->keys.facts.command), &n_a);
    const char *of_b = program_of(name_of(b, b->keys.facts.command), &n_b);
    if (n_a == 0 || n_b == 0 || (n_a == n_b && strncmp(of_a, of_b, n_a) == 0))
        return false;
    return build_of(a)[0] == '\0' || strcmp(build_of(a), build_of(b)) != 0;
}

static hs_status refuse(const struct hs_compared *a, const struct hs_compared *b,
                        struct hs_error *err, const char *why)
{
    return hs_fail(err, HS_USAGE, "cannot compare '%.100s' with '%.100s': %s", a->path, b->path,
                   why);
}

hs_status hs_kinship_check(const struct hs_compared *a, const struct hs_compared *b,
                           struct hs_error *err)
{
    const struct hs_key_facts *of_a = &a->keys.facts, *of_b = &b->keys.facts;
    if (is_other_program(a, b)) {
        (void)refuse(a, b, err, "they are of different programs");
        return hs_hint(err, "one ran '%.80s', the other '%.80s'", name_of(a, of_a->command),
                       name_of(b, of_b->command));
    }
    if (of_a->word_bytes != of_b->word_bytes) {
        (void)refuse(a, b, err, "their words have different sizes");
        return hs_hint(err, "one has words of %u bytes, the other of %u", of_a->word_bytes,
                       of_b->word_bytes);
    }
    if (of_a->policy != of_b->policy) {
        (void)refuse(a, b, err, "their keys were counted by different policies");
        return hs_hint(err, "give the snapshots themselves, and one --policy for all");
    }
    return HS_OK;
}

bool hs_kinship_is_process(const struct hs_compared *a, const struct hs_compared *b)
{
    const struct hs_key_facts *of_a = &a->keys.facts, *of_b = &b->keys.facts;
    return of_a->pid == of_b->pid && of_a->started_ns == of_b->started_ns;
}

void hs_kinship_talk(const struct hs_comparison *comparison)
{
    const struct hs_compared *first = &comparison->files[0];
    bool other_build = false, restarted = false, is_cut = false, timeless = false;
    for (size_t i = 0; i < comparison->n; i++) {
        const struct hs_compared *file = &comparison->files[i];
        other_build |= strcmp(build_of(first), build_of(file)) != 0;
        restarted |= !hs_kinship_is_process(first, file);
        is_cut |= file->keys.facts.is_cut;
        timeless |= file->keys.facts.taken_ns == 0;
    }
    if (other_build)
        hs_talk("warning: different builds of the program: what was renamed or moved in its "
                "source comes and goes as another key");
    if (restarted && !other_build)
        hs_talk("note: the program was started anew in between: what it loads at its start "
                "counts as growth, too");
    if (is_cut)
        hs_talk("warning: there were more keys than are told apart: what is beyond belongs to "
                "the key above it");
    if (timeless)
        hs_talk("note: not all snapshots say when they were taken: they are compared in the order "
                "given, and nothing is told per hour");
}
