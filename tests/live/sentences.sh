#!/usr/bin/env bash
# The first sentence of suspects names the cause as the source does: variable, member and class,
# also where the optimiser, a library or the length of a name is in the way.
. "$(dirname "$0")/_native.sh"
need g++

# says PROGRAM PATTERN...: each is in the sentences, whose lines are joined.
says()
{
    local program=$1 text
    shift
    start "$work/${binary:-sentences}" "$program"
    rm -f "$work"/heap.snap*
    dump
    COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/suspects" || fail "$program: suspects"
    tr -s '\n ' ' ' <"$work/suspects" >"$work/joined"
    for text in "$@"; do
        grep -qE -- "$text" "$work/joined" || { cat "$work/suspects"; fail "$program: no '$text'"; }
    done
    ! grep -qF "may be stale" "$work/joined" || { cat "$work/suspects"; fail "$program: stale"; }
    stop_target
}

g++ -std=c++17 -O2 -g -pthread -o "$work/sentences" "$fixtures/sentences.cpp" || fail "building"
says alone "local server \(.* alone keeps " "2000 Connection, " "char\[\] at .in, " \
    "200000 of 16384000 elements are there" "server->connections\."
says shared "local server \(.* alone keeps " "2000 Connection, " "server->connections\."
says stream "stream::logger \(.* alone keeps .* at stream::logger\.buffer\."
# A block or two may have another type by what it was before.
says empty "2000 Node, " "Message at .inbox.*, 0 of 2[0-9]{4} elements in use"
says names "250 std::unordered_map<std::string, std::regex>::node, "
says tasks "2000 .*make_shared<.*_Task_state<tasks\(\)::\{lambda\(\)#1\}>>, "
says blocks "100 times the same 3 blocks \(40008 \+ 20488 \+ 72 B\)"
says ended "(1999|2000) std::make_shared<Texture> " "ended::found" \
    "hangs on weak references alone, which keep the memory of what has ended"
says element "2000 long\[\] .*at \.received in one Peer\[\]"
says lost "Lost, .* (1999|2000) blocks of 40 bytes, perhaps Leaf"
says thrown "2000 TimedOut \(thrown\), "
says cleared "10000 Quote .* at cleared::feeds\[\*\]\.rep_\." \
    "They are cleared, and kept for the next use: their 10 containers count 0 elements\."

g++ -std=c++17 -O2 -g -o "$work/pair" "$fixtures/sentences_pair.cpp" || fail "building pair"
binary=pair says pair "work local monitor.table \(.* alone keeps " "(1999|2000) Connection, " \
    "table->rows\."
