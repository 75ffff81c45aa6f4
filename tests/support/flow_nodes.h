/* A world of flowing types with struct node { struct node *next; char *text; long n; void *any; }
 * and what leads to it. */
#ifndef HS_TESTS_FLOW_NODES_H
#define HS_TESTS_FLOW_NODES_H

#include "flow_world.h"

enum { NODE = 1, NODE_POINTER, TEXT, NUMBER, BUFFER, UNION, VOID, PAIR, DECLARED, NODES };
enum { LINK = NODES + 1, USER, GUEST, LINK_POINTER };

static inline int set_up(void **state)
{
    (void)state;
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 32);
    world_slot(NODE, "next", 0, NODE);
    world_slot(NODE, "text", 8, TEXT);
    world_slot(NODE, "any", 24, 0);
    world_type(NODE_POINTER, "struct node *", HS_CTYPE_POINTER, 8);
    world_slot(NODE_POINTER, NULL, 0, NODE);
    world_type(TEXT, "char", HS_CTYPE_SCALAR, 1);
    world_type(NUMBER, "int", HS_CTYPE_SCALAR, 4);
    world_type(BUFFER, "struct buffer", HS_CTYPE_RECORD, 4); /* { int n; char bytes[]; } */
    world_type(UNION, "union any", HS_CTYPE_UNION, 8);
    world_slot(UNION, NULL, 0, 0);
    world_types[UNION].slots[0].may_be_pointer_only = true;
    world_type(VOID, "void", HS_CTYPE_VOID, 0);
    world_type(PAIR, "struct pair", HS_CTYPE_RECORD, 16); /* two numbers */
    world_type(DECLARED, "struct hidden", HS_CTYPE_RECORD, 0);
    world_types[DECLARED].facts.is_declaration = true;
    world_type(NODES, "struct node [3]", HS_CTYPE_ARRAY, 96);
    world_types[NODES].facts.of = NODE;
    return 0;
}

#endif
