/* export --to sqlite: a database file with a row for each block, edge, root, type, key and sample.
 *
 * Numbers stand in tables, names once beside them; the views blocks and edges put them together.
 * Addresses are kept as numbers of 64 bits and shown as text: above 2^63 SQLite has only negative
 * ones. Made in a temporary file, since SQLite seeks, and copied from front to end. */
#include "export/exporter.h"

#ifdef HS_HAVE_SQLITE

#include <stdio.h>
#include <unistd.h>

#include "analysis/chunk_pass.h"
#include "analysis/keys.h"
#include "base/alloc.h"
#include "report/text.h"
#include "sqlite_spill.h"

enum { COPY_BYTES = 1 << 20, MOST_COLUMNS = 16 };

static const char schema[] =
    "pragma journal_mode = off; pragma synchronous = off; pragma locking_mode = exclusive;"
    "pragma temp_store = file; begin;"
    "create table snapshot(pid, command, taken_ns, word_bytes, objects, words, static_words);"
    "create table types(id integer primary key, name text, objects, words);"
    "create table tiers(id integer primary key, name text);"
    "create table classes(id integer primary key, name text);"
    "create table block_data(id integer primary key, address, words, static, type_id, idom,"
    " retained_words, retained_objects, root_id, tier);"
    "create table edge_data(src, dst, offset, class);"
    "create table roots(id integer primary key, parent, kind text, name text, module text,"
    " symbol text, file text, line, thread, target, weak, reachable_words, retained_words);"
    "create table keys(id integer primary key, parent, name text, key text, objects, words,"
    " owned_words);"
    "create table samples(id, block, n, words, function text, file text, line);"
    "create view blocks as select b.id, printf('0x%x', address) address, b.words, static,"
    " t.name type, type_id, idom, retained_words, retained_objects, root_id, s.name tier"
    " from block_data b left join types t on t.id = type_id left join tiers s on s.id = tier;"
    "create view edges as select src, dst, offset, c.name class from edge_data"
    " left join classes c on c.id = class;";

static const char ending[] = "create index edges_src on edge_data(src);"
                             "create index edges_dst on edge_data(dst);"
                             "create index blocks_idom on block_data(idom);"
                             "create index blocks_type on block_data(type_id); commit;";

struct dump {
    struct hs_view *view;
    struct hs_keys keys;
    struct hs_sqlite_spill spill;
    sqlite3_stmt *blocks, *edges;        /* owned: what rows go into */
    uint64_t *n_of_type, *words_of_type; /* owned */
    hs_node *nodes, *roots;              /* owned: of a chunk */
    struct hs_buffer clean;              /* a name as it may be shown */
};

/* A value of a row: a text, or a number; HS_NO_NODE is null. */
struct value {
    const char *text; /* NULL: it is a number */
    uint64_t number;
};

static struct value of_text(const char *text)
{
    return (struct value){.text = text};
}

static struct value of_number(uint64_t number)
{
    return (struct value){.number = number};
}

static hs_status prepare(struct dump *d, const char *table, size_t n, sqlite3_stmt **ret,
                         struct hs_error *err)
{
    char sql[128];
    int used = snprintf(sql, sizeof sql, "insert into %s values(?", table);
    for (size_t i = 1; i < n; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, ",?");
    (void)snprintf(sql + used, sizeof sql - (size_t)used, ")");
    return hs_sqlite_spill_check(&d->spill, sqlite3_prepare_v2(d->spill.db, sql, -1, ret, NULL),
                                 err);
}

/* Whoever opens the database shows what is in it, also on a terminal: names are as elsewhere. */
static hs_status bind_text(struct dump *d, sqlite3_stmt *into, int at, const char *text,
                           struct hs_error *err)
{
    d->clean.n_bytes = 0;
    HS_TRY(hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &d->clean, err));
    const char *clean = d->clean.n_bytes == 0 ? "" : (const char *)d->clean.bytes;
    return hs_sqlite_spill_check(
        &d->spill,
        sqlite3_bind_text64(into, at, clean, d->clean.n_bytes, SQLITE_TRANSIENT, SQLITE_UTF8), err);
}

static hs_status insert(struct dump *d, sqlite3_stmt *into, const struct value *values, size_t n,
                        struct hs_error *err)
{
    int result = SQLITE_OK;
    for (size_t i = 0; i < n && result == SQLITE_OK; i++) {
        int at = (int)i + 1;
        if (values[i].text != NULL)
            HS_TRY(bind_text(d, into, at, values[i].text, err));
        else if (values[i].number == HS_NO_NODE)
            result = sqlite3_bind_null(into, at);
        else
            result = sqlite3_bind_int64(into, at, (sqlite3_int64)values[i].number);
    }
    if (result == SQLITE_OK)
        result = sqlite3_step(into);
    hs_status status = hs_sqlite_spill_check(&d->spill, result, err);
    (void)sqlite3_reset(into);
    return status;
}

/* Of tables of few rows. */
static hs_status insert_one(struct dump *d, const char *table, const struct value *values, size_t n,
                            struct hs_error *err)
{
    sqlite3_stmt *into = NULL;
    hs_status status = prepare(d, table, n, &into, err);
    if (status == HS_OK)
        status = insert(d, into, values, n, err);
    (void)sqlite3_finalize(into);
    return status;
}

#define INSERT_ONE(d, table, err, ...)                        \
    insert_one(d, table, (const struct value[]){__VA_ARGS__}, \
               sizeof((const struct value[]){__VA_ARGS__}) / sizeof(struct value), err)

/* ---- blocks and edges ---- */

static hs_status put_edges(struct dump *d, const struct hs_chunk *chunk, struct hs_error *err)
{
    uint64_t word_bytes = d->view->facts->word_bytes;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++) {
            const struct value row[] = {of_number(chunk->first + i), of_number(chunk->target[e]),
                                        of_number(chunk->offset_words[e] * word_bytes),
                                        of_number(chunk->edge_class[e])};
            HS_TRY(insert(d, d->edges, row, 4, err));
        }
    for (uint64_t e = 0; e < chunk->n_extra; e++) {
        const struct hs_extra_edge *extra = &chunk->extra[e];
        const struct value row[] = {of_number(extra->source), of_number(extra->target),
                                    of_number(extra->offset_words * word_bytes),
                                    of_number(extra->edge_class)};
        HS_TRY(insert(d, d->edges, row, 4, err));
    }
    return HS_OK;
}

static hs_status put_chunk(struct dump *d, const struct hs_chunk *chunk, struct hs_error *err)
{
    struct hs_index *index = d->view->index;
    for (uint32_t i = 0; i < chunk->n_blocks; i++)
        d->nodes[i] = chunk->first + i;
    HS_TRY(hs_view_retaining_roots(d->view, d->nodes, chunk->n_blocks, d->roots, err));
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        struct hs_sizes retained = hs_index_retained(index, node);
        const struct value row[] = {of_number(node),
                                    of_number(chunk->address[i]),
                                    of_number(chunk->words[i]),
                                    of_number((chunk->state[i] & HS_BLOCK_STATIC) != 0),
                                    of_number(chunk->type[i]),
                                    of_number(hs_index_idom(index, node)),
                                    of_number(retained.words),
                                    of_number(retained.objects),
                                    of_number(d->roots[i]),
                                    of_number(hs_index_tier(index, node))};
        HS_TRY(insert(d, d->blocks, row, sizeof row / sizeof *row, err));
        d->n_of_type[chunk->type[i]]++;
        d->words_of_type[chunk->type[i]] += chunk->words[i];
    }
    return put_edges(d, chunk, err);
}

static hs_status put_blocks(struct dump *d, struct hs_error *err)
{
    HS_TRY(prepare(d, "block_data", 10, &d->blocks, err));
    HS_TRY(prepare(d, "edge_data", 4, &d->edges, err));
    HS_TRY(HS_ALLOC(&d->n_of_type, d->view->totals->n_types, err));
    HS_TRY(HS_ALLOC(&d->words_of_type, d->view->totals->n_types, err));
    HS_TRY(HS_ALLOC(&d->nodes, HS_CHUNK_BLOCKS, err));
    HS_TRY(HS_ALLOC(&d->roots, HS_CHUNK_BLOCKS, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(d->view, HS_COL_ALL, "exporting");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = put_chunk(d, &pass.chunk, err);
    return hs_chunk_pass_end(&pass);
}

/* ---- the small tables ---- */

static hs_status put_names(struct dump *d, struct hs_error *err)
{
    for (unsigned i = 0; i <= HS_TIER_NONE; i++)
        HS_TRY(INSERT_ONE(d, "tiers", err, of_number(i),
                          of_text(i == HS_TIER_NONE ? "-" : hs_tier_name(i))));
    for (unsigned i = 0; i < HS_N_EDGE_CLASSES; i++)
        HS_TRY(INSERT_ONE(d, "classes", err, of_number(i), of_text(hs_edge_class_name(i))));
    for (uint32_t i = 0; i < d->view->totals->n_types; i++)
        HS_TRY(INSERT_ONE(d, "types", err, of_number(i),
                          of_text(hs_view_string(d->view, hs_snap_type(d->view->snap, i)->name)),
                          of_number(d->n_of_type[i]), of_number(d->words_of_type[i])));
    return HS_OK;
}

static hs_status put_facts(struct dump *d, struct hs_error *err)
{
    const struct hs_snap_facts *facts = d->view->facts;
    const struct hs_snap_totals *totals = d->view->totals;
    return INSERT_ONE(d, "snapshot", err, of_number(facts->pid),
                      of_text(hs_view_string(d->view, facts->command)), of_number(facts->taken_ns),
                      of_number(facts->word_bytes),
                      of_number(totals->n_blocks - totals->n_static_blocks),
                      of_number(totals->heap_words), of_number(totals->static_words));
}

static hs_status put_roots(struct dump *d, struct hs_error *err)
{
    struct hs_view *view = d->view;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        HS_TRY(INSERT_ONE(
            d, "roots", err, of_number(node), of_number(node == 0 ? HS_NO_NODE : root->parent),
            of_text(hs_root_kind_name(root->kind)), of_text(hs_view_string(view, root->name)),
            of_text(hs_view_string(view, root->module)),
            of_text(hs_view_string(view, root->symbol)), of_text(hs_view_string(view, root->file)),
            of_number(root->line), of_number(root->thread), of_number(root->target),
            of_number(root->weak), of_number(hs_index_reachable(view->index, node).words),
            of_number(hs_index_retained(view->index, node).words)));
    }
    return HS_OK;
}

static hs_status put_keys(struct dump *d, struct hs_error *err)
{
    char text[HS_KEY_TEXT_BYTES];
    for (uint32_t i = 0; i < d->keys.n; i++) {
        const struct hs_key *key = &d->keys.keys[i];
        hs_key_text(&d->keys, i, text, sizeof text);
        HS_TRY(INSERT_ONE(d, "keys", err, of_number(i),
                          of_number(key->parent == HS_NO_KEY ? HS_NO_NODE : key->parent),
                          of_text(hs_strtab_get(&d->keys.names, key->name)), of_text(text),
                          of_number(key->own.objects), of_number(key->own.words),
                          of_number(key->all.words)));
    }
    return HS_OK;
}

static hs_status put_samples(struct dump *d, struct hs_error *err)
{
    struct hs_view *view = d->view;
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        struct hs_site_frame frame = {0};
        size_t n;
        if (sample->site != HS_NO_SITE)
            frame = hs_snap_site(view->snap, sample->site, &n)[0];
        HS_TRY(INSERT_ONE(d, "samples", err, of_number(sample->id), of_number(sample->node),
                          of_number(sample->n_samples), of_number(sample->words),
                          of_text(hs_view_string(view, frame.function)),
                          of_text(hs_view_string(view, frame.file)), of_number(frame.line)));
    }
    return HS_OK;
}

/* ---- the file ---- */

static hs_status copy_out(const struct dump *d, struct hs_out *out, struct hs_error *err)
{
    hs_auto_free uint8_t *bytes = NULL;
    HS_TRY(HS_ALLOC(&bytes, COPY_BYTES, err));
    for (off_t at = 0;;) {
        ssize_t n = pread(d->spill.fd, bytes, COPY_BYTES, at);
        if (n < 0)
            return hs_fail_errno(err, HS_IO, "cannot read the database again");
        if (n == 0)
            return HS_OK;
        HS_TRY(hs_out_write(out, bytes, (size_t)n, err));
        at += n;
    }
}

static hs_status put_all(struct dump *d, struct hs_out *out, struct hs_error *err)
{
    /* Finding keys needs most memory: too little is told at once, and SQLite's comes after it. */
    HS_TRY(hs_keys_find(d->view, &(struct hs_keys_query){0}, &d->keys, err));
    HS_TRY(hs_sqlite_spill_open(&d->spill, d->view->session.budget, err));
    HS_TRY(hs_sqlite_spill_exec(&d->spill, schema, err));
    HS_TRY(put_facts(d, err));
    HS_TRY(put_blocks(d, err));
    HS_TRY(put_names(d, err));
    HS_TRY(put_roots(d, err));
    HS_TRY(put_keys(d, err));
    HS_TRY(put_samples(d, err));
    HS_TRY(hs_progress_tell(d->view->session.progress, "ordering edges", 0, 0, err));
    HS_TRY(hs_sqlite_spill_exec(&d->spill, ending, err));
    return copy_out(d, out, err);
}

static hs_status export_sqlite(struct hs_view *view, const struct hs_export_target *target,
                               struct hs_error *err)
{
    struct dump d = {.view = view};
    hs_status status = put_all(&d, target->out, err);
    (void)sqlite3_finalize(d.blocks);
    (void)sqlite3_finalize(d.edges);
    hs_sqlite_spill_close(&d.spill);
    hs_keys_fini(&d.keys);
    hs_free(d.n_of_type);
    hs_free(d.words_of_type);
    hs_free(d.nodes);
    hs_free(d.roots);
    hs_buffer_fini(&d.clean);
    return status;
}

#else

static hs_status export_sqlite(struct hs_view *view, const struct hs_export_target *target,
                               struct hs_error *err)
{
    (void)view, (void)target;
    (void)hs_fail(err, HS_USAGE, "this heapsnap was built without SQLite");
    return hs_hint(err, "build it with -DHS_SQL=ON, or export to parquet");
}

#endif

const struct hs_exporter hs_exporter_sqlite = {
    .needs = HS_VIEW_INDEX,
    .is_binary = true,
    .write = export_sqlite,
};
