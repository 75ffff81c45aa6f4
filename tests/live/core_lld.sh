#!/usr/bin/env bash
# Programs linked by lld, whose segments share pages of their file: live, by gcore's core and by the
# kernel's, each variable has its name and each block its type. C with a library that is loaded
# twice; Rust, where its compiler links so (1.90 and later do).
. "$(dirname "$0")/_core.sh"
need clang ld.lld

# named WHAT NAME COUNT: roots of that name, each keeping 8 words per item and nothing else.
named()
{
    python3 - "$work/live/roots.json" "$2" "$3" $((n * 8)) <<'PYTHON' || fail "$1: who keeps them"
import json, sys
path, name, count, words = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
found = [root["retained_words"] for root in json.load(open(path))["roots"]
         if root["name"].split(" ", 1)[-1] == name]
print(name, found)
sys.exit(found != [words] * count)
PYTHON
}
# typed WHAT TYPE OBJECTS
typed()
{
    python3 - "$work/live/types.json" "$2" "$3" <<'PYTHON' || fail "$1: objects of $2"
import json, sys
found = {row["type"]: row["objects"] for row in json.load(open(sys.argv[1]))["types"]}
print(sys.argv[2], found.get(sys.argv[2]))
sys.exit(found.get(sys.argv[2]) != int(sys.argv[3]))
PYTHON
}
# both_ways WHAT: cores of the stopped process say the same; it has ended then.
both_ways()
{
    take_gcore by_gcore
    dump_core "$work/by_gcore"
    same "$1 by gcore" reserved "shared memory" "mapped files"
    if take_kernel_core by_kernel; then
        dump_core "$work/by_kernel"
        same "$1 by the kernel" "shared memory" "mapped files"
    fi
    stop_target
    rm -f "$work/by_gcore" "$work/by_kernel"
}

n=1000
clang -g -O1 -fuse-ld=lld -o "$work/lld" "$fixtures/lld.c" &&
    clang -g -O1 -fuse-ld=lld -DLIBRARY -shared -fPIC -o "$work/liblld.so" "$fixtures/lld.c" ||
    fail "building"
start_at_home "$work/lld" "$work/liblld.so" $n
stop_by_user
dump_live
named C "local kept_by_main" 1
named C kept_by_library 2
typed C "struct item" $n
typed C "struct kept_item" $((2 * n))
both_ways C

cat >"$work/kept.rs" <<'END'
use std::io::Read;
struct Kept {
    texts: Vec<String>,
}
fn main() {
    let kept: Box<Kept> = Box::new(Kept {
        texts: (0..1000).map(|i| format!("a text {}", i)).collect(),
    });
    println!("READY");
    let mut byte = [0u8];
    while std::io::stdin().read(&mut byte).unwrap_or(0) > 0 {
        if kept.texts.len() == 1 {
            println!("{}", kept.texts[0]);
        }
    }
}
END
if ! rustc -g -O -C link-arg=-fuse-ld=lld -o "$work/kept" "$work/kept.rs" 2>"$work/rustc.log"; then
    tail -3 "$work/rustc.log"
    echo "NOT TESTED: no rustc that links by ld.lld"
    exit 0
fi
start_at_home "$work/kept"
stop_by_user
dump_live
typed Rust "alloc::string::String[]" 1
both_ways Rust
