/* links: hs_dump hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
#include "fake_dump.h"

#include "dump/parts.h"
#include "ocaml/session.h"

/* What the test has made is lent to a session; the strings go through it and come back. */
hs_status fake_dump_ocaml(const struct hs_ocaml *rt, struct hs_block_map *map,
                          const struct hs_ocaml_marks *marks, const struct hs_ocaml_roots *roots,
                          struct hs_out *out, struct hs_error *err)
{
    const struct hs_sampler memprof = {.kind = HS_SAMPLER_MEMPROF};
    struct hs_dump_options options = {0};
    struct hs_dump dump = {.options = &options, .strings = *rt->strings};
    struct hs_ocaml_session session = {
        .dump = &dump, .rt = *rt, .roots = *roots, .map = *map, .marks = *marks};
    const struct hs_leaves leaves = {.roots = &roots->roots};
    const struct hs_dump_facts facts = {
        .facts = {.word_bytes = 8, .pid = 1, .samplers = &memprof, .n_samplers = 1}};
    struct hs_snap_totals totals;

    session.rt.strings = &dump.strings;
    dump.serving[0] = (struct hs_serving){.runtime = &hs_runtime_ocaml, .state = &session};
    dump.n_serving = 1;
    hs_status status = hs_ocaml_emitter_new(&session, &session.emitter, err);
    if (status == HS_OK)
        status = hs_dump_write(&dump, &leaves, &facts, out, &totals, err);
    hs_ocaml_emitter_free(session.emitter);
    *map = session.map;
    *rt->strings = dump.strings;
    return status;
}
