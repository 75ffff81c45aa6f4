#include "plan.h"

#include "base/checked.h"

#define NS_PER_MS ((uint64_t)1000000)
enum { MAX_DOUBLINGS = 5 };

void hs_watch_plan_init(uint64_t every_ns, uint64_t delay_ns, uint64_t now_ns,
                        struct hs_watch_plan *ret)
{
    *ret = (struct hs_watch_plan){.every_ns = every_ns, .next_ns = now_ns + delay_ns};
}

uint64_t hs_watch_plan_wait_ns(const struct hs_watch_plan *plan, uint64_t now_ns)
{
    return plan->next_ns <= now_ns ? 0 : plan->next_ns - now_ns;
}

uint64_t hs_watch_plan_take(struct hs_watch_plan *plan, uint64_t now_ns)
{
    if (now_ns < plan->next_ns)
        return 0;
    uint64_t n = (now_ns - plan->next_ns) / plan->every_ns + 1;
    plan->next_ns += n * plan->every_ns;
    return n;
}

bool hs_watch_plan_may_try(struct hs_watch_plan *plan, uint64_t n_ticks)
{
    if (plan->n_resting < n_ticks) {
        plan->n_resting = 0;
        return true;
    }
    plan->n_resting -= n_ticks;
    return false;
}

void hs_watch_plan_succeeded(struct hs_watch_plan *plan)
{
    plan->n_failures = 0;
    plan->n_resting = 0;
}

uint64_t hs_watch_plan_failed(struct hs_watch_plan *plan)
{
    uint64_t doublings = plan->n_failures < MAX_DOUBLINGS ? plan->n_failures : MAX_DOUBLINGS;
    uint64_t n_ticks = (uint64_t)1 << doublings;
    uint64_t most = HS_WATCH_MAX_REST_NS / plan->every_ns;

    if (n_ticks > most)
        n_ticks = most == 0 ? 1 : most;
    plan->n_failures++;
    plan->n_resting = n_ticks - 1;
    return n_ticks;
}

uint64_t hs_watch_delay_ns(uint64_t every_ns, uint64_t last_ms, uint64_t now_ms)
{
    uint64_t passed_ns;

    if (last_ms == 0 || now_ms < last_ms || !hs_mul_fits(now_ms - last_ms, NS_PER_MS, &passed_ns) ||
        passed_ns >= every_ns)
        return 0;
    return every_ns - passed_ns;
}
