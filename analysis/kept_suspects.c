#include "kept_suspects.h"

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/own_build.h"
#include "kept_file.h"
#include "suspect_finds.h"

#define KEPT_SUSPECTS_VERSION 14
enum { TEXT_MOST = 1 << 16, ROWS_MOST = 1 << 16 };

static const struct hs_kept_file_kind kind = {
    .what = "the file of suspects",
    .end = ".suspects",
    .magic = 0x707375732e736e73ULL, /* "sns.susp" */
    .version = KEPT_SUSPECTS_VERSION,
    .is_own = true,
};

/* Writes a value or reads it, so that both ways are one list of fields. */
struct coder {
    const struct hs_view *view;
    struct hs_buffer *out; /* NULL: reads */
    struct hs_cursor in;
    hs_status status; /* HS_LIMIT: memory is short, and nothing more is done */
    struct hs_error *err;
};

static bool coder_is_over(const struct coder *c)
{
    return c->status != HS_OK || c->in.failed;
}

/* A number below `end`. */
static void number(struct coder *c, uint64_t *value, uint64_t end)
{
    if (coder_is_over(c))
        return;
    if (c->out == NULL)
        *value = hs_kept_file_below(&c->in, end);
    else if ((c->status = hs_buffer_reserve(c->out, HS_VARINT_MAX_BYTES, c->err)) == HS_OK)
        hs_buffer_put_varint(c->out, *value);
}

/* A number below `end`, or UINT64_MAX for none. */
static void number_or_none(struct coder *c, uint64_t *value, uint64_t end)
{
    uint64_t shifted = *value + 1;
    number(c, &shifted, end + 1);
    *value = shifted - 1;
}

#define SMALL(c, field, end)              \
    do {                                  \
        uint64_t number_ = (field);       \
        number(c, &number_, end);         \
        (field) = (typeof(field))number_; \
    } while (0)

static void size(struct coder *c, uint64_t *value)
{
    number(c, value, HS_KEPT_FILE_VALUE_MOST);
}

static void node(struct coder *c, hs_node *value)
{
    number_or_none(c, value, c->view->n_nodes);
}

static void type(struct coder *c, uint32_t *value)
{
    uint64_t wide = *value == HS_UNTYPED ? UINT64_MAX : *value;
    number_or_none(c, &wide, c->view->totals->n_types);
    *value = wide == UINT64_MAX ? HS_UNTYPED : (uint32_t)wide;
}

/* Codes a text of the heap, or NULL. */
static void text(struct coder *c, char **value)
{
    uint64_t n = *value == NULL ? 0 : strlen(*value) + 1;
    number(c, &n, TEXT_MOST);
    if (n == 0 || coder_is_over(c))
        return;
    if (c->out != NULL) {
        c->status = hs_buffer_reserve(c->out, n, c->err);
        if (c->status == HS_OK)
            hs_buffer_put_bytes(c->out, *value, n);
        return;
    }
    const uint8_t *bytes = hs_cursor_bytes(&c->in, n);
    if (bytes == NULL || memchr(bytes, 0, n) != bytes + n - 1)
        c->in.failed = true;
    else
        c->status = hs_strdup((const char *)bytes, value, c->err);
}

static void nodes(struct coder *c, hs_node **value, uint64_t n)
{
    uint64_t is_there = *value != NULL;
    number(c, &is_there, 2);
    if (is_there == 0 || coder_is_over(c))
        return;
    if (c->out == NULL) {
        if (n > hs_cursor_left(&c->in))
            c->in.failed = true;
        else
            c->status = HS_ALLOC(value, n, c->err);
    }
    for (uint64_t i = 0; i < n && !coder_is_over(c); i++)
        number(c, &(*value)[i], c->view->n_nodes);
}

static void accumulated(struct coder *c, struct hs_accumulated *group)
{
    type(c, &group->type);
    size(c, &group->n_blocks);
    size(c, &group->own_words);
    size(c, &group->words);
}

static void accumulation(struct coder *c, struct hs_accumulation *at)
{
    SMALL(c, at->n_steps, HS_GROUP_STEPS + 2);
    for (unsigned i = 0; i < at->n_steps; i++)
        accumulated(c, &at->steps[i]);
    SMALL(c, at->members, HS_GROUP_STEPS + 1);
    accumulated(c, &at->bulk);
    node(c, &at->bulk_top);
    accumulated(c, &at->peer);
    for (unsigned i = 0; i < 2; i++) {
        accumulated(c, &at->parts[i]);
        accumulated(c, &at->classes[i]);
        node(c, &at->class_tops[i]);
    }
    size(c, &at->median_words);
    size(c, &at->largest_words);
    for (unsigned i = 0; i < HS_MEMBER_SIZES; i++) {
        size(c, &at->sizes[i].words);
        size(c, &at->sizes[i].n);
    }
    node(c, &at->top);
    node(c, &at->point);
    size(c, &at->n_direct);
    size(c, &at->n_heads);
    SMALL(c, at->is_within, 2);
    size(c, &at->top_words);
}

static void roots(struct coder *c, struct hs_suspect *row)
{
    const uint64_t n_nodes = c->view->n_nodes;
    size(c, &row->n_roots);
    SMALL(c, row->n_shown, HS_SUSPECT_SHOWN_ROOTS + 1);
    for (uint32_t i = 0; i < row->n_shown; i++)
        number(c, &row->roots[i], n_nodes);
    nodes(c, &row->all_roots, row->n_roots);
    text(c, &row->fold_name);
    SMALL(c, row->n_modules, HS_SUSPECT_MODULES + 1);
    for (uint32_t i = 0; i < row->n_modules; i++) {
        SMALL(c, row->modules[i].module, UINT32_MAX);
        size(c, &row->modules[i].n_roots);
    }
    SMALL(c, row->n_files, HS_SUSPECT_FILES + 1);
    for (uint32_t i = 0; i < row->n_files; i++)
        SMALL(c, row->files[i], UINT32_MAX);
    node(c, &row->entry);
    size(c, &row->entry_words);
    size(c, &row->n_entry_referrers);
    node(c, &row->inner);
    size(c, &row->n_on_stacks);
    size(c, &row->n_threads);
    node(c, &row->outermost);
    SMALL(c, row->set, UINT32_MAX);
}

static void reserves(struct coder *c, struct hs_suspect *row)
{
    SMALL(c, row->tier, HS_N_TIERS);
    size(c, &row->doubtful_words);
    SMALL(c, row->is_weakly_held, 2);
    SMALL(c, row->reserve, HS_N_RESERVES);
    size(c, &row->untyped_words);
    size(c, &row->plain_words);
    size(c, &row->n_aliases);
    text(c, &row->alias);
}

static void equal_groups(struct coder *c, struct hs_equal_groups *equal)
{
    size(c, &equal->n);
    size(c, &equal->words);
    size(c, &equal->n_each);
    size(c, &equal->each_words);
    SMALL(c, equal->n_sizes, HS_EQUAL_SIZES + 1);
    for (unsigned i = 0; i < equal->n_sizes; i++) {
        size(c, &equal->sizes[i].words);
        size(c, &equal->sizes[i].n_blocks);
    }
    node(c, &equal->head);
}

static void suspect(struct coder *c, struct hs_suspect *row)
{
    SMALL(c, row->list, HS_N_SUSPECT_LISTS);
    size(c, &row->words);
    number_or_none(c, &row->objects, HS_KEPT_FILE_VALUE_MOST);
    SMALL(c, row->certainty, UINT8_MAX);
    roots(c, row);
    reserves(c, row);
    type(c, &row->type);
    SMALL(c, row->is_class, 2);
    SMALL(c, row->is_heavy, 2);
    size(c, &row->count);
    size(c, &row->each_words);
    size(c, &row->held_words);
    size(c, &row->n_copies);
    accumulation(c, &row->at);
    equal_groups(c, &row->equal);
    size(c, &row->n_inner);
    size(c, &row->elements);
    accumulated(c, &row->within);
    for (unsigned i = 0; i < 2; i++)
        type(c, &row->class_within[i]);
    size(c, &row->entries);
    size(c, &row->room);
    size(c, &row->n_spare);
    size(c, &row->spare_entries);
    text(c, &row->holder);
    for (unsigned i = 0; i < 2; i++)
        text(c, &row->class_holders[i]);
    text(c, &row->bulk_place);
    text(c, &row->within_place);
    text(c, &row->cycle);
    type(c, &row->hidden);
    node(c, &row->holder_root);
    text(c, &row->site);
    SMALL(c, row->site_percent, 101);
    SMALL(c, row->waste, HS_WASTE_UNKNOWN + 1);
    node(c, &row->evidence);
}
/* A field that is added must be kept, too. */
static_assert(sizeof(struct hs_suspect) == 1984 && sizeof(struct hs_accumulation) == 1136 &&
              sizeof(struct hs_suspects) == 96);

static void suspects(struct coder *c, struct hs_suspects *found)
{
    size(c, &found->n_others);
    size(c, &found->threshold_words);
    size(c, &found->garbage_words);
    type(c, &found->garbage_type);
    size(c, &found->garbage_count);
    size(c, &found->garbage_held_words);
    text(c, &found->garbage_cycle);
    node(c, &found->largest_root);
    size(c, &found->largest_words);
    uint64_t n = found->n;
    number(c, &n, ROWS_MOST);
    for (uint64_t i = 0; i < n && !coder_is_over(c); i++) {
        struct hs_suspect *row = c->out != NULL ? &found->rows[i] : NULL;
        if (row == NULL)
            c->status = hs_suspect_add(found, HS_SUSPECT_OWNER, &row, c->err);
        if (c->status == HS_OK)
            suspect(c, row);
    }
}

/* ---- what a file answers */

static void question(struct coder *c, const struct hs_suspect_query *query,
                     const struct hs_kept_file_key *key)
{
    const uint64_t values[] = {key->snap_checksum,
                               key->snap_bytes,
                               key->policy,
                               hs_own_build(),
                               query->threshold_percent,
                               query->follow_percent,
                               query->follow_joint_percent,
                               query->max_rows};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint64_t value = values[i];
        number(c, &value, UINT64_MAX);
        c->in.failed = c->in.failed || value != values[i];
    }
}

struct finding {
    const struct hs_view *view;
    const struct hs_suspect_query *query;
    struct hs_suspects found; /* owned */
};

static hs_status take(void *context, const struct hs_kept_file_key *key, const uint8_t *bytes,
                      size_t n_bytes, struct hs_error *err)
{
    struct finding *finding = context;
    hs_auto_free uint8_t *raw = NULL;
    size_t n_raw;
    HS_TRY(hs_kept_file_unpack(&kind, bytes, n_bytes, &raw, &n_raw, err));
    struct coder c = {.view = finding->view, .in = hs_cursor_make(raw, n_raw), .err = err};
    question(&c, finding->query, key);
    if (c.in.failed) /* another question, or another program: nothing is wrong with the file */
        return hs_fail(err, HS_IO, "it answers another question");
    suspects(&c, &finding->found);
    if (c.status == HS_OK && (c.in.failed || hs_cursor_left(&c.in) != 0))
        c.status = hs_fail(err, HS_FORMAT, "the file of suspects is damaged");
    if (c.status != HS_OK)
        hs_suspects_fini(&finding->found);
    return c.status;
}

hs_status hs_kept_suspects_find(const struct hs_view *view, const struct hs_suspect_query *query,
                                struct hs_suspects *ret, bool *ret_found, struct hs_error *err)
{
    struct finding finding = {.view = view, .query = query};
    hs_auto_free char *path = NULL;
    HS_TRY(hs_kept_file_find(view, &kind, take, &finding, &path, err));
    *ret_found = path != NULL;
    if (path != NULL)
        *ret = finding.found;
    return HS_OK;
}

hs_status hs_kept_suspects_keep(const struct hs_view *view, const struct hs_suspect_query *query,
                                const struct hs_suspects *found, struct hs_error *err)
{
    struct hs_kept_file_key key = {view->totals->checksum, view->totals->file_bytes, 0};
    struct hs_buffer raw = {0}, bytes = {0};
    hs_auto_free char *path = NULL;
    struct hs_suspects copy = *found;
    struct coder c = {.view = view, .out = &raw, .err = err};
    if (hs_own_build() == 0)
        return HS_OK;
    HS_TRY(hs_index_policy_key(view->snap, &view->session.policy, &key.policy, err));
    question(&c, query, &key);
    suspects(&c, &copy);
    if (c.status == HS_OK)
        c.status = hs_kept_file_pack(&kind, &raw, &bytes, err);
    if (c.status == HS_OK)
        c.status = hs_kept_file_keep(view, &kind, &bytes, &path, err);
    hs_buffer_fini(&bytes);
    hs_buffer_fini(&raw);
    return c.status;
}
