/* heapsnap-dwarf: the box in which libdwarf reads debug information for heapsnap.
 *
 *   heapsnap-dwarf MEMORY_BYTES     questions and answers on standard input, a socket
 *
 * heapsnap starts it; it is of no use to people. */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "boxed/serve.h"

static bool is_socket(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int main(int n_arguments, char **arguments)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_box_confinement confinement;
    uint64_t memory_bytes;
    if (n_arguments != 2 || hs_parse_count(arguments[1], &memory_bytes, &err) != HS_OK ||
        !is_socket(STDIN_FILENO)) {
        (void)fprintf(stderr, "heapsnap-dwarf: heapsnap starts this by itself, to read debug "
                              "information\n");
        return 2;
    }
    hs_box_confine(memory_bytes, &confinement);
    return hs_box_serve(STDIN_FILENO, &confinement, &err) == HS_OK ? 0 : 1;
}
