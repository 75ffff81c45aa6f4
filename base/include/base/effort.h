/* A bound of the work that a file may cause.
 *
 * A file chooses how often its tables are read, how long its lists are and how deep they lead, and
 * a sparse one of a megabyte may claim gigabytes. So whoever reads takes steps from what the file
 * is worth, and when nothing is left it stops, keeps what it has, and says so. Steps are counted
 * rather than seconds, so that the same file gives the same answer on every machine.
 *
 *   a step     some ten nanoseconds: an attribute, a row, 64 bytes copied; or a byte held
 *   worth      HS_EFFORT_BASE, and HS_EFFORT_EACH for each byte that is on the disk
 *
 * An honest reader of honest debug information takes a tenth of a step for a byte, and some two
 * when its sections are compressed. Not for threads. */
#ifndef HS_BASE_EFFORT_H
#define HS_BASE_EFFORT_H

#include <stdbool.h>
#include <stdint.h>

#define HS_EFFORT_BASE (UINT64_C(1) << 27)
#define HS_EFFORT_EACH 16

struct hs_effort {
    uint64_t left;
    bool is_spent; /* more was asked for than there was */
};

/* Returns the work that n_bytes on a disk may cause. */
static inline struct hs_effort hs_effort_of_bytes(uint64_t n_bytes)
{
    uint64_t most = (UINT64_MAX - HS_EFFORT_BASE) / HS_EFFORT_EACH;
    return (struct hs_effort){HS_EFFORT_BASE + HS_EFFORT_EACH * (n_bytes < most ? n_bytes : most),
                              false};
}

/* Returns the work that an open file may cause, by the bytes that it has on its disk, which a hole
 * does not; where the file system does not tell, by its size. */
struct hs_effort hs_effort_of_file(int fd);

/* Takes steps for one thing that may be left out while the rest goes on: false when there is not so
 * much left. */
static inline bool hs_effort_hold(struct hs_effort *effort, uint64_t n_bytes)
{
    bool fits = n_bytes <= effort->left;
    effort->left -= fits ? n_bytes : 0;
    effort->is_spent |= !fits;
    return fits;
}

/* Takes steps. False when there are not so many left; then none are, from now on. */
static inline bool hs_effort_take(struct hs_effort *effort, uint64_t n_steps)
{
    if (n_steps <= effort->left) {
        effort->left -= n_steps;
        return true;
    }
    effort->left = 0;
    effort->is_spent = true;
    return false;
}

#endif
