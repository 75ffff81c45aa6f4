# Sourced by what asks VisualVM's heap library, after need() and skip(), with $work a place to
# write.
kept=${HS_ORACLES:-${BUILD_DIR%/*}/oracles}

# need_visualvm: sets visualvm to the class path of VisualVM's heap library. Nothing is installed:
# the package is unpacked.
need_visualvm()
{
    local dir=$kept/visualvm modules=/usr/share/visualvm/visualvm/modules
    if [ ! -d "$modules" ]; then
        modules=$dir$modules
        if [ ! -d "$modules" ]; then
            need apt-get dpkg-deb
            mkdir -p "$dir"
            (cd "$dir" && timeout 120 apt-get download visualvm) >"$work/apt.log" 2>&1 || {
                tail -3 "$work/apt.log" >&2
                skip "apt cannot download visualvm"
            }
            dpkg-deb -x "$dir"/visualvm_*.deb "$dir"
        fi
    fi
    visualvm=$(printf '%s:' "$modules"/org-graalvm-visualvm-lib-jfluid*.jar)
}
