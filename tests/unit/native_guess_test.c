/* links: hs_native */
#include "unit.h"

#include "fail_each.h"
#include "native/guess.h"
#include "native/opaque.h"
#include "native_world.h"
#include "symbols/elf.h"

/* ITEM and OTHER are of one size. The rest is what only a damaged file describes. */
enum {
    ITEM = 1,
    OTHER,
    POINTER,
    CYCLE,
    CYCLE_POINTER,
    EMPTY_CYCLE,
    OUTSIDE,
    HUGE_TYPE,
    WRAPPED,
    OPEN_ARRAY,
    UNKNOWN,
    ENGINE,
    DOCUMENT,
    HOLDER
};
enum { ITEM_BYTES = 56, N = 20, SITES = 4 };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;
static struct hs_sample sampled[4 * N];
static struct hs_site_frame frames[SITES];
static hs_addr sampled_at[4 * N];
static struct hs_native_samples samples;
/* The program, and a library that is this test's own file at another place, or none. */
static struct hs_object objects[2];
static struct hs_native_object described[2] = {{.types = 1, .has_lists = true}};
#define LIBRARY UINT64_C(0x7c0000000000)

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(ITEM, "struct item", HS_CTYPE_RECORD, ITEM_BYTES);
    world_slot(ITEM, "next", 0, ITEM);
    world_type(OTHER, "struct other", HS_CTYPE_RECORD, ITEM_BYTES);
    world_slot(OTHER, "next", 0, OTHER);
    samples = (struct hs_native_samples){.samples = sampled, .frames = frames, .n_frames = SITES};
    for (uint32_t i = 0; i < SITES; i++)
        frames[i] = (struct hs_site_frame){.site = i};
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    hs_elf_close(objects[1].elf);
    objects[1] = (struct hs_object){0};
    described[1] = (struct hs_native_object){0};
    return 0;
}

/* A sample of `n_bytes` that was asked for at a site. */
static void sample(hs_addr block, uint64_t n_bytes, uint32_t site)
{
    sampled_at[samples.n_samples] = block;
    sampled[samples.n_samples++] =
        (struct hs_sample){.node = 0, .words = (n_bytes + 7) / 8, .site = site};
}

static void run(void)
{
    struct hs_heap_block block;

    world_seal(w);
    for (size_t i = 0; i < samples.n_samples; i++) {
        assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, sampled_at[i], &block),
                         HS_POINTER_START);
        sampled[i].node = block.rank;
    }
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_scan_mark_roots(&scan, &world_err));
    WORLD_OK(hs_scan_end(&scan, &world_err));
    w->dump.objects = (struct hs_objects){.objects = objects, .n = objects[1].elf == NULL ? 1 : 2};
    w->native.of_object = described;
    WORLD_OK(hs_native_guess(&w->native, &flow, &scan, &samples, &world_err));
    w->dump.objects = (struct hs_objects){0};
    w->native.of_object = NULL;
}

/* A list of N that a root holds, its nodes of this type. */
static void hold(hs_addr *ret, uint64_t n_bytes, hs_ctype type)
{
    for (int i = 0; i < N; i++) {
        ret[i] = world_block(w, n_bytes);
        *world_word(w, ret[i]) = i == 0 ? 0 : ret[i - 1];
    }
    world_seed(w, ret[N - 1], type);
    world_root(w, ret[N - 1], HS_EDGE_EXACT);
}

/* One whose first word leads to itself. */
static hs_addr lose(uint64_t n_bytes)
{
    hs_addr lost = world_block(w, n_bytes);
    *world_word(w, lost) = lost;
    return lost;
}

static void is(hs_addr block, const char *name)
{
    assert_string_equal(world_type_of(w, &flow, block), name);
}

static void by_size(void **state)
{
    hs_addr held[N], lost = lose(ITEM_BYTES), zeros = world_block(w, ITEM_BYTES);
    hs_addr odd = lose(ITEM_BYTES), astray = world_block(w, ITEM_BYTES);
    *world_word(w, odd + 16) = lost; /* where the record has a number */
    *world_word(w, astray) = WORLD_UNMAPPED;
    hold(held, ITEM_BYTES, ITEM);
    run();
    is(held[3], "struct item");
    is(lost, "block of 56 bytes, perhaps struct item");
    is(zeros, "");
    is(odd, "");
    is(astray, "");
}

static void not_by_a_size_of_two(void **state)
{
    hs_addr held[N], others[N], lost = lose(ITEM_BYTES);
    hold(held, ITEM_BYTES, ITEM);
    hold(others, ITEM_BYTES, OTHER);
    run();
    is(lost, "");
}

/* N lists of two that nothing holds, of this size. */
static hs_addr lose_many(uint64_t n_bytes)
{
    hs_addr last = 0;
    for (int i = 0; i < N; i++) {
        hs_addr a = world_block(w, n_bytes), b = world_block(w, n_bytes);
        *world_word(w, a) = b;
        *world_word(w, a + 8) = a;
        *world_word(w, b) = a;
        *world_word(w, b + 8) = b;
        last = a;
    }
    return last;
}

/* Names lost blocks by the one record that their words agree with, where the program holds no block
 * of that kind; not where two agree, or one pointer alone speaks for it. */
static void by_the_one_record(void **state)
{
    world_type(UNKNOWN, "struct sole", HS_CTYPE_RECORD, 72);
    world_slot(UNKNOWN, "next", 0, UNKNOWN);
    world_slot(UNKNOWN, "self", 8, UNKNOWN);
    hs_addr lost = lose_many(72), two = lose_many(ITEM_BYTES), weak = 0;
    world_type(HUGE_TYPE, "struct weak", HS_CTYPE_RECORD, 120);
    world_slot(HUGE_TYPE, "next", 0, HUGE_TYPE);
    for (int i = 0; i < N; i++)
        weak = lose(120);
    run();
    is(lost, "block of 72 bytes, perhaps struct sole");
    is(two, "");
    is(weak, "");
}

static void not_by_two_records(void **state)
{
    world_type(UNKNOWN, "struct sole", HS_CTYPE_RECORD, 72);
    world_slot(UNKNOWN, "next", 0, UNKNOWN);
    world_slot(UNKNOWN, "self", 8, UNKNOWN);
    world_type(HUGE_TYPE, "struct twin", HS_CTYPE_RECORD, 72);
    world_slot(HUGE_TYPE, "next", 0, HUGE_TYPE);
    world_slot(HUGE_TYPE, "self", 8, HUGE_TYPE);
    hs_addr lost = lose_many(72);
    run();
    is(lost, "");
}

/* What is found says what its pointers lead to, which nothing in those tells. */
static void by_the_pointers_of_what_is_found(void **state)
{
    hs_addr plain = 0;
    world_type(UNKNOWN, "struct sole", HS_CTYPE_RECORD, 72);
    world_slot(UNKNOWN, "next", 0, UNKNOWN);
    world_slot(UNKNOWN, "data", 8, HUGE_TYPE);
    world_type(HUGE_TYPE, "struct data", HS_CTYPE_RECORD, 200);
    world_slot(HUGE_TYPE, "text", 0, 0);
    for (int i = 0; i < N; i++) {
        hs_addr node = lose(72);
        plain = world_block(w, 200);
        *world_word(w, node + 8) = plain;
    }
    run();
    is(plain, "block of 200 bytes, perhaps struct data");
}

/* The second pointer that speaks for a record may stand in what its only one leads to: of the
 * record that is said, and nothing else. */
static void by_a_pointer_behind_its_pointer(void **state)
{
    enum { SETS = N, SET_BYTES = 200, RESULT_BYTES = 72, ALONE_BYTES = 104 };
    world_type(UNKNOWN, "struct result", HS_CTYPE_RECORD, RESULT_BYTES);
    world_slot(UNKNOWN, "set", 8, HUGE_TYPE);
    world_type(HUGE_TYPE, "struct set", HS_CTYPE_RECORD, SET_BYTES);
    world_slot(HUGE_TYPE, "first", 16, 0);
    world_type(WRAPPED, "struct alone", HS_CTYPE_RECORD, ALONE_BYTES);
    world_slot(WRAPPED, "set", 8, HUGE_TYPE);
    hs_addr result = 0, alone = 0;
    for (int i = 0; i < SETS; i++) {
        hs_addr set = world_block(w, SET_BYTES), empty = world_block(w, SET_BYTES);
        result = world_block(w, RESULT_BYTES);
        alone = world_block(w, ALONE_BYTES);
        *world_word(w, result + 8) = set;
        *world_word(w, set + 16) = world_block(w, 32);
        *world_word(w, alone + 8) = empty;
    }
    run();
    is(result, "block of 72 bytes, perhaps struct result");
    is(alone, "");
}

/* Lost replies of 72 bytes, each leading to an array of pointers to two more; the last word of each
 * array is `last`. Returns the first of all. */
static hs_addr lose_replies(hs_addr last)
{
    world_type(UNKNOWN, "struct reply", HS_CTYPE_RECORD, 72);
    world_slot(UNKNOWN, "text", 16, 0);
    world_slot(UNKNOWN, "of", 24, POINTER);
    world_type(POINTER, "struct reply *", HS_CTYPE_POINTER, 8);
    world_types[POINTER].facts.of = UNKNOWN;
    hs_addr first = 0;
    for (int i = 0; i < N; i++) {
        hs_addr reply = world_block(w, 72), array = world_block(w, 32);
        *world_word(w, reply + 24) = array;
        *world_word(w, array) = world_block(w, 72);
        *world_word(w, array + 8) = world_block(w, 72);
        *world_word(w, array + 16) = last;
        first = i == 0 ? reply : first;
    }
    return first;
}

static void by_an_array_of_pointers(void **state)
{
    hs_addr lost = lose_replies(0);
    run();
    is(lost, "block of 72 bytes, perhaps struct reply");
}

static void not_by_an_array_of_anything(void **state)
{
    hs_addr lost = lose_replies(world_block(w, 40));
    run();
    is(lost, "");
}

/* Lost records of C++, with a vector, whose end is `end_at` bytes behind its beginning, and a short
 * text of their own, to which they lead at `text_at`. */
static hs_addr lose_connections(uint64_t end_at, uint64_t text_at)
{
    world_type(UNKNOWN, "Connection", HS_CTYPE_RECORD, 72);
    world_slot(UNKNOWN, "begin", 0, 0);
    world_slot(UNKNOWN, "end", 8, 0);
    world_slot(UNKNOWN, "text", 16, 0);
    hs_addr lost = 0;
    for (int i = 0; i < N; i++) {
        hs_addr storage = world_block(w, 64);
        lost = world_block(w, 72);
        *world_word(w, lost) = storage;
        *world_word(w, lost + 8) = storage + end_at;
        *world_word(w, lost + 16) = lost + text_at;
    }
    return lost;
}

static void by_an_end_and_an_own_text(void **state)
{
    hs_addr lost = lose_connections(48, 32);
    run();
    is(lost, "block of 72 bytes, perhaps Connection");
}

static void not_by_what_is_no_end(void **state)
{
    hs_addr lost = lose_connections(0 - UINT64_C(40), 32); /* within the block before */
    run();
    is(lost, "");
}

static void not_by_a_pointer_behind_the_record(void **state)
{
    hs_addr lost = lose_connections(48, 72);
    run();
    is(lost, "");
}

/* Lost records of 32 pointers, two of which lead to what is known to be as they say; n_odd others
 * lead nowhere, as what a constructor leaves does. */
static hs_addr lose_calls(int n_odd)
{
    enum { CALL_BYTES = 320, POINTERS = 32 };
    static const char *const names[] = {"service", "queue", "reserved"};
    hs_addr held[N], lost = 0;
    hold(held, ITEM_BYTES, ITEM);
    world_type(UNKNOWN, "Call", HS_CTYPE_RECORD, CALL_BYTES);
    for (uint32_t i = 0; i < POINTERS; i++)
        world_slot(UNKNOWN, names[i < 2 ? i : 2], i * 8, i < 2 ? ITEM : 0);
    for (int i = 0; i < N; i++) {
        lost = world_block(w, CALL_BYTES);
        *world_word(w, lost) = held[1];
        *world_word(w, lost + 8) = held[2];
        for (int k = 0; k < n_odd; k++)
            *world_word(w, lost + 64 + 8 * (hs_addr)k) = WORLD_UNMAPPED;
    }
    return lost;
}

static void by_known_pointers_beside_odd_words(void **state)
{
    hs_addr lost = lose_calls(2);
    run();
    is(lost, "block of 320 bytes, perhaps Call");
}

static void not_by_known_pointers_beside_many(void **state)
{
    hs_addr lost = lose_calls(3);
    run();
    is(lost, "");
}

/* One pointer of a large record is enough where it is to what a library hands out, whose record is
 * described nowhere. */
static void by_a_handle_of_a_library(void **state)
{
    hs_addr lost = 0;
    world_type(UNKNOWN, "struct stream", HS_CTYPE_RECORD, 104);
    world_slot(UNKNOWN, "parser", 88, ENGINE);
    world_types[ENGINE].facts = (struct hs_ctype_facts){
        .name = "struct engine", .kind = HS_CTYPE_RECORD, .is_declaration = true};
    for (int i = 0; i < N; i++) {
        lost = world_block(w, 104);
        *world_word(w, lost + 88) = world_block(w, 1000);
    }
    run();
    is(lost, "block of 104 bytes, perhaps struct stream");
}

/* The outer record is told, where it is nothing but the one inside. */
static void by_the_outermost(void **state)
{
    for (int inner_first = 0; inner_first < 2; inner_first++) {
        hs_ctype inner = inner_first != 0 ? UNKNOWN : HUGE_TYPE;
        hs_ctype outer = inner_first != 0 ? HUGE_TYPE : UNKNOWN;
        world_type(inner, "struct impl", HS_CTYPE_RECORD, 72);
        world_slot(inner, "next", 0, inner);
        world_slot(inner, "self", 8, inner);
        world_type(outer, "struct timer", HS_CTYPE_RECORD, 72);
        world_slot(outer, "impl.next", 0, inner);
        world_slot(outer, "impl.self", 8, inner);
        world_types[outer].part = inner;
        hs_addr lost = lose_many(72);
        run();
        is(lost, "block of 72 bytes, perhaps struct timer");
        tear_down(state);
        scan = (struct hs_scan){0};
        set_up(state);
    }
}

static void by_site(void **state)
{
    hs_addr held[N], others[N], lost = lose(ITEM_BYTES), other = lose(ITEM_BYTES);
    hs_addr nobody = lose(ITEM_BYTES), usable = lose(ITEM_BYTES + 8), wide[N];
    hold(held, ITEM_BYTES, ITEM);
    hold(wide, ITEM_BYTES + 8, ITEM);
    hold(others, ITEM_BYTES, OTHER);
    for (int i = 0; i < 2; i++) {
        sample(held[i], ITEM_BYTES, 0);
        sample(others[i], ITEM_BYTES, 1);
    }
    sample(lost, ITEM_BYTES, 0);
    sample(other, ITEM_BYTES, 1);
    sample(nobody, ITEM_BYTES, 2);
    sample(usable, ITEM_BYTES + 8, 3); /* a sampler that tells what may be used */
    sample(wide[0], ITEM_BYTES + 8, 3);
    sample(wide[1], ITEM_BYTES + 8, 3);
    run();
    is(lost, "block of 56 bytes, perhaps struct item");
    is(other, "block of 56 bytes, perhaps struct other");
    is(nobody, "");
    is(usable, "block of 64 bytes, perhaps struct item");
}

static void not_by_a_site_in_doubt(void **state)
{
    hs_addr held[N], others[N], mixed = lose(ITEM_BYTES), sized = lose(ITEM_BYTES);
    hs_addr single = lose(ITEM_BYTES), odd = lose(ITEM_BYTES), beside = lose(ITEM_BYTES);
    *world_word(w, odd + 16) = odd;
    hold(held, ITEM_BYTES, ITEM);
    hold(others, ITEM_BYTES, OTHER);
    sample(held[0], ITEM_BYTES, 0); /* two types */
    sample(others[0], ITEM_BYTES, 0);
    sample(mixed, ITEM_BYTES, 0);
    for (int i = 1; i < 3; i++) {
        sample(held[i], ITEM_BYTES - 8, 1); /* of another size than the record */
        sample(others[i], ITEM_BYTES, 3);   /* one of its lost ones has other words */
    }
    sample(sized, ITEM_BYTES - 8, 1);
    sample(held[3], ITEM_BYTES, 2); /* one witness */
    sample(single, ITEM_BYTES, 2);
    sample(odd, ITEM_BYTES, 3);
    sample(beside, ITEM_BYTES, 3);
    run();
    is(mixed, "");
    is(sized, "");
    is(single, "");
    is(odd, "");
    is(beside, "");
}

/* Types that lead to themselves without an end, lie outside of themselves, or whose sizes wrap:
 * whatever a file says, no word outside of a block is read, and nothing is guessed. */
static void hostile_types(void **state)
{
    static const uint64_t sizes[] = {0,         1, 7, ITEM_BYTES, ITEM_BYTES + 1, UINT64_MAX - 7,
                                     UINT64_MAX};
    world_type(POINTER, "struct outside *", HS_CTYPE_POINTER, 8);
    world_slot(POINTER, NULL, 0, OUTSIDE);
    world_type(CYCLE_POINTER, "cycle *", HS_CTYPE_POINTER, 8);
    world_slot(CYCLE_POINTER, NULL, 0, CYCLE_POINTER); /* to itself, without a record */
    world_type(CYCLE, "struct cycle", HS_CTYPE_RECORD, ITEM_BYTES);
    world_slot(CYCLE, "me", 0, CYCLE);
    world_slot(CYCLE, "to", 8, CYCLE_POINTER);
    world_slot(CYCLE, "none", 16, EMPTY_CYCLE);
    world_type(EMPTY_CYCLE, "struct empty", HS_CTYPE_RECORD, 0);
    world_slot(EMPTY_CYCLE, "me", 0, EMPTY_CYCLE);
    world_type(OUTSIDE, "struct outside", HS_CTYPE_RECORD, ITEM_BYTES);
    world_slot(OUTSIDE, "next", 0, OUTSIDE);
    world_slot(OUTSIDE, "behind", ITEM_BYTES, OUTSIDE);
    world_slot(OUTSIDE, "far", UINT64_MAX - 7, OUTSIDE);
    world_slot(OUTSIDE, "wraps", UINT64_MAX - 3, OUTSIDE);
    world_type(WRAPPED, "struct wrapped", HS_CTYPE_RECORD, UINT64_MAX - 7);
    world_slot(WRAPPED, "next", 0, WRAPPED);
    world_type(OPEN_ARRAY, "struct outside []", HS_CTYPE_ARRAY, UINT64_MAX);
    world_types[OPEN_ARRAY].facts.of = OPEN_ARRAY;
    world_types[OPEN_ARRAY].facts.n_elements = UINT64_MAX;
    for (hs_ctype type = POINTER; type <= UNKNOWN; type++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            hs_addr held[N], lost = lose(ITEM_BYTES);
            world_types[HUGE_TYPE] = world_types[type];
            world_types[HUGE_TYPE].facts.n_bytes = sizes[i];
            *world_word(w, lost + 48) = lost;
            hold(held, ITEM_BYTES, HUGE_TYPE);
            samples.n_samples = 0;
            for (int k = 0; k < N; k++)
                sample(held[k], ITEM_BYTES, 0);
            sample(lost, ITEM_BYTES, 0);
            run();
            const char *name = world_type_of(w, &flow, lost);
            if (*name != '\0')
                fail_msg("type %u of %llu bytes: %s", type, (unsigned long long)sizes[i], name);
            tear_down(state);
            scan = (struct hs_scan){0};
            w = world_new();
        }
}

static void out_of_memory(void **state)
{
    hs_addr held[N], lost = lose(ITEM_BYTES);
    hold(held, ITEM_BYTES, ITEM);
    sample(held[0], ITEM_BYTES, 0);
    sample(held[1], ITEM_BYTES, 0);
    sample(lost, ITEM_BYTES, 0);
    run();
    FAIL_EACH (f, .at_least = 2)
        (void)FAIL_EACH_TRY(f, hs_native_guess(&w->native, &flow, &scan, &samples, &world_err));
}

/* ---- by the binary that words lead to */

static void load_library(void)
{
    objects[1] = (struct hs_object){
        .name = (char *)"libx.so", .bias = LIBRARY, .begin = LIBRARY, .end = LIBRARY + (1 << 24)};
    WORLD_OK(hs_elf_open_path("/proc/self/exe", &objects[1].elf, &world_err));
}

static hs_addr loaded_at(const char *symbol)
{
    const struct hs_elf_symbol *found = hs_elf_find(objects[1].elf, symbol);
    assert_non_null(found);
    return found->vaddr + LIBRARY;
}

/* So many lost blocks of a size, of which all but n_odd have the word at +8. Returns the first. */
static hs_addr lose_with(int n, uint64_t n_bytes, uint64_t word, int n_odd)
{
    hs_addr first = 0;
    for (int i = 0; i < n; i++) {
        hs_addr lost = world_block(w, n_bytes);
        *world_word(w, lost + 8) = i < n - n_odd ? word : 0;
        first = i == 0 ? lost : first;
    }
    return first;
}

static void is_placed(hs_addr block, const char *name)
{
    struct hs_heap_block found;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, block, &found), HS_POINTER_START);
    hs_ntype type = hs_native_held_guess(&flow, &found);
    assert_string_equal(
        type == 0 ? "" : hs_strtab_get(&w->dump.strings, flow.types.types[type - 1].type.name),
        name);
}

static void by_place(void **state)
{
    load_library();
    hs_addr own = loaded_at("set_up"), exported = loaded_at("main");
    hs_addr named = lose_with(N, 72, own, 2), odd = named + 96 * (N - 1);
    hs_addr few = lose_with(7, 88, own, 0), doubtful = lose_with(N, 104, own, 3);
    hs_addr global = lose_with(N, 120, exported, 0), inside = lose_with(N, 136, own + 1, 0);
    hs_addr outside = lose_with(N, 152, LIBRARY + (1 << 25), 0), small = lose_with(N, 8, 0, 0);
    run();
    is_placed(named, "block of 72 bytes, perhaps of libx.so (set_up at +8)");
    is_placed(odd, "");
    is_placed(few, "");
    is_placed(doubtful, "");
    is_placed(global, "");
    is_placed(inside, "");
    is_placed(outside, "");
    is_placed(small, "");
}

static void not_by_a_place_of_a_runtime(void **state)
{
    load_library();
    described[1].is_runtime = true;
    hs_addr lost = lose_with(N, 72, loaded_at("set_up"), 0);
    run();
    is_placed(lost, "");
}

static void out_of_memory_for_places(void **state)
{
    load_library();
    (void)lose_with(N, 72, loaded_at("set_up"), 0);
    run();
    w->dump.objects = (struct hs_objects){.objects = objects, .n = 2};
    w->native.of_object = described;
    FAIL_EACH (f, .at_least = 2)
        (void)FAIL_EACH_TRY(f, hs_native_guess(&w->native, &flow, &scan, &samples, &world_err));
    w->dump.objects = (struct hs_objects){0};
    w->native.of_object = NULL;
}

/* ---- by pointers to what is described nowhere */

enum { HOLDER_BYTES = 40, OPAQUE_BYTES = 88 };

/* A holder leads to a holder, an engine by two pointers, and a document, which has a typedef. */
static hs_addr hold_opaque(hs_addr engine, hs_addr as_document)
{
    world_type(HOLDER, "struct holder", HS_CTYPE_RECORD, HOLDER_BYTES);
    world_slot(HOLDER, "next", 0, HOLDER);
    world_slot(HOLDER, "engine", 8, ENGINE);
    world_slot(HOLDER, "document", 16, DOCUMENT);
    world_slot(HOLDER, "anything", 24, 0);
    world_types[ENGINE].facts = (struct hs_ctype_facts){
        .name = "struct engine", .kind = HS_CTYPE_RECORD, .is_declaration = true};
    world_types[DOCUMENT].facts = (struct hs_ctype_facts){.name = "struct _document",
                                                          .alias = "document_t",
                                                          .kind = HS_CTYPE_RECORD,
                                                          .is_declaration = true};
    hs_addr holder = world_block(w, HOLDER_BYTES);
    *world_word(w, holder + 8) = engine;
    *world_word(w, holder + 16) = as_document;
    world_seed(w, holder, HOLDER);
    world_root(w, holder, HS_EDGE_EXACT);
    return holder;
}

static void name_opaque(void)
{
    run();
    WORLD_OK(hs_native_opaque(&w->native, &flow, &world_err));
}

static void by_undescribed_types(void **state)
{
    hs_addr engine = world_block(w, OPAQUE_BYTES), document = world_block(w, OPAQUE_BYTES);
    hs_addr other = world_block(w, OPAQUE_BYTES), global = world_block(w, OPAQUE_BYTES);
    hs_addr holder = hold_opaque(engine, document + 8); /* behind a header */
    *world_word(w, holder + 24) = other;
    world_seed(w, global, DOCUMENT);
    world_root(w, global, HS_EDGE_EXACT);
    name_opaque();
    is(engine, "struct engine (opaque)");
    is(document, "document_t (opaque)");
    is(global, "document_t (opaque)");
    is(other, "");
    is(holder, "struct holder");
}

/* A pointer to the start comes before one behind a header, whichever is met first; of two to the
 * start the first name counts; inside of a block is nothing that is allocated alone. */
static void by_the_best_undescribed_type(void **state)
{
    hs_addr both = world_block(w, OPAQUE_BYTES), twice = world_block(w, OPAQUE_BYTES);
    hs_addr inside = world_block(w, OPAQUE_BYTES);
    (void)hold_opaque(both, both + 16);
    (void)hold_opaque(twice, twice);
    (void)hold_opaque(0, inside + 24);
    name_opaque();
    is(both, "struct engine (opaque)");
    is(twice, "document_t (opaque)");
    is(inside, "");
}

static void not_what_has_a_type(void **state)
{
    hs_addr items[N];
    hold(items, ITEM_BYTES, ITEM);
    (void)hold_opaque(items[3], 0);
    name_opaque();
    is(items[3], "struct item");
}

static void out_of_memory_for_undescribed_types(void **state)
{
    hs_addr engine = world_block(w, OPAQUE_BYTES), document = world_block(w, OPAQUE_BYTES);
    (void)hold_opaque(engine, document + 8);
    run();
    FAIL_EACH (f, .at_least = 2)
        (void)FAIL_EACH_TRY(f, hs_native_opaque(&w->native, &flow, &world_err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_size_of_two, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_the_one_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_two_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_the_pointers_of_what_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_a_pointer_behind_its_pointer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_an_array_of_pointers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_an_array_of_anything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_an_end_and_an_own_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_what_is_no_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_pointer_behind_the_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_known_pointers_beside_odd_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_known_pointers_beside_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_a_handle_of_a_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_the_outermost, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_site, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_site_in_doubt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(out_of_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_place_of_a_runtime, set_up, tear_down),
        cmocka_unit_test_setup_teardown(out_of_memory_for_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_undescribed_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_the_best_undescribed_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_what_has_a_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(out_of_memory_for_undescribed_types, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
