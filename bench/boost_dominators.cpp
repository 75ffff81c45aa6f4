// boost_dominators FILE: Boost's lengauer_tarjan_dominator_tree on the rows of graph_file. Prints
// processor seconds without those for making the graph, the peak in KiB, and an order-independent
// hash of (node, immediate dominator) over what is reached.
//
// Boost 1.74 takes nodes that are not reached, and point at nodes that are, for entries: it has to be
// given the reached part alone. Its evaluation is recursive: run it with an unlimited stack.
#include <sys/resource.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

static double now()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Rows {
    std::vector<uint32_t> begin, target;
};

static bool load(const char *path, Rows &rows)
{
    uint64_t head[2];
    FILE *file = fopen(path, "rb");
    if (file == nullptr || fread(head, sizeof head, 1, file) != 1)
        return false;
    rows.begin.resize(head[0] + 1);
    rows.target.resize(head[1]);
    bool good = fread(rows.begin.data(), 4, rows.begin.size(), file) == rows.begin.size() &&
                fread(rows.target.data(), 4, rows.target.size(), file) == rows.target.size();
    fclose(file);
    return good;
}

static std::vector<bool> reached_of(const Rows &rows)
{
    std::vector<bool> reached(rows.begin.size() - 1);
    std::vector<uint32_t> stack{0};
    reached[0] = true;
    while (!stack.empty()) {
        uint32_t node = stack.back();
        stack.pop_back();
        for (uint32_t e = rows.begin[node]; e < rows.begin[node + 1]; e++)
            if (!reached[rows.target[e]]) {
                reached[rows.target[e]] = true;
                stack.push_back(rows.target[e]);
            }
    }
    return reached;
}

int main(int argc, char **argv)
{
    Rows rows;
    if (argc != 2 || !load(argv[1], rows)) {
        fprintf(stderr, "usage: boost_dominators FILE\n");
        return 2;
    }
    std::vector<bool> reached = reached_of(rows);
    size_t n = reached.size();
    Graph graph(n);
    for (uint32_t u = 0; u < n; u++)
        for (uint32_t e = rows.begin[u]; reached[u] && e < rows.begin[u + 1]; e++)
            add_edge(u, rows.target[e], graph);
    std::vector<Graph::vertex_descriptor> idom(n, boost::graph_traits<Graph>::null_vertex());
    double began = now();
    boost::lengauer_tarjan_dominator_tree(
        graph, vertex(0, graph),
        make_iterator_property_map(idom.begin(), get(boost::vertex_index, graph)));
    double seconds = now() - began;
    uint64_t hash = 0;
    for (size_t i = 1; i < n; i++) {
        if (!reached[i])
            continue;
        uint64_t x = uint64_t(i) << 32 | uint64_t(uint32_t(idom[i]));
        x = (x ^ x >> 29) * 0x9E3779B97F4A7C15ULL;
        hash += x ^ x >> 32;
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("seconds %.3f peak_kib %ld hash %llx\n", seconds, usage.ru_maxrss,
           (unsigned long long)hash);
    return 0;
}
