/* links: hs_python hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* fuzz: -entropic=0 -max_len=200 */
/* A valid Python process and any damage to its memory: runtime, threads, frames, types, objects of
 * each kind, tables of dictionaries. The first byte chooses the version and whether names are read;
 * then comes the damage (word_damage.h). */
#include <assert.h>
#include <string.h>

#include "fake_python.h"
#include "word_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { FIRST_MINOR = 9, VERSIONS = 6, NO_NAMES = 1 << 7 };

/* A process is made once, and from then on what is damaged is put back. */
struct world {
    struct fake_python *fake;
    uint64_t data[FAKE_PYTHON_DATA_WORDS], heap[FAKE_PYTHON_HEAP_WORDS];
};

static struct fake_python *process_of(unsigned version)
{
    static struct world worlds[VERSIONS];
    struct world *w = &worlds[version];

    if (w->fake == NULL) {
        w->fake = fake_python_new(FIRST_MINOR + version);
        memcpy(w->data, w->fake->data, sizeof w->data);
        memcpy(w->heap, w->fake->heap, sizeof w->heap);
    }
    memcpy(w->fake->data, w->data, sizeof w->data);
    memcpy(w->fake->heap, w->heap, sizeof w->heap);
    return w->fake;
}

/* What is read most has areas of its own. */
static void list_areas(struct fake_python *fake, struct damage_areas *areas)
{
    const struct {
        hs_addr at;
        size_t n_words;
    } parts[] = {
        {FAKE_PYTHON_HEAP, fake->n_heap},
        {FAKE_PYTHON_DATA, fake->n_data},
        {FAKE_PYTHON_HEAP, fake->n_heap},
        {fake->class, 112},
        {fake->instance - 32, 10},
        {fake->function, 16},
        {fake->queue, 16},
        {fake->rows, 8},
        {fake->main_dict, 8},
        {*fake_python_word(fake, fake->main_dict + 32), 30},
        {fake->modules, 8},
        {fake->thread, 64},
        {fake->frame, 32},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].at != 0)
            damage_add(areas, parts[i].at, fake_python_word(fake, parts[i].at), parts[i].n_words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct damage_areas areas = {0};

    if (n_bytes == 0)
        return 0;
    struct fake_python *fake = process_of(bytes[0] % VERSIONS);
    fake->options.no_names = (bytes[0] & NO_NAMES) != 0;
    list_areas(fake, &areas);
    damage_apply(&areas, bytes + 1, n_bytes - 1);
    hs_status status = fake_python_walk(fake, &err);
    assert(status == HS_OK || status == HS_LIMIT);
    if (n_bytes <= 6 && !fake->options.no_names) { /* undamaged */
        assert(fake_python_says(fake, "names of 2 modules"));
        assert(fake_python_root(fake, "__main__.App.entries") != NULL);
        assert(fake->frame == 0 || fake_python_root(fake, "run() local rows") != NULL);
    }
    fake_python_forget(fake);
    return 0;
}
