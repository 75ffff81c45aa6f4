# The completion scripts are valid for their shells and know every command and option.
. "$(dirname "$0")/lib.sh"

for shell in bash zsh fish; do
    exits 0 completion "$shell"
    cp "$work/out" "$work/$shell"
    "$HEAPSNAP" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p' | grep -v '^heapsnap$' >"$work/commands"
    while read -r command; do
        grep -qw -- "$command" "$work/$shell" || fail "$shell: no command '$command'"
        for option in $("$HEAPSNAP" "$command" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' |
            sed 's/.*--//'); do
            grep -qE -- "(--|-l )$option\b" "$work/$shell" || fail "$shell: no option '--$option'"
        done
    done <"$work/commands"
done
[ "$(wc -l <"$work/commands")" -ge 13 ] || fail "only $(wc -l <"$work/commands") commands"

bash -n "$work/bash" || fail "bash does not take its script"
if command -v zsh >/dev/null; then
    zsh -n "$work/zsh" || fail "zsh does not take its script"
else
    echo "zsh is not installed: its script is not parsed"
fi
if command -v fish >/dev/null; then
    fish -n "$work/fish" || fail "fish does not take its script"
else
    echo "fish is not installed: its script is not parsed"
fi

# What bash offers, as if typed.
cat >"$work/try" <<'END'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_heapsnap
printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}"
END
offers()
{
    local expected=$1
    shift
    found=$(cd "$work" && bash "$work/try" "$work/bash" heapsnap "$@" | sort | tr '\n' ' ')
    [ "$found" = "$expected" ] || fail "heapsnap $*<TAB>: '$found', expected '$expected'"
}
touch "$work/heap.snap"
offers "diff doctor dominators dump " d
offers "json " roots heap.snap --format js
offers "json ndjson table tsv " roots heap.snap --format ""
offers "--group-by " roots heap.snap --group-
! has_part export || offers "callgrind " export heap.snap --to cal
offers "heap.snap " roots heap.s
offers "bash " completion b
offers "roots " help ro
