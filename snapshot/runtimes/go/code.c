#include "code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/moves.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"

enum {
    FACTS_MAX = 1 << 20,
    SLOTS_MAX = 1 << 18,
    VALUES_MAX = 1 << 20,
    FTAB_BYTES = 8,
    N_SLOTS = 4096, /* words of a frame that are followed */
    N_FORWARD = 16, /* jumps ahead whose registers are kept */
    CODE_MAX = 1 << 22,
    ARGUMENTS = 4, /* of a function, told apart */
    FOLLOWS_MAX = 16,
    WORDS_OF_RECEIVER = 8 /* that may lead to maps in a frame */
};
enum { AX = 0, CX = 1, DX = 2, BX = 3, SP = HS_MOVE_SP, SI = 6, DI = 7 };
/* The registers of the first arguments: Go's ABIInternal. */
static const uint8_t argument_registers[ARGUMENTS] = {AX, BX, CX, DI};

/* The effects of calls of the runtime: what is in AX afterwards, and where the type stands. */
enum effect {
    EFFECT_NONE,
    EFFECT_KEEPS,       /* no register is changed */
    EFFECT_NEW,         /* of the type in AX */
    EFFECT_NEW_BY_SIZE, /* of the type in BX */
    EFFECT_ROW,         /* of the type in AX */
    EFFECT_GROW,        /* of the type in SI; up to 1.19 in AX */
    EFFECT_CHAN,        /* of the channel's type in AX */
    EFFECT_MAP,         /* of the map's type in AX */
    EFFECT_SMALL_MAP,   /* a map, of the type that it is used with */
    EFFECT_IN_MAP,      /* BX leads to a map of the type in AX */
};

void hs_go_code_fini(struct hs_go_code *code)
{
    hs_free(code->facts);
    hs_free(code->slots);
    hs_free(code->variables);
    hs_free(code->values);
    hs_dict_fini(&code->results);
    hs_dict_fini(&code->arguments);
    hs_dict_fini(&code->receivers);
    hs_dict_fini(&code->closures);
    hs_dict_fini(&code->map_words);
    hs_dict_fini(&code->small_maps);
    hs_dict_fini(&code->types);
    hs_dict_fini(&code->effects);
    hs_dict_fini(&code->on_stack);
    *code = (struct hs_go_code){0};
}

struct state {
    hs_addr at; /* the instruction that it is of */
    bool is_there, has_frame;
    struct hs_go_value registers[HS_MOVE_N_REGISTERS];
};

struct reading {
    struct hs_go_code *code;
    const struct hs_go_heap *heap;
    struct hs_error *err;
    hs_addr function, at; /* at: the instruction */
    bool is_on_stack;
    struct state now;
    struct state forward[N_FORWARD];
    unsigned n_forward;
    hs_addr next_forward; /* the least of their places ahead */
    struct hs_go_value slots[N_SLOTS];
    size_t n_slots; /* behind these nothing is known */
};

/* ---- facts */

static hs_status add_value(struct reading *r, struct hs_dict *dict, uint64_t key,
                           const struct hs_go_value *value)
{
    struct hs_go_code *code = r->code;

    if (code->n_values == VALUES_MAX || hs_dict_find(dict, key) != NULL)
        return HS_OK;
    HS_TRY(HS_GROW(&code->values, &code->values_capacity, code->n_values + 1, r->err));
    HS_TRY(hs_dict_put(dict, key, code->n_values, r->err));
    code->values[code->n_values++] = *value;
    return HS_OK;
}

static bool leads(const struct hs_go_value *value)
{
    return value->kind == HS_GO_OBJECT || value->kind == HS_GO_SMALL_MAP ||
           value->kind == HS_GO_RESULT || value->kind == HS_GO_ARGUMENT ||
           (value->kind == HS_GO_CLOSURE && value->n_steps != 0);
}

static hs_status add_fact(struct reading *r, const struct hs_go_value *place,
                          const struct hs_go_value *value)
{
    struct hs_go_code *code = r->code;

    if (code->n_facts == FACTS_MAX || !leads(value))
        return HS_OK;
    HS_TRY(HS_GROW(&code->facts, &code->facts_capacity, code->n_facts + 1, r->err));
    code->facts[code->n_facts++] = (struct hs_go_fact){.place = *place, .value = *value};
    return HS_OK;
}

/* Notes what a word of the frame leads to, of functions that are on a stack. */
static hs_status add_slot(struct reading *r, int32_t distance, const struct hs_go_value *value)
{
    struct hs_go_code *code = r->code;
    struct hs_go_value place = {.kind = HS_GO_FRAME, .at = r->function, .offsets = {distance}};

    if (!r->is_on_stack || code->n_slots == SLOTS_MAX || !leads(value))
        return HS_OK;
    HS_TRY(HS_GROW(&code->slots, &code->slots_capacity, code->n_slots + 1, r->err));
    code->slots[code->n_slots++] = (struct hs_go_fact){.place = place, .value = *value};
    return HS_OK;
}

/* Notes a variable that a method is called with, or of a type that is known. */
static hs_status add_variable(struct reading *r, const struct hs_go_value *place, hs_addr method,
                              hs_addr type)
{
    struct hs_go_code *code = r->code;
    const struct hs_go_module *m = &r->heap->module;
    bool is_static = place->kind == HS_GO_CONSTANT && place->at >= m->data[HS_GO_NOPTRDATA].begin &&
                     (place->at < m->text || place->at >= m->etext);

    if ((!is_static && (place->kind != HS_GO_FRAME || !r->is_on_stack)) ||
        code->n_variables == SLOTS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&code->variables, &code->variables_capacity, code->n_variables + 1, r->err));
    code->variables[code->n_variables++] =
        (struct hs_go_variable){.place = *place, .method = method, .type = type};
    return HS_OK;
}

/* Notes what the first words of a variable of a frame lead to there: maps that stay in a frame. */
static hs_status add_led_to(struct reading *r, const struct hs_go_value *place, hs_addr method)
{
    size_t first = (size_t)place->offsets[0] / HS_WORD_BYTES, n = r->code->n_variables;

    if (place->kind != HS_GO_FRAME)
        return HS_OK;
    for (unsigned i = 0; i < WORDS_OF_RECEIVER && first + i < r->n_slots; i++)
        if (r->slots[first + i].kind == HS_GO_FRAME) {
            HS_TRY(add_variable(r, &r->slots[first + i], method, 0));
            for (; n < r->code->n_variables; n++)
                r->code->variables[n].word = (uint16_t)(i + 1);
        }
    return HS_OK;
}

/* Notes a word that a method is called with: it leads to what is the method's receiver. */
static hs_status add_receiver(struct reading *r, const struct hs_go_value *place, hs_addr method)
{
    if (place->kind != HS_GO_WORD)
        return HS_OK;
    HS_TRY(add_value(r, &r->code->receivers, method, place));
    return add_fact(r, place, &(struct hs_go_value){.kind = HS_GO_ARGUMENT, .at = method});
}

/* Tells whether a value is the word at a place, or may be by the calls of a function. */
static bool is_place(const struct hs_go_value *value)
{
    return value->kind == HS_GO_WORD ||
           (value->kind == HS_GO_ARGUMENT && value->holding == 0 && value->n_steps != 0);
}

/* Notes a variable whose address is the value of an interface. */
static hs_status add_interface(struct reading *r, const struct hs_go_value *table,
                               const struct hs_go_value *place)
{
    struct hs_go_type of, type;
    uint64_t first = 0, second = 0, element = 0;

    if (table->kind != HS_GO_CONSTANT ||
        (place->kind != HS_GO_CONSTANT && place->kind != HS_GO_FRAME) ||
        !hs_go_u64(r->heap, table->at, &first) ||
        !hs_go_u64(r->heap, table->at + HS_WORD_BYTES, &second) ||
        !hs_go_read_type(r->heap, first, &of) || of.kind != HS_GO_INTERFACE ||
        !hs_go_read_type(r->heap, second, &type) || type.kind != HS_GO_POINTER ||
        !hs_go_u64(r->heap, second + HS_GO_ELEM_AT, &element))
        return HS_OK;
    return add_variable(r, place, 0, element);
}

static uint64_t name_key(const char *name)
{
    return hs_hash_bytes(name, strlen(name));
}

/* Notes a type by its name: methods are called by those of their receivers. */
static hs_status add_type(struct reading *r, const struct hs_go_type *type)
{
    char name[HS_GO_TYPE_NAME_BYTES];

    if (type->kind == 0 || !hs_go_type_name(r->heap, type, name))
        return HS_OK;
    const uint64_t *known = hs_dict_find(&r->code->types, name_key(name));
    if (known != NULL && (*known == type->address || *known == 0))
        return HS_OK;
    return hs_dict_put(&r->code->types, name_key(name), known == NULL ? type->address : 0, r->err);
}

/* ---- calls */

static void set(struct reading *r, unsigned reg, struct hs_go_value value)
{
    r->now.registers[reg] = value;
}

static void forget(struct reading *r, unsigned changed)
{
    for (unsigned i = 0; i < HS_MOVE_N_REGISTERS; i++)
        if ((changed >> i & 1) != 0)
            r->now.registers[i].kind = HS_GO_NOTHING;
}

/* Sets AX to an object of the type that a register holds the description of. */
static hs_status make(struct reading *r, const struct hs_go_value *of, enum hs_go_holding holding)
{
    struct hs_go_type type, element;
    struct hs_go_value made = {.kind = HS_GO_OBJECT, .holding = (uint8_t)holding, .at = of->at};

    if (of->kind != HS_GO_CONSTANT || !hs_go_read_type(r->heap, of->at, &type))
        return HS_OK;
    if (holding == HS_GO_HOLD_CHAN && !hs_go_u64(r->heap, of->at + HS_GO_ELEM_AT, &made.at))
        return HS_OK;
    HS_TRY(add_type(r, &type));
    if (type.kind == HS_GO_POINTER &&
        hs_go_u64(r->heap, of->at + HS_GO_ELEM_AT, &element.address) &&
        hs_go_read_type(r->heap, element.address, &element))
        HS_TRY(add_type(r, &element));
    set(r, AX, made);
    return HS_OK;
}

static uint64_t word_key(hs_addr function, int32_t number)
{
    return function * WORDS_OF_RECEIVER + (uint32_t)number;
}

/* Notes that a map is used with its type. */
static hs_status use_map(struct reading *r, const struct hs_go_value *type,
                         const struct hs_go_value *map)
{
    struct hs_go_type of;
    const struct hs_go_value value = {
        .kind = HS_GO_OBJECT, .holding = HS_GO_HOLD_MAP, .at = type->at};

    if (type->kind != HS_GO_CONSTANT || !hs_go_read_type(r->heap, type->at, &of) ||
        of.kind != HS_GO_MAP)
        return HS_OK;
    if (map->kind == HS_GO_SMALL_MAP && map->n_steps == 0)
        return hs_dict_put(&r->code->small_maps, map->at, type->at, r->err);
    if (map->kind == HS_GO_FRAME)
        return add_variable(r, map, 0, type->at);
    if (map->kind == HS_GO_IN_FRAME)
        return add_slot(r, map->offsets[0], &value);
    if (map->kind == HS_GO_ARGUMENT && map->holding == 0 && map->n_steps == 1 &&
        map->offsets[0] >= 0 && map->offsets[0] / HS_WORD_BYTES < WORDS_OF_RECEIVER)
        HS_TRY(hs_dict_put(&r->code->map_words, word_key(map->at, map->offsets[0] / HS_WORD_BYTES),
                           type->at, r->err));
    return is_place(map) ? add_fact(r, map, &value) : HS_OK;
}

static hs_status call_of_runtime(struct reading *r, enum effect effect)
{
    const struct hs_go_value ax = r->now.registers[AX], bx = r->now.registers[BX],
                             si = r->now.registers[SI];
    enum { MINOR_OF_GROW_LAST = 20 };

    if (effect == EFFECT_KEEPS)
        return HS_OK;
    forget(r, UINT16_MAX);
    switch (effect) {
    case EFFECT_NEW:
        return make(r, &ax, HS_GO_HOLD_ONE);
    case EFFECT_NEW_BY_SIZE:
        return make(r, &bx, HS_GO_HOLD_ONE);
    case EFFECT_ROW:
        return make(r, &ax, HS_GO_HOLD_ROW);
    case EFFECT_GROW:
        return make(r, r->heap->layout->minor < MINOR_OF_GROW_LAST ? &ax : &si, HS_GO_HOLD_ROW);
    case EFFECT_CHAN:
        return make(r, &ax, HS_GO_HOLD_CHAN);
    case EFFECT_MAP:
        return make(r, &ax, HS_GO_HOLD_MAP);
    case EFFECT_SMALL_MAP:
        set(r, AX, (struct hs_go_value){.kind = HS_GO_SMALL_MAP, .at = r->at});
        return HS_OK;
    case EFFECT_IN_MAP:
        return use_map(r, &ax, &bx);
    default:
        return HS_OK;
    }
}

/* Notes what the arguments of a function lead to, where its frame is there, and takes its result.
 */
static hs_status call(struct reading *r, hs_addr target)
{
    const uint64_t *effect = target == 0 ? NULL : hs_dict_find(&r->code->effects, target);

    if (effect != NULL)
        return call_of_runtime(r, (enum effect) * effect);
    if (target != 0) {
        HS_TRY(add_variable(r, &r->now.registers[AX], target, 0));
        HS_TRY(add_led_to(r, &r->now.registers[AX], target));
        HS_TRY(add_receiver(r, &r->now.registers[AX], target));
    }
    HS_TRY(add_interface(r, &r->now.registers[AX], &r->now.registers[BX]));
    if (target != 0 && hs_dict_find(&r->code->on_stack, target) != NULL)
        for (unsigned i = 0; i < ARGUMENTS; i++) {
            const struct hs_go_value *value = &r->now.registers[argument_registers[i]];
            if (leads(value))
                HS_TRY(add_value(r, &r->code->arguments, target * ARGUMENTS + i, value));
        }
    forget(r, UINT16_MAX);
    if (target != 0)
        set(r, AX, (struct hs_go_value){.kind = HS_GO_RESULT, .at = target});
    return HS_OK;
}

/* ---- moves */

static struct hs_go_value *slot_at(struct reading *r, const struct hs_move *move)
{
    bool is_slot = move->base == SP && r->now.has_frame && move->displacement >= 0 &&
                   move->displacement % HS_WORD_BYTES == 0 &&
                   move->displacement / HS_WORD_BYTES < N_SLOTS;
    if (!is_slot)
        return NULL;
    size_t number = (size_t)move->displacement / HS_WORD_BYTES;
    if (number >= r->n_slots) {
        memset(&r->slots[r->n_slots], 0, (number + 1 - r->n_slots) * sizeof *r->slots);
        r->n_slots = number + 1;
    }
    return &r->slots[number];
}

/* Loads a word: of the frame, of static data, or behind such a word. */
static void load(struct reading *r, const struct hs_move *move)
{
    struct hs_go_value value = {.kind = HS_GO_NOTHING};
    const struct hs_go_value *slot = slot_at(r, move);

    if (slot != NULL) {
        value = *slot;
        if (value.kind == HS_GO_NOTHING)
            value = (struct hs_go_value){
                .kind = HS_GO_IN_FRAME, .at = r->function, .offsets = {move->displacement}};
    } else if (move->base == HS_MOVE_NONE) {
        value = (struct hs_go_value){.kind = HS_GO_WORD, .at = move->target};
    } else {
        const struct hs_go_value *base = &r->now.registers[move->base];
        if (base->kind == HS_GO_CONSTANT)
            value = (struct hs_go_value){.kind = HS_GO_WORD,
                                         .at = base->at + (uint64_t)(int64_t)move->displacement};
        bool may_go_on = base->kind == HS_GO_WORD || base->kind == HS_GO_CLOSURE || leads(base);
        if (may_go_on && base->n_steps < HS_GO_STEPS_MAX) {
            value = *base;
            value.offsets[value.n_steps++] = move->displacement;
        }
    }
    set(r, move->reg, value);
}

/* Notes the function of a closure: the first word of what was made for it. */
static hs_status note_closure(struct reading *r, const struct hs_go_value *object,
                              const struct hs_go_value *value)
{
    const struct hs_go_module *m = &r->heap->module;
    struct hs_go_type type;

    if (object->kind != HS_GO_OBJECT || value->kind != HS_GO_CONSTANT || value->at < m->text ||
        value->at >= m->etext || !hs_go_read_type(r->heap, object->at, &type) ||
        type.kind != HS_GO_STRUCT)
        return HS_OK;
    return hs_dict_put(&r->code->closures, value->at, object->at, r->err);
}

static hs_status store(struct reading *r, const struct hs_move *move)
{
    struct hs_go_value *slot = slot_at(r, move);
    const struct hs_go_value value = r->now.registers[move->reg];

    if (slot != NULL) {
        *slot = value;
        return add_slot(r, move->displacement, &value);
    }
    if (move->base == HS_MOVE_NONE)
        return add_fact(r, &(struct hs_go_value){.kind = HS_GO_WORD, .at = move->target}, &value);
    const struct hs_go_value base = r->now.registers[move->base];
    if (base.kind == HS_GO_CONSTANT)
        return add_fact(
            r,
            &(struct hs_go_value){.kind = HS_GO_WORD,
                                  .at = base.at + (uint64_t)(int64_t)move->displacement},
            &value);
    if (base.kind == HS_GO_WORD && base.n_steps < HS_GO_STEPS_MAX) {
        struct hs_go_value place = base;
        place.offsets[place.n_steps++] = move->displacement;
        return add_fact(r, &place, &value);
    }
    return move->displacement == 0 ? note_closure(r, &base, &value) : HS_OK;
}

/* Keeps the registers for the place that a jump leads to, if that is ahead. */
static void keep(struct reading *r, hs_addr at, hs_addr target)
{
    if (target <= at)
        return;
    struct state *there = &r->forward[r->n_forward++ % N_FORWARD];
    *there = r->now;
    there->at = target;
    if (target < r->next_forward)
        r->next_forward = target;
}

/* Takes the registers of jumps that lead here: all of them where nothing else does, else those of
 * which nothing is known. */
static void resume(struct reading *r, hs_addr at)
{
    bool is_first = !r->now.is_there;

    if (is_first) {
        r->now.is_there = r->now.has_frame = true;
        forget(r, UINT16_MAX);
    }
    r->next_forward = UINT64_MAX;
    for (unsigned i = 0; i < N_FORWARD; i++) {
        const struct state *from = &r->forward[i];
        if (from->is_there && from->at > at && from->at < r->next_forward)
            r->next_forward = from->at;
        if (!from->is_there || from->at != at)
            continue;
        if (is_first)
            r->now.has_frame = from->has_frame;
        for (unsigned k = 0; k < HS_MOVE_N_REGISTERS; k++)
            if (r->now.registers[k].kind == HS_GO_NOTHING)
                r->now.registers[k] = from->registers[k];
    }
}

static hs_status leave(struct reading *r, hs_addr at, const struct hs_move *move)
{
    const struct hs_go_value *result = &r->now.registers[AX];

    if (move->target != 0)
        keep(r, at, move->target);
    else if (r->now.is_there && leads(result) &&
             !(result->kind == HS_GO_RESULT && result->at == r->function))
        HS_TRY(add_value(r, &r->code->results, r->function, result));
    r->now.is_there = false;
    return HS_OK;
}

static void take_address(struct reading *r, const struct hs_move *move)
{
    struct hs_go_value value = {.kind = HS_GO_NOTHING};

    if (move->base == HS_MOVE_NONE)
        value = (struct hs_go_value){.kind = HS_GO_CONSTANT, .at = move->target};
    else if (move->base == SP && r->now.has_frame && move->displacement >= 0)
        value = (struct hs_go_value){
            .kind = HS_GO_FRAME, .at = r->function, .offsets = {move->displacement}};
    set(r, move->reg, value);
}

static hs_status step(struct reading *r, hs_addr at, const struct hs_move *move)
{
    switch ((enum hs_move_kind)move->kind) {
    case HS_MOVE_COPY:
        set(r, move->reg, r->now.registers[move->base]);
        return HS_OK;
    case HS_MOVE_LOAD:
        load(r, move);
        return HS_OK;
    case HS_MOVE_STORE:
        return store(r, move);
    case HS_MOVE_ADDRESS:
        take_address(r, move);
        return HS_OK;
    case HS_MOVE_CALL:
        return call(r, move->target);
    case HS_MOVE_BRANCH:
        keep(r, at, move->target);
        return HS_OK;
    case HS_MOVE_LEAVE:
        return leave(r, at, move);
    default:
        /* The frame is made by one change of the stack's end, and taken down by another. */
        if ((move->changed >> SP & 1) != 0)
            r->now.has_frame = !r->now.has_frame;
        forget(r, move->changed);
        return HS_OK;
    }
}

/* ---- functions */

static hs_status read_function(struct reading *r, hs_addr begin, hs_addr end)
{
    const uint8_t *bytes = hs_go_bytes(r->heap, begin, end - begin);
    struct hs_move move;

    if (bytes == NULL)
        return HS_OK;
    r->function = begin;
    r->is_on_stack = hs_dict_find(&r->code->on_stack, begin) != NULL;
    r->now = (struct state){.is_there = true};
    r->n_forward = 0;
    r->next_forward = UINT64_MAX;
    memset(r->forward, 0, sizeof r->forward);
    r->n_slots = 0;
    for (unsigned i = 0; i < ARGUMENTS; i++)
        set(r, argument_registers[i],
            (struct hs_go_value){.kind = HS_GO_ARGUMENT, .holding = (uint8_t)i, .at = begin});
    set(r, DX, (struct hs_go_value){.kind = HS_GO_CLOSURE, .at = begin});
    for (hs_addr at = begin; at < end; at += move.n_bytes) {
        if (!hs_code_move(bytes + (at - begin), end - at, at, &move) || move.n_bytes > end - at) {
            move = (struct hs_move){.n_bytes = 1, .changed = UINT16_MAX & ~(1u << SP)};
        }
        r->at = at;
        if (!r->now.is_there || at >= r->next_forward)
            resume(r, at);
        HS_TRY(step(r, at, &move));
    }
    return HS_OK;
}

/* Finds what a call of a function of the runtime does, by its name. */
static enum effect effect_of(const char *name)
{
    static const struct {
        const char *name;
        enum effect effect;
    } exact[] = {{"newobject", EFFECT_NEW},
                 {"mallocgc", EFFECT_NEW_BY_SIZE},
                 {"makeslice", EFFECT_ROW},
                 {"makeslice64", EFFECT_ROW},
                 {"growslice", EFFECT_GROW},
                 {"growsliceNoAlias", EFFECT_GROW},
                 {"makechan", EFFECT_CHAN},
                 {"makechan64", EFFECT_CHAN},
                 {"makemap", EFFECT_MAP},
                 {"makemap64", EFFECT_MAP},
                 {"makemap_small", EFFECT_SMALL_MAP},
                 {"mapclear", EFFECT_IN_MAP},
                 {"mapiterinit", EFFECT_IN_MAP},
                 {"mapIterStart", EFFECT_IN_MAP}};
    static const struct {
        const char *begin;
        enum effect effect;
    } begins[] = {{"gcWriteBarrier", EFFECT_KEEPS},
                  {"mapassign", EFFECT_IN_MAP},
                  {"mapaccess", EFFECT_IN_MAP},
                  {"mapdelete", EFFECT_IN_MAP},
                  {"mallocgcSmall", EFFECT_NEW_BY_SIZE}};
    static const char prefix[] = "runtime.";

    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return EFFECT_NONE;
    name += sizeof prefix - 1;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(name, exact[i].name) == 0)
            return exact[i].effect;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i].begin, strlen(begins[i].begin)) == 0)
            return begins[i].effect;
    return EFFECT_NONE;
}

static hs_status find_effects(const struct hs_go_heap *heap, struct hs_go_code *code,
                              struct hs_error *err)
{
    const struct hs_go_module *m = &heap->module;
    struct hs_go_function function;
    char name[HS_GO_NAME_BYTES];

    for (uint64_t i = 0; i < m->n_functions; i++) {
        hs_addr entry = m->text + hs_load_u32(m->ftab + i * FTAB_BYTES);
        if (!hs_go_function_at(heap, entry, &function) ||
            !hs_go_function_name(heap, &function, name, sizeof name))
            continue;
        enum effect effect = effect_of(name);
        if (effect != EFFECT_NONE)
            HS_TRY(hs_dict_put(&code->effects, entry, effect, err));
    }
    return HS_OK;
}

/* ---- what is found */

/* Finds the receiver of a method by its name: "net/http.(*conn).serve" has a http.conn. */
static hs_addr receiver_of(const struct hs_go_code *code, hs_addr entry)
{
    struct hs_go_function function;
    char name[HS_GO_NAME_BYTES], type[HS_GO_NAME_BYTES];

    if (!hs_go_function_at(code->heap, entry, &function) ||
        !hs_go_function_name(code->heap, &function, name, sizeof name))
        return 0;
    const char *open = strstr(name, ".(*"), *close = open == NULL ? NULL : strchr(open, ')');
    if (close == NULL || strchr(close + 1, '.') != strrchr(close + 1, '.'))
        return 0;
    const char *slash = open;
    while (slash != name && slash[-1] != '/')
        slash--;
    (void)snprintf(type, sizeof type, "%.*s.%.*s", (int)(open - slash), slash,
                   (int)(close - open - 3), open + 3);
    return hs_go_type_named(code, type);
}

static int place_compare(const struct hs_go_value *x, const struct hs_go_value *y)
{
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->offsets[0] < y->offsets[0] ? -1 : x->offsets[0] > y->offsets[0];
}

static int slot_compare(const void *a, const void *b)
{
    return place_compare(&((const struct hs_go_fact *)a)->place,
                         &((const struct hs_go_fact *)b)->place);
}

static int variable_compare(const void *a, const void *b)
{
    const struct hs_go_variable *x = a, *y = b;
    int by_place = place_compare(&x->place, &y->place);
    return by_place != 0 ? by_place : x->type < y->type ? -1 : x->type > y->type;
}

/* Puts what was found in order, and names the types of variables. */
static void seal(struct hs_go_code *code)
{
    size_t n = 0;

    if (code->n_slots > 1)
        qsort(code->slots, code->n_slots, sizeof *code->slots, slot_compare);
    for (size_t i = 0; i < code->n_variables; i++) {
        struct hs_go_variable variable = code->variables[i];
        if (variable.word != 0) {
            const uint64_t *known =
                hs_dict_find(&code->map_words, word_key(variable.method, variable.word - 1));
            variable.type = known == NULL ? 0 : *known;
        } else if (variable.type == 0) {
            variable.type = receiver_of(code, variable.method);
        }
        if (variable.type != 0)
            code->variables[n++] = variable;
    }
    code->n_variables = n;
    if (n > 1)
        qsort(code->variables, n, sizeof *code->variables, variable_compare);
}

hs_status hs_go_read_code(const struct hs_go_heap *heap, const struct hs_go_goroutines *gs,
                          struct hs_go_code *ret, struct hs_error *err)
{
    const struct hs_go_module *m = &heap->module;
    struct reading *r = NULL;
    hs_addr read_to = 0;

    ret->heap = heap;
    for (size_t i = 0; i < gs->n_frames; i++)
        HS_TRY(hs_dict_put(&ret->on_stack, gs->frames[i].function.entry, 1, err));
    HS_TRY(find_effects(heap, ret, err));
    HS_TRY(HS_ALLOC(&r, 1, err));
    r->code = ret;
    r->heap = heap;
    r->err = err;
    hs_status status = HS_OK;
    for (uint64_t i = 0; status == HS_OK && i < m->n_functions; i++) {
        hs_addr begin = m->text + hs_load_u32(m->ftab + i * FTAB_BYTES);
        hs_addr end = m->text + hs_load_u32(m->ftab + (i + 1) * FTAB_BYTES);
        if (begin < read_to || begin >= end || end > m->etext) /* each byte is read once */
            continue;
        read_to = end;
        if (end - begin <= CODE_MAX)
            status = read_function(r, begin, end);
    }
    hs_free(r);
    seal(ret);
    return status;
}

hs_addr hs_go_type_named(const struct hs_go_code *code, const char *name)
{
    const uint64_t *known = hs_dict_find(&code->types, name_key(name));
    return known == NULL ? 0 : *known;
}

hs_addr hs_go_type_of_static(const struct hs_go_code *code, hs_addr at)
{
    const struct hs_go_variable *all = code->variables;
    struct hs_go_type type, largest = {.n_bytes = 0};
    size_t first = HS_FIRST_NOT(i, 0, code->n_variables,
                                all[i].place.kind < HS_GO_CONSTANT ||
                                    (all[i].place.kind == HS_GO_CONSTANT && all[i].place.at < at));

    for (size_t i = first;
         i < code->n_variables && all[i].place.kind == HS_GO_CONSTANT && all[i].place.at == at; i++)
        if (hs_go_read_type(code->heap, all[i].type, &type) && type.n_bytes > largest.n_bytes)
            largest = type;
    return largest.n_bytes == 0 ? 0 : largest.address;
}

/* Finds the object that a value's first word leads to. */
static bool first_of(const struct hs_go_code *code, const struct hs_go_value *value, hs_addr *ret,
                     enum hs_go_holding *ret_holding)
{
    const uint64_t *known;

    *ret = value->at;
    *ret_holding = (enum hs_go_holding)value->holding;
    if (value->kind == HS_GO_OBJECT)
        return true;
    if (value->kind == HS_GO_SMALL_MAP) {
        known = hs_dict_find(&code->small_maps, value->at);
        *ret = known == NULL ? 0 : *known;
        *ret_holding = HS_GO_HOLD_MAP;
        return known != NULL;
    }
    *ret_holding = HS_GO_HOLD_ONE;
    if (value->kind == HS_GO_CLOSURE) {
        known = hs_dict_find(&code->closures, value->at);
        *ret = known == NULL ? 0 : *known;
        return known != NULL;
    }
    *ret = value->kind == HS_GO_ARGUMENT && value->holding == 0 ? receiver_of(code, value->at) : 0;
    return *ret != 0;
}

/* Goes on from values of a type to what the word at an offset leads to. */
static bool go_on(const struct hs_go_heap *heap, int32_t offset, hs_addr *at,
                  enum hs_go_holding *holding)
{
    if (offset < 0 || (*holding != HS_GO_HOLD_ONE && *holding != HS_GO_HOLD_ROW))
        return false;
    const struct hs_go_slot_kind slot = hs_go_find_slot(heap, *at, (uint64_t)offset);
    *at = slot.of;
    *holding = slot.kind == HS_GO_MAP     ? HS_GO_HOLD_MAP
               : slot.kind == HS_GO_CHAN  ? HS_GO_HOLD_CHAN
               : slot.kind == HS_GO_SLICE ? HS_GO_HOLD_ROW
                                          : HS_GO_HOLD_ONE;
    return slot.kind == HS_GO_POINTER || *holding != HS_GO_HOLD_ONE;
}

bool hs_go_value_of(const struct hs_go_code *code, const struct hs_go_value *value, hs_addr *ret,
                    enum hs_go_holding *ret_holding)
{
    struct hs_go_value now = *value;

    for (unsigned i = 0; i < FOLLOWS_MAX; i++) {
        if (first_of(code, &now, ret, ret_holding)) {
            for (unsigned k = 0; k < now.n_steps; k++)
                if (!go_on(code->heap, now.offsets[k], ret, ret_holding))
                    return false;
            return true;
        }
        if (now.kind != HS_GO_RESULT && now.kind != HS_GO_ARGUMENT)
            return false;
        const uint64_t *known =
            now.kind == HS_GO_RESULT
                ? hs_dict_find(&code->results, now.at)
                : hs_dict_find(&code->arguments, now.at * ARGUMENTS + now.holding);
        if (known == NULL)
            return false;
        /* The steps of what is known come first. */
        struct hs_go_value next = code->values[*known];
        if (next.n_steps + now.n_steps > HS_GO_STEPS_MAX)
            return false;
        for (unsigned k = 0; k < now.n_steps; k++)
            next.offsets[next.n_steps++] = now.offsets[k];
        now = next;
    }
    return false;
}
