#!/usr/bin/env bash
# parts: python
# The first sentence on programs that grow as those of public reports do: it names what a fix must
# touch, not the call of the standard library that waits beside it, and the program's class.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

# told KIND WORDS...: the first sentence has all of these words.
told()
{
    local kind=$1 words
    shift
    start "$python" "$fixtures/python_suspects.py" "$kind"
    dump
    COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" ||
        fail "$python $kind: suspects"
    # The sentence goes on over several lines, and ends before its command.
    awk '/^ (1\.|!)/ { on = 1 } on && /^    heapsnap |^$/ { exit } on { printf "%s ", $0 }' \
        "$work/text" | tr -s ' ' >"$work/first"
    for words in "$@"; do
        grep -qF -- "$words" "$work/first" ||
            { cat "$work/text"; fail "$python $kind: no '$words' in its first sentence"; }
    done
    leave
}

# calm: the fixture has as good as nothing, and no sentence says more; what the interpreter has of
# its script while that runs has a name, and is no lost block for which memory is searched.
calm()
{
    start "$python" "$fixtures/python_suspects.py" rest
    dump --timings json
    ! grep "looking for addresses in disguise" "$work/talk" ||
        fail "$python: a calm program has lost blocks"
    COLUMNS=80 "$HEAPSNAP" suspects "$work/heap.snap" >"$work/text" 2>"$work/talk" ||
        fail "$python: suspects of a calm program"
    grep -q "^no suspect: nothing" "$work/text" ||
        { cat "$work/text"; fail "$python: an alarm of a calm program"; }
    "$HEAPSNAP" roots "$work/heap.snap" -n 0 >"$work/text" 2>"$work/talk"
    grep -q "syntax tree of the script" "$work/text" ||
        fail "$python: no syntax tree among the roots"
    leave
}

n_checked=0
for python in $(pythons 3.13 3.14); do
    [ "$(minor "$python")" -ge 11 ] || continue
    told events "serve() local channel" "2000 _asyncio.Future" "channel.closed._waiters"
    told feeder "feeder() local pipeline" "2000 dict" "pipeline.jobs.queue"
    told cycles "is garbage" "__main__.Session" "handler.__self__ leads back"
    told timers "asyncio event loop" "2000 __main__.Request" "_scheduled"
    told exports "iterator() local pullparser" "xml.etree.ElementTree.Element"
    calm
    n_checked=$((n_checked + 1))
    [ "$n_checked" = 1 ] || continue # the rest is the same in all versions
    told waiting " x task Channel.until_closed() local self" "another object refers to it"
    told callers "2000 x task Caller.call() local rows" "keep"
    told errors "__main__.reporter" "2000 frame parse()" "at .rows" "reporter.errors"
    told defaults "__main__.publish" "2000 __main__.Order" "publish.__defaults__"
    told receivers "__main__.signal" "__main__.Order" "signal.receivers"
    told documents "__main__.client" "2000 dict, " " in all" \
        "at __main__.client.cache"
    told parsers "2000 __main__.Feed" "pyexpat.xmlparser at .parser"
    told texts "100 __main__.Text," "__main__.Index.titles"
    told widgets "2001 __main__.Widget" "at __main__.window.listeners"
    if "$python" -c "import lxml.etree" 2>"$work/talk"; then
        told pages "100 lxml.etree._ElementUnicodeResult" " xmlNode" "__main__.Index.titles"
    fi
    if "$python" -c "import numpy" 2>"$work/talk"; then
        told unseen "Lost" "__main__.Cell" "mesh.cells.data[*] leads back" \
            "collector does not look into numpy.ndarray"
        told chains "is garbage" "__main__.Chain"
        told views "views() local camera" "200 numpy.ndarray" ".base.data"
    fi
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3 of 3.11 or later"; exit 77; }
