/* Reads the anchor of the recorder: heaps/recorder.h. */
#include "heaps/recorder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "heaps/process_copy.h"
#include "target/procfs.h"

#define RECORD_MAX_SLOTS (UINT64_C(1) << 32)

bool hs_recorder_is_sound(const struct hs_record_anchor *anchor)
{
    hs_addr end;
    uint64_t n_bytes;

    return anchor->version == HS_RECORD_VERSION && anchor->bytes >= sizeof *anchor &&
           anchor->n_slots <= RECORD_MAX_SLOTS && (anchor->n_slots & (anchor->n_slots - 1)) == 0 &&
           hs_mul_fits(anchor->n_slots, sizeof(struct hs_record_slot), &n_bytes) &&
           hs_add_fits(anchor->slots, n_bytes, &end) && anchor->slots % 8 == 0 &&
           hs_add_fits(anchor->stacks, anchor->stacks_bytes, &end) && anchor->stacks % 8 == 0;
}

/* The process calls itself by the number that it has in its own namespace of processes. */
bool hs_recorder_is_own(const struct hs_target *target, uint32_t pid)
{
    static const char key[] = "\nNSpid:";
    hs_auto_free char *status = NULL;
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n_bytes;
    uint64_t inner = 0;

    if (pid == (uint32_t)target->pid)
        return true;
    if (target->core != NULL || hs_target_proc(target, "status", &status, &n_bytes, &ignored) != 0)
        return false;
    const char *at = strstr(status, key);
    if (at == NULL)
        return false;
    const char *end = strchr(at + 1, '\n');
    if (end == NULL)
        end = status + n_bytes;
    for (at += sizeof key - 1; at < end;) {
        if (!hs_proc_digits(&at, end, 10, &inner))
            at++;
    }
    return inner == pid;
}

bool hs_recorder_stack(const struct hs_image *image, const struct hs_record_anchor *anchor,
                       uint32_t stack, const uint8_t **ret_frames, uint32_t *ret_n)
{
    uint64_t at = 8 * (uint64_t)stack;
    const uint8_t *frames;
    uint32_t n_frames;

    if (at + sizeof(struct hs_record_stack) > anchor->stacks_bytes ||
        !hs_image_u32(image, anchor->stacks + at, &n_frames) || n_frames == 0 ||
        n_frames > HS_RECORD_FRAMES_MAX)
        return false;
    at += sizeof(struct hs_record_stack);
    if (anchor->stacks_bytes - at < 8 * (uint64_t)n_frames)
        return false;
    frames = hs_image_bytes(image, anchor->stacks + at, 8 * (size_t)n_frames);
    if (frames == NULL)
        return false;
    *ret_frames = frames;
    *ret_n = n_frames;
    return true;
}

hs_status hs_recorder_facts(const struct hs_record_anchor *anchor, uint8_t kind,
                            struct hs_strtab *strings, struct hs_sampler *ret, struct hs_error *err)
{
    char text[HS_RECORD_PATH_BYTES];
    size_t n = 0;

    for (; n < sizeof text - 1 && anchor->trace_path[n] != '\0'; n++) {
        unsigned char c = (unsigned char)anchor->trace_path[n];
        text[n] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    text[n] = '\0';
    struct hs_sampler facts = {.kind = kind,
                               .period_words = (double)anchor->period_bytes / HS_WORD_BYTES,
                               .n_lost = anchor->n_lost};
    if (!hs_mul_fits(anchor->begun_us, 1000, &facts.begun_ns))
        facts.begun_ns = 0;
    HS_TRY(hs_strtab_add(strings, text, &facts.trace, err));
    *ret = facts;
    return HS_OK;
}
