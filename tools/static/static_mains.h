/* The main functions of both programs that heapsnap-static is, which are compiled with other names
 * for main. */
#ifndef HS_STATIC_STATIC_MAINS_H
#define HS_STATIC_STATIC_MAINS_H

int hs_static_box_main(int n_arguments, char **arguments);
int hs_static_program_main(int n_arguments, char **arguments);

#endif
