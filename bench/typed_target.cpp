/* A heap of about N blocks that debug information has the types of: what a C++ service keeps, in the
 * containers of the standard library. Prints READY and waits for its standard input to end. */
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <variant>
#include <vector>

namespace shop {

struct Line {
    long article, amount;
    std::string text;
};

struct Order {
    long number;
    std::vector<std::unique_ptr<Line>> lines;
    std::variant<long, std::string, double> note;
    Order *previous = nullptr;
};

struct Customer {
    virtual ~Customer() = default;
    std::string name;
    std::list<std::shared_ptr<Order>> orders;
};

struct Company : Customer {
    std::map<long, std::weak_ptr<Order>> open;
};

struct Shop {
    std::unordered_map<std::string, std::unique_ptr<Customer>> customers;
    std::map<long, std::shared_ptr<Order>> by_number;
    std::deque<Order *> recent;
};

} // namespace shop

static shop::Shop *the_shop;

/* Makes one order of 10 blocks, more or less. */
static std::shared_ptr<shop::Order> make_order(long number)
{
    auto order = std::make_shared<shop::Order>();
    order->number = number;
    for (long i = 0; i < 3; i++)
        order->lines.push_back(std::make_unique<shop::Line>(
            shop::Line{number % 977, i, std::string(static_cast<size_t>(20 + number % 40), 'x')}));
    if (number % 3 == 0)
        order->note = number;
    else
        order->note = std::string(static_cast<size_t>(16 + number % 20), 'n');
    return order;
}

static void fill(long n_blocks)
{
    the_shop = new shop::Shop;
    for (long number = 0; number < n_blocks / 12; number++) {
        std::string name = "customer number " + std::to_string(number / 8);
        auto &customer = the_shop->customers[name];
        if (!customer && number % 16 == 0)
            customer = std::make_unique<shop::Company>();
        else if (!customer)
            customer = std::make_unique<shop::Customer>();
        customer->name = name;
        auto order = make_order(number);
        if (!customer->orders.empty())
            order->previous = customer->orders.back().get();
        customer->orders.push_back(order);
        the_shop->by_number[number] = order;
        the_shop->recent.push_back(order.get());
        if (auto *company = dynamic_cast<shop::Company *>(customer.get()))
            company->open[number] = order;
    }
}

int main(int argc, char **argv)
{
    char byte;

    fill(argc > 1 ? std::atol(argv[1]) : 1000000);
    std::puts("READY");
    std::fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return the_shop->customers.empty();
}
