#!/usr/bin/env bash
# The first sentence says in which member of a variable most of it hangs, however many slots of the
# container lead there, and in which member of what it leads to.
. "$(dirname "$0")/_native.sh"
need g++

cat >"$work/places.cpp" <<'EOC'
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>
struct Tile {
    std::vector<double> px = std::vector<double>(16);
};
using Shared = std::shared_ptr<Tile>;
struct Cache {
    std::map<int, Shared> tiles;
    std::vector<Shared> visible;
};
struct Queue {
    std::set<Shared> all;
    std::list<Shared> jobs;
    std::vector<std::weak_ptr<Tile>> seen;
};
struct Server {
    std::unique_ptr<Queue> queue = std::make_unique<Queue>();
};
struct App {
    std::string title;
    struct {
        Cache cache;
    } renderer;
    std::map<int, Server> servers;
    Server server;
};
static App app;
int main(int argc, char **argv)
{
    App here;
    int mode = std::stoi(argv[argc - 1]);
    for (int i = 0; i < 6000; i++) {
        Shared tile = std::make_shared<Tile>();
        if (mode == 1)
            app.renderer.cache.tiles[i] = tile;
        else if (mode == 2)
            app.renderer.cache.visible.push_back(tile);
        else if (mode == 3)
            app.server.queue->all.insert(tile);
        else if (mode == 4)
            app.servers[i % 100 == 0 ? 1 : 2].queue->jobs.push_back(tile);
        else
            here.renderer.cache.tiles[i] = tile;
        app.server.queue->seen.push_back(tile);
    }
    std::puts("READY");
    std::fflush(stdout);
    std::getchar();
    return here.title.size();
}
EOC
g++ -g -O1 -std=c++17 -o "$work/places" "$work/places.cpp" || fail "building"
mode=0
for place in app.renderer.cache.tiles app.renderer.cache.visible 'app.server.queue->all' \
    'app.servers[*]->second.queue->jobs' 'main local here.renderer.cache.tiles'; do
    mode=$((mode + 1))
    start "$work/places" $mode
    dump
    leave
    "$HEAPSNAP" suspects "$work/heap.snap" -n 1 >"$work/said" || fail "suspects"
    tr -s ' \n' '  ' <"$work/said" | grep -qF " at $place. " ||
        fail "not at $place: $(cat "$work/said")"
    tr -s ' \n' '  ' <"$work/said" | grep -qF "make_shared<Tile>" || fail "$(cat "$work/said")"
done
