/* The contents of a key file, counted from a snapshot and its index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "analysis/key_file.h"
#include "analysis/leak_report.h"
#include "analysis/root_rows.h"
#include "analysis/type_rows.h"
#include "base/alloc.h"
#include "key_format.h"
#include "key_merge.h"
#include "key_sites.h"
#include "type_rank.h"

/* ---- lists ---- */

static uint64_t rank_of(const struct hs_view *view, const struct hs_key *key)
{
    if (key->form != HS_KEY_TYPE || key->type == HS_UNTYPED)
        return 0;
    const struct hs_type *type = hs_snap_type(view->snap, key->type);
    return hs_type_rank(hs_view_string(view, type->name), type->form);
}

static hs_status add_keys(const struct hs_view *view, const struct hs_keys *keys,
                          struct hs_snap_keys *table, struct hs_error *err)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct hs_key *key = &keys->keys[i];
        const char *name = hs_strtab_get(&keys->names, key->name);
        const struct hs_key_row row = {
            .parent = key->parent,
            .form = key->form,
            .objects = key->all.objects,
            .words = key->all.words,
            .detail = key->own.words,
            .set = key->set,
            .tells = rank_of(view, key),
        };
        if (i != 0 && name[0] == '\0')
            name = "?";
        HS_TRY(hs_snap_keys_add(table, HS_KEY_LIST_KEYS, i == 0 ? "" : name, &row, err));
    }
    return HS_OK;
}

static hs_status add_roots(const struct hs_view *view, struct hs_snap_keys *table,
                           struct hs_error *err)
{
    const struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};
    struct key_merge merge = {.table = table, .list = HS_KEY_LIST_ROOTS};
    struct hs_root_rows rows;
    char name[HS_KEY_TEXT_BYTES];
    HS_TRY(hs_root_rows_select(view, &query, &rows, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++) {
        const struct hs_root_row *root = &rows.rows[i];
        const struct hs_key_row row = {.parent = HS_NO_KEY,
                                       .objects = root->retained.objects,
                                       .words = root->retained.words,
                                       .detail = root->reachable.words};
        hs_key_root_name(view, root->node, name, sizeof name);
        status = key_merge_add(&merge, name, &row, err);
    }
    key_merge_end(&merge);
    hs_root_rows_fini(&rows);
    return status;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* "a, b and 3 more": by name, so that the order of addresses does not matter; roots of one name are
 * told once. */
static hs_status set_name(const struct hs_view *view, uint32_t set, char *text, size_t n,
                          struct hs_error *err)
{
    enum { NAME_BYTES = 96, LOOK_AT = 64 };
    char names[LOOK_AT][NAME_BYTES];
    struct hs_row row = hs_index_set_roots(view->index, set);
    size_t n_names = 0, at = 0, n_told = 0, i = 0;
    for (hs_node node; n_names < LOOK_AT && hs_row_next(&row, &node); n_names++)
        hs_key_root_name(view, node, names[n_names], NAME_BYTES);
    HS_TRY(hs_row_check(&row, err));
    qsort(names, n_names, NAME_BYTES, by_text);
    uint64_t n_roots = hs_index_set(view->index, set).n_roots;
    text[0] = '\0';
    for (; i < n_names && at + 1 < n; i++) {
        if (i > 0 && strcmp(names[i], names[i - 1]) == 0)
            continue;
        if (n_told++ == HS_KEY_SET_NAMES)
            break;
        at += (size_t)snprintf(text + at, n - at, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    if (i < n_roots && at + 1 < n)
        (void)snprintf(text + at, n - at, "%s%llu more", i == 0 ? "" : " and ",
                       (unsigned long long)(n_roots - i));
    return HS_OK;
}

static hs_status add_sets(const struct hs_view *view, struct hs_snap_keys *table,
                          struct hs_error *err)
{
    struct key_merge merge = {.table = table, .list = HS_KEY_LIST_SETS};
    uint32_t n = hs_index_n_sets(view->index);
    hs_status status = HS_OK;
    char name[HS_KEY_TEXT_BYTES];
    for (uint32_t set = 1; set <= n && set <= HS_KEY_ROWS_MOST && status == HS_OK; set++) {
        struct hs_sizes sizes = hs_index_set(view->index, set).retained;
        const struct hs_key_row row = {
            .parent = HS_NO_KEY, .objects = sizes.objects, .words = sizes.words};
        status = set_name(view, set, name, sizeof name, err);
        if (status == HS_OK)
            status = key_merge_add(&merge, name, &row, err);
    }
    key_merge_end(&merge);
    return status;
}

static hs_status add_types(const struct hs_view *view, struct hs_snap_keys *table,
                           struct hs_error *err)
{
    const struct hs_type_query query = {.level = HS_TYPE_HEAD, .max_rows = HS_KEY_ROWS_MOST};
    struct key_merge merge = {.table = table, .list = HS_KEY_LIST_TYPES};
    struct hs_type_rows rows;
    char name[HS_TYPE_NAME_BYTES];
    HS_TRY(hs_type_rows_select(view, &query, &rows, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++) {
        const struct hs_type_row *type = &rows.rows[i];
        const struct hs_key_row row = {.parent = HS_NO_KEY,
                                       .objects = type->shallow.objects,
                                       .words = type->shallow.words,
                                       .detail = type->retained_words};
        hs_type_family_name(view, type->type, HS_TYPE_HEAD, name, sizeof name);
        status = key_merge_add(&merge, name, &row, err);
    }
    key_merge_end(&merge);
    hs_type_rows_fini(&rows);
    return status;
}

static hs_status add_leaks(struct hs_view *view, struct hs_snap_keys *table, struct hs_error *err)
{
    static const struct hs_suppressions nothing = {0};
    const struct hs_leak_query query = {
        .suppressions = &nothing,
        .certainties = 1 << HS_LEAK_CERTAIN | 1 << HS_LEAK_POSSIBLE,
        .max_rows = HS_KEY_ROWS_MOST,
    };
    struct key_merge merge = {.table = table, .list = HS_KEY_LIST_LEAKS};
    struct hs_leak_report report = {0};
    /* Garbage in a collector's heap comes and goes, and is no key. */
    if (table->facts.moves || hs_leak_is_garbage(view) ||
        hs_index_unreached_total(view->index).words == 0)
        return HS_OK;
    HS_TRY(hs_leak_report_find(view, &query, &report, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < report.groups.n_groups && status == HS_OK; i++) {
        const struct hs_leak_group *group = &report.groups.groups[i];
        const struct hs_key_row row = {.parent = HS_NO_KEY,
                                       .form = group->certainty,
                                       .objects = group->count,
                                       .words = group->words,
                                       .detail = group->words_each,
                                       .tells = group->held_words};
        status = key_merge_add(&merge, hs_leak_type_name(&report, group), &row, err);
    }
    key_merge_end(&merge);
    hs_leak_report_fini(&report);
    return status;
}

/* ---- facts ---- */

uint64_t hs_key_sets_hash(struct hs_index *index)
{
    uint64_t hash = 0;
    for (uint32_t set = 1; set <= hs_index_n_sets(index); set++) {
        struct hs_owner_set it = hs_index_set(index, set);
        const uint64_t told[] = {it.retained.words, it.retained.objects, it.n_roots};
        hash = XXH3_64bits_withSeed(told, sizeof told, hash);
    }
    return hash;
}

static hs_status add_builds(const struct hs_view *view, struct hs_snap_keys *table,
                            struct hs_error *err)
{
    const struct hs_snap_facts *facts = view->facts;
    for (size_t i = 0; i < facts->n_binaries && table->n_builds < HS_KEY_BUILDS_MOST; i++) {
        const struct hs_binary *binary = &facts->binaries[i];
        if (binary->build_id == 0)
            continue;
        HS_TRY(HS_GROW(&table->builds, &table->builds_capacity, table->n_builds + 1, err));
        struct hs_key_build *build = &table->builds[table->n_builds];
        HS_TRY(hs_strtab_add(&table->names, hs_view_string(view, binary->path), &build->path, err));
        HS_TRY(hs_strtab_add(&table->names, hs_view_string(view, binary->build_id),
                             &build->build_id, err));
        table->n_builds++;
    }
    return HS_OK;
}

static bool blocks_move(const struct hs_view *view)
{
    return hs_view_has_runtime(view, "ocaml") || hs_leak_is_garbage(view);
}

static hs_status add_facts(const struct hs_view *view, struct hs_snap_keys *table,
                           struct hs_error *err)
{
    const struct hs_snap_facts *facts = view->facts;
    struct hs_key_facts *to = &table->facts;
    to->snap_checksum = view->totals->checksum;
    to->snap_bytes = view->totals->file_bytes;
    to->taken_ns = facts->taken_ns;
    to->started_ns = facts->started_ns;
    to->resident_bytes = facts->resident_bytes;
    to->heap_words = view->totals->heap_words;
    to->sets_hash = hs_key_sets_hash(view->index);
    to->pid = facts->pid;
    to->word_bytes = facts->word_bytes;
    to->moves = blocks_move(view);
    HS_TRY(hs_index_policy_key(view->snap, &view->session.policy, &to->policy, err));
    HS_TRY(hs_strtab_add(&table->names, hs_view_string(view, facts->command), &to->command, err));
    HS_TRY(hs_strtab_add(&table->names, hs_view_string(view, facts->tool_version),
                         &to->tool_version, err));
    return add_builds(view, table, err);
}

/* ---- all ---- */

static hs_status collect_keys(struct hs_view *view, struct hs_snap_keys *table,
                              struct hs_error *err)
{
    const struct hs_keys_query query = {.with_blocks = view->totals->n_samples != 0};
    struct hs_keys keys;
    HS_TRY(hs_keys_find(view, &query, &keys, err));
    table->facts.is_cut = keys.is_cut;
    hs_status status = add_keys(view, &keys, table, err);
    if (status == HS_OK && view->totals->n_samples != 0)
        status = key_sites_add(view, &keys, table, err);
    hs_keys_fini(&keys);
    return status;
}

static hs_status collect(struct hs_view *view, struct hs_snap_keys *table, struct hs_error *err)
{
    HS_TRY(add_facts(view, table, err));
    HS_TRY(collect_keys(view, table, err));
    HS_TRY(add_roots(view, table, err));
    HS_TRY(add_sets(view, table, err));
    HS_TRY(add_types(view, table, err));
    return add_leaks(view, table, err);
}

hs_status hs_snap_keys_collect(struct hs_view *view, struct hs_snap_keys *ret, struct hs_error *err)
{
    struct hs_snap_keys table = {0};
    hs_status status = collect(view, &table, err);
    if (status == HS_OK)
        *ret = table;
    else
        hs_snap_keys_fini(&table);
    return status;
}
