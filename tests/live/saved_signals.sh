#!/usr/bin/env bash
# What a call left on its stack, which a library keeps in each struct sigaction that it saves, is no
# second owner of a list of the program's, nor are registers that setjmp saved; three records that
# are alike in one word alone are.
. "$(dirname "$0")/_native.sh"
need gcc

cat >"$work/library.c" <<'EOC'
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
static struct { char far[4096]; jmp_buf call; } alone;
int save_call(void) /* its caller's registers */
{
    return setjmp(alone.call);
}
static struct sigaction saved[6];
static volatile struct { void *here; long words[24]; } mine[3]; /* that keep what they lead to */
void save_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGALRM, SIGTSTP, SIGTTOU};
    for (size_t i = 0; i < 6; i++)
        sigaction(signals[i], NULL, &saved[i]);
}
void keep(void *what)
{
    for (size_t i = 0; i < 3; i++)
        mine[i].here = what;
}
EOC
cat >"$work/program.c" <<'EOC'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
void save_signals(void);
void keep(void *what);
int save_call(void);
struct node { struct node *next; long words[5]; };
static struct node *list;
__attribute__((noinline)) static struct node *made(size_t *n)
{
    struct node *head = NULL;
    for (int i = 0; i < 500; i++) {
        struct node *node = calloc(1, sizeof *node);
        node->next = head;
        head = node;
        *n += malloc_usable_size(node) / 8;
    }
    return head;
}
__attribute__((noinline)) static void plant(void)
{
    struct node *volatile words[1000];
    for (int i = 0; i < 1000; i++)
        words[i] = i % 2 ? list : list->next;
}
int main(void)
{
    size_t n = 0, n_kept = 0;
    list = made(&n);
    struct node *first = list, *second = first->next;
    int was = 0;
    __asm__ volatile("" : "+r"(first), "+r"(second));
    was |= save_call(); /* both stand in registers that calls save, as they are needed after it */
    __asm__ volatile("" : : "r"(first), "r"(second));
    keep(made(&n_kept));
    save_signals(); /* what the dynamic linker leaves is not ours */
    plant();
    save_signals();
    printf("OWNS %zu program\nOWNS %zu libsaved.so\nREADY\n", n, n_kept);
    fflush(stdout);
    getchar();
    return was;
}
EOC
gcc -O1 -shared -fPIC -o "$work/libsaved.so" "$work/library.c" && strip "$work/libsaved.so" &&
    gcc -O1 -s -o "$work/program" "$work/program.c" "$work/libsaved.so" -Wl,-rpath,"$work" ||
    fail "building"
start "$work/program"
dump
"$HEAPSNAP" dump "$pid" --rules=-copied-stack -o "$work/off.snap" 2>"$work/talk" ||
    fail "dump without the rule: $(cat "$work/talk")"
leave
count="select count(*) from roots where rule = 'copied-stack'"
[ "$("$HEAPSNAP" sql "$work/heap.snap" "$count" --format tsv | tail -1)" != 0 ] &&
    [ "$("$HEAPSNAP" sql "$work/off.snap" "$count" --format tsv | tail -1)" = 0 ] ||
    fail "the rule's switch"
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
python3 - "$work/roots.json" "$work/log" <<'PYTHON' || fail "owners"
import json, sys
found = json.load(open(sys.argv[1]))
module, keeps = {}, {}
for root in found["roots"]:
    module[root["id"]] = root["module"]
    keeps[root["module"]] = keeps.get(root["module"], 0) + root["retained_words"]
for together in found["sets"]:
    owners = {module.get(root, "") for root in together["roots"]}
    if len(owners) == 1:
        owner = owners.pop()
        keeps[owner] = keeps.get(owner, 0) + together["retained_words"]
said = {line.split()[2]: int(line.split()[1]) for line in open(sys.argv[2]) if "OWNS" in line}
print(said, keeps)
sys.exit(any(keeps.get(name) != words for name, words in said.items()))
PYTHON
