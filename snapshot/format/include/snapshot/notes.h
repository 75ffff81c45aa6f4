/* The beginnings of notes of a snapshot that looks read again. */
#ifndef HS_SNAPSHOT_NOTES_H
#define HS_SNAPSHOT_NOTES_H

/* Says which functions of a Go program call which functions of C. */
#define HS_NOTE_CALLS_C "Go: C is called by "

#endif
