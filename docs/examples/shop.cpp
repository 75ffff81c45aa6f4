// A server with two faults, for scripts/demo: its cache of sessions never forgets one, and an early
// way out of a function forgets the request.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace shop {
struct Session {
    std::string user;
    std::vector<std::string> basket;
    Session *previous;
};

struct Request {
    Request(Session *s, const std::string &b, Request *r) : session(s), body(b), retry_of(r) {}
    virtual ~Request() = default;
    Session *session;
    std::string body;
    Request *retry_of;
};

class Server {
  public:
    void handle(int n);

  private:
    std::map<std::string, std::unique_ptr<Session>> sessions_;
    Session *latest_ = nullptr;
};

void Server::handle(int n)
{
    std::string user = "customer number " + std::to_string(n);
    auto &session = sessions_[user]; // nobody ever erases one
    session.reset(new Session{user, {}, latest_});
    latest_ = session.get();
    auto *request = new Request(session.get(), "a request of the " + user, nullptr);
    if (n % 10 == 0) {
        request = new Request(session.get(), "a second try of the " + user, request);
        return; // both requests are lost
    }
    session->basket.push_back(request->body);
    delete request;
}
} // namespace shop

static shop::Server server;

int main(int argc, char **argv)
{
    int n_requests = argc > 1 ? atoi(argv[1]) : 20000;
    char byte;
    for (int n = 0; n < n_requests; n++)
        server.handle(n);
    std::puts("ready");
    std::fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
