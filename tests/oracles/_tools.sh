# Sourced by what asks other programs, after need() and skip(), with $work a place to write: these
# are installed below $kept once, by whichever test comes first, while the others wait.
kept=${HS_ORACLES:-${BUILD_DIR%/*}/oracles} # shared by the builds of one tree

# one_at_a_time NAME, done_alone: nobody else is between these two, of any build.
one_at_a_time()
{
    mkdir -p "$kept"
    exec {alone}>"$kept/$1.lock"
    flock "$alone"
}
done_alone()
{
    exec {alone}>&-
}

# need_npm NAME PACKAGE@VERSION...: installs them below $kept/NAME, once; sets npm_dir to it. Their
# scripts are not run.
need_npm()
{
    local name=$1
    shift
    need node npm
    npm_dir=$kept/$name
    one_at_a_time "$name"
    if [ ! -e "$npm_dir/whole" ]; then
        rm -rf "$npm_dir"
        mkdir -p "$npm_dir"
        echo '{"private": true}' >"$npm_dir/package.json"
        (cd "$npm_dir" && timeout 240 npm install --ignore-scripts --no-audit --no-fund --no-save \
            --loglevel error "$@") >"$work/npm.log" 2>&1 || {
            tail -3 "$work/npm.log" >&2
            rm -rf "$npm_dir"
            skip "npm cannot install $*"
        }
        touch "$npm_dir/whole"
    fi
    done_alone
}

# need_visualvm: sets visualvm to the class path of VisualVM's heap library. Nothing is installed:
# the package is unpacked.
need_visualvm()
{
    local dir=$kept/visualvm modules=/usr/share/visualvm/visualvm/modules
    if [ ! -d "$modules" ]; then
        modules=$dir$modules
        one_at_a_time visualvm
        if [ ! -d "$modules" ]; then
            need apt-get dpkg-deb
            mkdir -p "$dir"
            (cd "$dir" && timeout 120 apt-get download visualvm) >"$work/apt.log" 2>&1 || {
                tail -3 "$work/apt.log" >&2
                skip "apt cannot download visualvm"
            }
            dpkg-deb -x "$dir"/visualvm_*.deb "$dir"
        fi
        done_alone
    fi
    visualvm=$(printf '%s:' "$modules"/org-graalvm-visualvm-lib-jfluid*.jar)
}
