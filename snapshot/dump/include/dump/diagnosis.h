/* Diagnoses what a dump of a process would meet, without dumping it: the checks of
 * target/diagnosis.h, and of what lies above:
 *
 *   runtime allocator     can its heap be read
 *   stop                  how it would be stopped, and for how long
 *   memory disk           what the dump needs of the machine
 *   binaries debug_info unwind    what names and stacks there will be
 *
 * The process is never stopped. */
#ifndef HS_DUMP_DIAGNOSIS_H
#define HS_DUMP_DIAGNOSIS_H

#include "runtimes/dump_options.h"
#include "target/diagnosis.h"

/* Everything about the process options->pid. HS_LIMIT, out of memory, alone: whatever speaks
 * against a dump is a check. Costs what a dump does before its stop. */
hs_status hs_diagnose_dump(const struct hs_dump_options *options, struct hs_diagnosis *ret,
                           struct hs_error *err);

#endif
