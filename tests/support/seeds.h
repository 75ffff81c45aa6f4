/* Of how many seeds a test makes a graph and looks at it, how large one is, how often it lets
 * something fail. */
#ifndef HS_TEST_SEEDS_H
#define HS_TEST_SEEDS_H

/* The sanitizers take several times as long over the same code, and see in it what a few hundred
 * graphs of all shapes show. What includes this is run without them as well (tests/unit). */
#ifdef HS_SANITIZED
#define HS_SEEDS(n) ((n) < 4 ? 1 : (n) / 4)
#define HS_EVERY(n) (n) /* each nth of a row of places */
#else
#define HS_SEEDS(n) (n)
#define HS_EVERY(n) 1
#endif

#endif
