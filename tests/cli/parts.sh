# Every command of a part (cmake/HsParts.cmake) is there where the part is built; where it is not,
# the command and its help say which part is missing and how to get it, with exit code 2, and what
# the program lists has nothing of it.
. "$(dirname "$0")/lib.sh"

# PART COMMAND...: a line for each part that has commands.
sed -n '/^hs_part(/,/)$/p' "$SOURCE_DIR/cmake/HsParts.cmake" | tr '\n' ' ' |
    sed 's/hs_part(/\n/g' |
    sed -n 's/^\([A-Z]*\) .* COMMANDS \([a-z ]*[a-z]\).*/\1 \2/p' >"$work/parts"
[ "$(grep -c . "$work/parts")" -ge 8 ] ||
    fail "the table of parts cannot be read: $(cat "$work/parts")"
exits 0 help
sed -n 's/^  \([a-z]*\) .*/\1/p' "$work/out" | sort -u >"$work/listed"

there=0 missing=0
while read -r name commands; do
    part=${name,,}
    for command in $commands; do
        if has_part "$part"; then
            grep -qx "$command" "$work/listed" || fail "the part $part is built: no '$command'"
            exits 0 help "$command"
            there=$((there + 1))
            continue
        fi
        ! grep -qx "$command" "$work/listed" || fail "'$command' is listed without the part $part"
        for words in "$command" "help $command" "$command --help" "$command a b"; do
            # shellcheck disable=SC2086
            exits 2 $words
            says "cannot run '$command': this heapsnap was built without the part $part"
            mentions "^hint: build it with -DHS_WITH_$name=ON"
            [ ! -s "$work/out" ] || fail "heapsnap $words printed something"
        done
        missing=$((missing + 1))
    done
done <"$work/parts"
for command in dump roots paths suspects types object leaks dominators diff info doctor; do
    grep -qx "$command" "$work/listed" || fail "the core has no '$command'"
done
echo "$there commands of parts are there, $missing say what is missing"
