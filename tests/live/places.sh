#!/usr/bin/env bash
# The first sentence says in which member of a variable most of it hangs, however many slots of the
# container lead there, and in which member of what it leads to; of arrays and deques how many
# elements they count, of texts in an array of records that array, and a closure by its function.
. "$(dirname "$0")/_native.sh"
need g++

cat >"$work/places.cpp" <<'EOC'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
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
// In each several members lead to the same blocks, and nothing but this object dominates them.
struct Row {
    char *key;
    long n;
};
struct Late {
    struct {
        std::unordered_set<std::string> strings;
        std::vector<const std::string *> seen;
    } pool;
    struct {
        std::list<Tile> items;
        std::unordered_map<int, std::list<Tile>::iterator> index;
    } lru;
    std::deque<Tile> lines;
    Row *rows = static_cast<Row *>(std::calloc(8192, sizeof(Row)));
    std::vector<Tile> tiles;
    std::vector<std::function<void()>> jobs;
};
static Late *late = new Late;
static void fill_late(int mode, int i, const std::function<void(int)> &add_job)
{
    if (mode == 6) {
        late->pool.seen.push_back(
            &*late->pool.strings.insert("a name that is long enough " + std::to_string(i)).first);
    } else if (mode == 7) {
        late->lru.items.emplace_front();
        late->lru.index[i] = late->lru.items.begin();
    } else if (mode == 8) {
        late->lines.emplace_back();
    } else if (mode == 9) {
        late->rows[i].key = strdup("a key that is long enough");
    } else if (mode == 10) {
        late->tiles.emplace_back();
    } else {
        add_job(i);
    }
}
int main(int argc, char **argv)
{
    App here;
    int mode = std::stoi(argv[argc - 1]);
    auto job = [tile = Tile(), n = 0, m = 0, k = 0]() {
        std::printf("%zu", tile.px.size() + n + m + k);
    };
    for (int i = 0; i < 6000 && mode > 5; i++)
        fill_late(mode, i, [&job](int) { late->jobs.push_back(job); });
    for (int i = 0; i < 6000 && mode <= 5; i++) {
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
    job();
    return here.title.size();
}
EOC
g++ -g -O1 -std=c++17 -o "$work/places" "$work/places.cpp" || fail "building"
said_of()
{
    start "$work/places" "$1"
    dump
    leave
    "$HEAPSNAP" suspects "$work/heap.snap" -n 1 >"$work/said" || fail "suspects"
    tr -s ' \n' '  ' <"$work/said" >"$work/line"
    for text in "${@:2}"; do
        grep -qF "$text" "$work/line" || fail "$1: not '$text': $(cat "$work/said")"
    done
}
said_of 6 '6000 std::unordered_set<std::string>::node' ' at late->pool.strings'
said_of 7 '6000 std::list<Tile>::node' ' at late->lru.items'
said_of 8 ' Tile[], ' ', 6000 elements in all, at late->lines'
said_of 9 '6000 char[], 40 B each, in Row[], at late->rows'
said_of 10 '6000 double[] of 136 B each, at .px in one Tile[], at late->tiles'
said_of 11 '6000 main::<lambda>, ' ' at late->jobs'
mode=0
for place in app.renderer.cache.tiles app.renderer.cache.visible 'app.server.queue->all' \
    'app.servers[*]->second.queue->jobs' 'main local here.renderer.cache.tiles'; do
    mode=$((mode + 1))
    said_of $mode " at $place. " 'make_shared<Tile>'
done
