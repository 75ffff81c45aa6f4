/* Of how many seeds a test makes a graph and looks at it. */
#ifndef HS_TEST_SEEDS_H
#define HS_TEST_SEEDS_H

/* The sanitizers take several times as long over the same code, and see in it what a few hundred
 * graphs of all shapes show. */
#ifdef HS_SANITIZED
#define HS_SEEDS(n) ((n) / 4)
#else
#define HS_SEEDS(n) (n)
#endif

#endif
