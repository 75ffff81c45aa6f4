/* make_snap FILE < DESCRIPTION: writes the snapshot that a test of the command line describes, one
 * record per line, fields separated by tabs, texts with %XX for a byte, numbers plain or 0x:
 *
 *   fact KEY VALUE                     pid, command, tool_version, pause_ns, read_bytes, attempts,
 *                                      resident_bytes, taken_ns, started_ns, word_bytes
 *   runtime NAME VERSION CERTAINTY     proof WHAT EXPECTED FOUND HOLDS     note TEXT GAP
 *   binary PATH BUILD_ID BEGIN SYMTAB DEBUG [DEBUG_FILE]     unreadable BEGIN END
 *   memory OWNER STATE BYTES RESIDENT BLOCKS
 *   root PARENT LEVEL KIND TARGET WEAK NAME [KEY=VALUE]...    TARGET: a node, or - for none
 *   type NAME TAG FORM [STRIDE]        member TYPE OFFSET NAME TYPE_NAME
 *   block ADDRESS WORDS TYPE STATE     followed by its   edge TARGET OFFSET CLASS
 *                                             each followed by its   reason NUMBER, if any
 *   sampler KIND PERIOD_WORDS BEGUN_NS LOST TRACE      none, and samples: one of Gc.Memprof
 *   sample ID NODE N WORDS STATE [SAMPLER [SITE]]      SITE: a number, or - for none
 *   frame SITE FUNCTION FILE MODULE LINE OFFSET        FUNCTION, FILE, MODULE: "" for none
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "snapshot/writer.h"

#define MAX_FIELDS 24

struct list {
    void *items; /* owned */
    size_t n, capacity;
};

struct made_block {
    struct hs_block_record record;
    size_t first_edge, n_edges;
};

struct made {
    struct hs_strtab strings;
    struct hs_snap_facts facts;
    struct list runtimes, proofs, notes, binaries, unreadable, memory, samplers;
    struct list roots, types, members, blocks, edges, samples, frames;
};

static _Noreturn void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "make_snap: %s: %s\n", what, why);
    exit(1);
}

static void must(hs_status status, const struct hs_error *err)
{
    if (status != HS_OK)
        die("refused", err->message);
}

static void *push(struct list *list, size_t size)
{
    struct hs_error err = HS_ERROR_INIT;
    must(hs_grow(&list->items, &list->capacity, list->n + 1, size, &err), &err);
    return (char *)list->items + size * list->n++;
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (end == text || *end != 0)
        die(text, "not a number");
    return value;
}

static double real(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != 0)
        die(text, "not a number");
    return value;
}

static hs_node node(const char *text)
{
    return strcmp(text, "-") == 0 ? HS_NO_NODE : number(text);
}

/* %XX back to bytes, in place, and into the table of strings. */
static hs_str string(struct made *made, char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_str id;
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        char hex[3] = {from[0] == '%' ? from[1] : 0, from[0] == '%' ? from[2] : 0, 0};
        *to++ = hex[0] != 0 ? (char)strtoul(hex, NULL, 16) : *from;
        from += hex[0] != 0 ? 2 : 0;
    }
    *to = 0;
    must(hs_strtab_add(&made->strings, text, &id, &err), &err);
    return id;
}

static void add_fact(struct made *made, char **field)
{
    struct hs_snap_facts *facts = &made->facts;
    if (strcmp(field[1], "pid") == 0)
        facts->pid = (uint32_t)number(field[2]);
    else if (strcmp(field[1], "command") == 0)
        facts->command = string(made, field[2]);
    else if (strcmp(field[1], "tool_version") == 0)
        facts->tool_version = string(made, field[2]);
    else if (strcmp(field[1], "pause_ns") == 0)
        facts->pause_ns = number(field[2]);
    else if (strcmp(field[1], "read_bytes") == 0)
        facts->read_bytes = number(field[2]);
    else if (strcmp(field[1], "resident_bytes") == 0)
        facts->resident_bytes = number(field[2]);
    else if (strcmp(field[1], "taken_ns") == 0)
        facts->taken_ns = number(field[2]);
    else if (strcmp(field[1], "word_bytes") == 0)
        facts->word_bytes = (uint32_t)number(field[2]);
    else if (strcmp(field[1], "started_ns") == 0)
        facts->started_ns = number(field[2]);
    else if (strcmp(field[1], "attempts") == 0)
        facts->n_stop_attempts = (uint32_t)number(field[2]);
    else
        die(field[1], "unknown fact");
}

static void add_runtime(struct made *made, char **field)
{
    struct hs_runtime_fact *runtime = push(&made->runtimes, sizeof *runtime);
    runtime->name = string(made, field[1]);
    runtime->version = string(made, field[2]);
    runtime->certainty = (uint8_t)number(field[3]);
}

static void add_proof(struct made *made, char **field)
{
    struct hs_proof *proof = push(&made->proofs, sizeof *proof);
    proof->what = string(made, field[1]);
    proof->expected = number(field[2]);
    proof->found = number(field[3]);
    proof->holds = number(field[4]) != 0;
}

static void add_note(struct made *made, char **field)
{
    struct hs_note *note = push(&made->notes, sizeof *note);
    note->text = string(made, field[1]);
    note->is_gap = number(field[2]) != 0;
}

static void add_binary(struct made *made, char **field)
{
    struct hs_binary *binary = push(&made->binaries, sizeof *binary);
    binary->path = string(made, field[1]);
    binary->build_id = string(made, field[2]);
    binary->begin = number(field[3]);
    binary->has_symtab = number(field[4]) != 0;
    binary->has_debug_info = number(field[5]) != 0;
    if (field[6] != NULL)
        binary->debug_file = string(made, field[6]);
}

static void add_memory(struct made *made, char **field)
{
    struct hs_memory_row *row = push(&made->memory, sizeof *row);
    row->owner = string(made, field[1]);
    row->state = (uint8_t)number(field[2]);
    row->n_bytes = number(field[3]);
    row->resident_bytes = number(field[4]);
    row->n_blocks = number(field[5]);
}

static void add_unreadable(struct made *made, char **field)
{
    struct hs_range *range = push(&made->unreadable, sizeof *range);
    *range = (struct hs_range){number(field[1]), number(field[2])};
}

static void set_root(struct made *made, struct hs_root *root, const char *key, char *value)
{
    const struct {
        const char *key;
        hs_str *id;
        uint32_t *number;
    } members[] = {
        {"module", &root->module, NULL},    {"symbol", &root->symbol, NULL},
        {"file", &root->file, NULL},        {"function", &root->function, NULL},
        {"line", NULL, &root->line},        {"thread", NULL, &root->thread},
        {"frame", NULL, &root->frame},      {"field", NULL, &root->field},
        {"begin", NULL, &root->char_begin}, {"end", NULL, &root->char_end},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].key, key) != 0)
            continue;
        if (members[i].id != NULL)
            *members[i].id = string(made, value);
        else
            *members[i].number = (uint32_t)number(value);
        return;
    }
    if (strcmp(key, "address") == 0)
        root->address = number(value);
    else if (strcmp(key, "offset") == 0)
        root->offset = number(value);
    else if (strcmp(key, "class") == 0)
        root->edge_class = (uint8_t)number(value);
    else if (strcmp(key, "tier") == 0)
        root->tier = (uint8_t)number(value);
    else if (strcmp(key, "reason") == 0)
        root->reason = (uint8_t)number(value);
    else if (strcmp(key, "certainty") == 0)
        root->certainty = (uint8_t)number(value);
    else
        die(key, "unknown member of a root");
}

static void add_root(struct made *made, char **field)
{
    struct hs_root *root = push(&made->roots, sizeof *root);
    *root = (struct hs_root){
        .parent = number(field[1]),
        .level = (uint8_t)number(field[2]),
        .kind = (uint8_t)number(field[3]),
        .target = node(field[4]),
        .weak = number(field[5]) != 0,
        .field = HS_NO_FIELD,
    };
    root->name = string(made, field[6]);
    for (unsigned i = 7; i < MAX_FIELDS && field[i] != NULL; i++) {
        char *equals = strchr(field[i], '=');
        if (equals == NULL)
            die(field[i], "no KEY=VALUE");
        *equals = 0;
        set_root(made, root, field[i], equals + 1);
    }
}

static void add_type(struct made *made, char **field)
{
    struct hs_type *type = push(&made->types, sizeof *type);
    type->name = string(made, field[1]);
    type->tag = (uint16_t)number(field[2]);
    type->form = (uint8_t)number(field[3]);
    if (field[4] != NULL)
        type->stride_bytes = number(field[4]);
}

static void add_member(struct made *made, char **field)
{
    struct hs_member *member = push(&made->members, sizeof *member);
    member->type = (uint32_t)number(field[1]);
    member->offset_bytes = number(field[2]);
    member->name = string(made, field[3]);
    member->type_name = string(made, field[4]);
}

static void add_block(struct made *made, char **field)
{
    struct made_block *block = push(&made->blocks, sizeof *block);
    *block = (struct made_block){
        .record = {.address = number(field[1]),
                   .words = number(field[2]),
                   .type = (uint32_t)number(field[3]),
                   .state = (uint8_t)number(field[4])},
        .first_edge = made->edges.n,
    };
}

static void add_edge(struct made *made, char **field)
{
    struct hs_edge *edge = push(&made->edges, sizeof *edge);
    *edge = (struct hs_edge){.target = number(field[1]),
                             .offset_words = number(field[2]),
                             .edge_class = (uint8_t)number(field[3])};
    ((struct made_block *)made->blocks.items)[made->blocks.n - 1].n_edges++;
}

static void add_reason(struct made *made, char **field)
{
    ((struct hs_edge *)made->edges.items)[made->edges.n - 1].reason = (uint8_t)number(field[1]);
}

static void add_sampler(struct made *made, char **field)
{
    struct hs_sampler *sampler = push(&made->samplers, sizeof *sampler);
    sampler->kind = (uint8_t)number(field[1]);
    sampler->period_words = real(field[2]);
    sampler->begun_ns = number(field[3]);
    sampler->n_lost = number(field[4]);
    sampler->trace = string(made, field[5]);
}

static void add_sample(struct made *made, char **field)
{
    struct hs_sample *sample = push(&made->samples, sizeof *sample);
    const char *site = field[6] == NULL || field[7] == NULL ? "-" : field[7];
    *sample = (struct hs_sample){
        .id = number(field[1]),
        .node = node(field[2]),
        .n_samples = number(field[3]),
        .words = number(field[4]),
        .state = (uint8_t)number(field[5]),
        .sampler = field[6] == NULL ? 0 : (uint32_t)number(field[6]),
        .site = strcmp(site, "-") == 0 ? HS_NO_SITE : (uint32_t)number(site),
    };
}

static void add_frame(struct made *made, char **field)
{
    struct hs_site_frame *frame = push(&made->frames, sizeof *frame);
    frame->site = (uint32_t)number(field[1]);
    frame->function = string(made, field[2]);
    frame->file = string(made, field[3]);
    frame->module = string(made, field[4]);
    frame->line = (uint32_t)number(field[5]);
    frame->offset = number(field[6]);
}

static void add_line(struct made *made, char *line)
{
    static const struct {
        const char *word;
        unsigned n_fields; /* at least */
        void (*add)(struct made *made, char **field);
    } records[] = {
        {"fact", 3, add_fact},     {"runtime", 4, add_runtime}, {"proof", 5, add_proof},
        {"note", 3, add_note},     {"binary", 6, add_binary},   {"root", 7, add_root},
        {"type", 4, add_type},     {"block", 5, add_block},     {"edge", 4, add_edge},
        {"reason", 2, add_reason}, {"sample", 6, add_sample},   {"unreadable", 3, add_unreadable},
        {"memory", 6, add_memory}, {"member", 5, add_member},   {"sampler", 6, add_sampler},
        {"frame", 7, add_frame},
    };
    char *field[MAX_FIELDS + 1] = {NULL};
    unsigned n = 0;
    for (char *rest = line, *at; n < MAX_FIELDS && (at = strsep(&rest, "\t")) != NULL;)
        field[n++] = at;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (strcmp(records[i].word, field[0]) == 0 && n >= records[i].n_fields) {
            records[i].add(made, field);
            return;
        }
    die(field[0], "no such record, or too few fields");
}

static void read_description(struct made *made)
{
    static char line[4 << 20]; /* of names of a megabyte, too */
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != 0)
            add_line(made, line);
    }
}

static void close_facts(struct made *made)
{
    struct hs_snap_facts *facts = &made->facts;
    if (facts->word_bytes == 0)
        facts->word_bytes = 8;
    facts->runtimes = made->runtimes.items;
    facts->n_runtimes = made->runtimes.n;
    facts->proofs = made->proofs.items;
    facts->n_proofs = made->proofs.n;
    facts->notes = made->notes.items;
    facts->n_notes = made->notes.n;
    facts->binaries = made->binaries.items;
    facts->n_binaries = made->binaries.n;
    facts->unreadable = made->unreadable.items;
    facts->n_unreadable = made->unreadable.n;
    facts->memory = made->memory.items;
    facts->n_memory = made->memory.n;
    static const struct hs_sampler memprof = {.kind = HS_SAMPLER_MEMPROF};
    facts->samplers = made->samplers.n != 0 ? made->samplers.items : &memprof;
    facts->n_samplers = made->samplers.n != 0 ? made->samplers.n : made->samples.n != 0;
}

static void write_snapshot(const struct made *made, const char *path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    struct hs_snap_writer *writer = NULL;
    struct hs_snap_totals totals;
    struct hs_edge *edges = made->edges.items;

    must(hs_out_open_path(path, &out, &err), &err);
    must(hs_snap_writer_new(&out, &made->strings, &made->facts, made->roots.items, made->roots.n,
                            made->blocks.n, &writer, &err),
         &err);
    for (size_t i = 0; i < made->blocks.n; i++) {
        struct made_block *block = &((struct made_block *)made->blocks.items)[i];
        must(hs_snap_writer_block(writer, &block->record, edges + block->first_edge, block->n_edges,
                                  &err),
             &err);
    }
    const struct hs_snap_ending ending = {
        .types = made->types.items,
        .n_types = made->types.n,
        .members = made->members.items,
        .n_members = made->members.n,
        .samples = made->samples.items,
        .n_samples = made->samples.n,
        .site_frames = made->frames.items,
        .n_site_frames = made->frames.n,
    };
    must(hs_snap_writer_finish(writer, &ending, &totals, &err), &err);
    hs_snap_writer_free(writer);
    must(hs_out_commit(&out, &err), &err);
    hs_out_close(&out);
}

int main(int argc, char **argv)
{
    struct made made = {0};
    if (argc != 2)
        die("usage", "make_snap FILE < DESCRIPTION");
    read_description(&made);
    close_facts(&made);
    write_snapshot(&made, argv[1]);

    struct list *const lists[] = {&made.runtimes, &made.proofs,     &made.notes, &made.binaries,
                                  &made.roots,    &made.unreadable, &made.types, &made.blocks,
                                  &made.memory,   &made.members,    &made.edges, &made.samples,
                                  &made.samplers, &made.frames};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        hs_free(lists[i]->items);
    hs_strtab_fini(&made.strings);
    return 0;
}
