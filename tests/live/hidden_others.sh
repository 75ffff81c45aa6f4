#!/usr/bin/env bash
# As hidden.sh, places of the kernel's one by one: what is read there is reached, and what cannot be
# looked into makes leaks possible, with the reason.
. "$(dirname "$0")/_hidden.sh"
need gcc

gcc -O1 -g -pthread -w -o "$work/others" "$fixtures/hidden_others.c" || fail "building"
segment=""
end_segment()
{
    [ -z "$segment" ] || ipcrm -m "$segment" 2>/dev/null || true
    segment=""
}

# look PLACE LOST [REASON]: of what is lost LOST of 100 are certain
look()
{
    start "$work/others" "$1"
    segment=$(awk '$1 == "SEGMENT" { print $2 }' "$work/log")
    child=$(awk '$1 == "CHILD" { print $2 }' "$work/log")
    if grep -q NONE "$work/log"; then
        echo "$1: the system lacks it"
    else
        for stop in copy read; do
            dump --stop "$stop"
            compare "$1 $stop" "$2"
            [ "$2" = 100 ] || reason "$3"
        done
    fi
    end_segment
    [ -z "$child" ] || kill -KILL "$child" || true
    leave
}

look fifo 100
look memfd 100
look temporary 100
look segment 100
look robust-list 100
look large-file 0 'files without a name could not all be looked into'
look secret 0 'could not be read (memfd_secret'
look terminal 0 'a terminal of which the process has both ends'
look connection 0 'a connection or a terminal of which the process has both ends'
look detached 0 'memory of System V to which the process is not attached'
look bpf-map 0 'maps of BPF'
look child 0 'another process has the same memory'
look half-a-pipe 100
look low-end 100
look backlog-unix 0 'what waits in pipes, sockets or signals'
look backlog-tcp 0 'a connection or a terminal of which the process has both ends'
look datagrams-unix 0 'what waits in pipes, sockets or signals'
look datagrams-udp 0 'what waits in pipes, sockets or signals'
look netlink 0 'what waits in pipes, sockets or signals'
look sent-file 0 'what waits in pipes, sockets or signals'
look registered-file 0 'what is registered with io_uring alone'
look registered-memory 0 'what is registered with io_uring alone'
