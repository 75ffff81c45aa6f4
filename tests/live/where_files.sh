# Binaries that were deleted or replaced since the program started: names come from the build that
# is loaded, by whatever way leads there, and never from another one.
. "$(dirname "$0")/_where.sh"

# replaced DIR OPTIONS...: a program whose library another build has taken the place of. Beside it
# lies a trap, under the name that the kernel gives to the one that is gone.
replaced()
{
    local dir=$1
    shift
    build "$dir" "$@"
    chmod 755 "$dir"
    start $as_target "$dir/where"
    build_wrong "$dir/new.so" "$@"
    cp -p "$dir/new.so" "$dir/libwhere.so (deleted)"
    mv "$dir/new.so" "$dir/libwhere.so"
}

# As root, the links below map_files lead to the file itself; without capabilities nothing does.
replaced "$work/ids" -Wl,--build-id
dumps "" "$pid" all
notes_nothing_of "from memory"
dumps "$as_target" "$pid" exported
notes "'libwhere.so' is read from memory, without its local names"
agrees "$as_target" "$pid"
judged binaries warning "libwhere.so"
leave

# The debug file of what is loaded is found by its build-id all the same.
build "$work/split" -Wl,--build-id
id=$(readelf -n "$work/split/libwhere.so" | sed -n 's/.*Build ID: //p')
mkdir -p "$work/debug/.build-id/${id:0:2}"
objcopy --only-keep-debug "$work/split/libwhere.so" "$work/debug/.build-id/${id:0:2}/${id:2}.debug"
chmod -R a+rX "$work/debug"
strip "$work/split/libwhere.so"
start $as_target "$work/split/where"
build_wrong "$work/split/new.so" -Wl,--build-id
mv "$work/split/new.so" "$work/split/libwhere.so"
dumps "$as_target" "$pid" exported
dumps "$as_target" "$pid" all --debug-path "$work/debug"
dumps "" "$pid" all --debug-path "$work/debug"
leave

# Without a build-id, what lies there today is not believed.
replaced "$work/noids" -Wl,--build-id=none
dumps "" "$pid" all
dumps "$as_target" "$pid" exported
notes "'libwhere.so' is read from memory"
leave
# The same file still lies there: it is.
build "$work/noids" -Wl,--build-id=none
start $as_target "$work/noids/where"
dumps "$as_target" "$pid" all
notes_nothing_of "from memory"
leave

# The program itself: the link to it leads to the file, wherever its name is.
build "$work/exe"
start $as_target "$work/exe/where"
build_wrong "$work/exe/new"
mv "$work/exe/new" "$work/exe/where"
dumps "" "$pid" all
dumps "$as_target" "$pid" all
notes_nothing_of "from memory"
rm -r "$work/exe"
dumps "" "$pid" all
dumps "$as_target" "$pid" exported
leave
echo "no name was another build's"
