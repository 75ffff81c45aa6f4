// Ways to keep memory, one for each word: what heapsnap says of them is in docs/answers.md.
//
//     g++ -O1 -g -pthread -o screens screens.cpp && ./screens members
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace shop {
struct Order {
    long id;
    std::string customer;
    explicit Order(long n) : id(n), customer("customer number " + std::to_string(n)) {}
};

// A cache that nobody empties, beside a log that nobody writes out.
struct Repo {
    std::unordered_map<long, std::unique_ptr<Order>> cache_;
};
struct Audit {
    std::vector<std::string> lines_;
};
struct App {
    Repo repo;
    Audit audit;
};
static App *app;
static void members()
{
    app = new App;
    for (long n = 0; n < 40000; n++) {
        app->repo.cache_[n] = std::make_unique<Order>(n);
        if (n % 4 == 0)
            app->audit.lines_.push_back("order " + std::to_string(n) + " was taken and is cached");
    }
}

// What two indices keep: to empty one of them frees nothing.
static std::map<long, std::shared_ptr<Order>> by_id;
static std::multimap<std::string, std::shared_ptr<Order>> by_customer;
static void shared()
{
    for (long n = 0; n < 20000; n++) {
        auto order = std::make_shared<Order>(n);
        by_id[n] = order;
        by_customer.emplace(order->customer.substr(9), order);
    }
}

// Parents and children that own each other; nobody else does any more.
struct Session {
    std::string user = "a user with a name of some length";
    std::vector<std::shared_ptr<Session>> children;
    std::shared_ptr<Session> parent;
};
static void cycle()
{
    for (int n = 0; n < 10000; n++) {
        auto parent = std::make_shared<Session>(), child = std::make_shared<Session>();
        child->parent = parent;
        parent->children.push_back(child);
    }
}

// Memory that is free, in pieces between small blocks that live.
static std::vector<char *> kept;
static void fragments()
{
    std::vector<char *> freed;
    for (int n = 0; n < 6000; n++) {
        freed.push_back(static_cast<char *>(malloc(6000)));
        memset(freed.back(), 1, 6000);
        kept.push_back(static_cast<char *>(malloc(24)));
    }
    for (char *one : freed)
        free(one);
}

// Mappings of the program's own.
struct Segment {
    void *map;
    size_t n_bytes;
};
static std::vector<Segment> segments;
static void mapped()
{
    for (int n = 0; n < 40; n++) {
        size_t n_bytes = 1 << 20;
        void *map = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
        memset(map, 1, n_bytes);
        segments.push_back({map, n_bytes});
    }
}

// Threads that end and are never joined keep their stacks.
static std::vector<std::thread> workers;
static void threads()
{
    for (int n = 0; n < 200; n++)
        workers.emplace_back([] {
            volatile char used[60000];
            memset(const_cast<char *>(used), 1, sizeof used);
        });
    sleep(1);
}

// Buffers that were cleared and keep the room of their largest use.
struct Candidate {
    double score;
    long order;
};
static std::vector<Candidate> candidates[8];
static void room()
{
    for (auto &list : candidates) {
        list.assign(1 << 18, Candidate{1, 1});
        list.resize(20);
    }
}

// Callbacks that nobody takes back, each with what it has captured.
struct Loop {
    std::vector<std::function<void()>> handlers_;
};
static Loop loop;
static void callbacks()
{
    for (int n = 0; n < 20000; n++) {
        auto session = std::make_shared<Session>();
        loop.handlers_.push_back([session] { session->children.clear(); });
    }
}

// Nothing out of the ordinary.
static std::map<int, std::string> settings;
static void calm()
{
    for (int n = 0; n < 20; n++)
        settings[n] = "a setting";
}
} // namespace shop

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } ways[] = {{"members", shop::members}, {"shared", shop::shared},       {"cycle", shop::cycle},
                {"mapped", shop::mapped},   {"fragments", shop::fragments}, {"room", shop::room},
                {"threads", shop::threads}, {"callbacks", shop::callbacks}, {"calm", shop::calm}};
    for (auto &way : ways)
        if (argc == 2 && strcmp(argv[1], way.name) == 0)
            way.run();
    puts("ready");
    fflush(stdout);
    getchar();
    _exit(0); // whoever has threads that nobody joins cannot return
}
