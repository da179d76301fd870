/* Execution of blocks, sleep and exceptions, as long as Python is not needed.
 * Current loops interrupt the core twenty thousand times a second. */
#include "core.h"

#include "exceptions.h"
#include "parts.h"

#define IT_STATE 0x0600FC00u
#define EXCEPTION_RETURN 8 /* Unicorn's number of exception return */

/* Record the exception that Unicorn's translator reports, and stop. */
void core_interrupted(void *engine, uint32_t number, void *user)
{
    core *c = user;
    c->interrupt = (int32_t)number;
    (void)c->u.stop(engine);
}

/* Take a pending exception if its priority allows it now. */
static void take_exception(core *c, int32_t number)
{
    c->asleep = 0; /* ends WFI for any PRIMASK */
    if (nvic_group(&c->nvic, number) < exceptions_level(c) &&
        (exceptions_register(c, c->u.xpsr) & IT_STATE) == 0)
        exceptions_enter(c, number);
}

/* Execute code until the deadline or a stop, at any address. */
static void execute(core *c)
{
    c->interrupt = -1;
    c->count->stopped = GOES_ON;
    c->count->began = c->count->now;
    c->executes = 1;
    c->failed = c->u.start(c->u.engine, c->pc | 1u, 0, 0, 0);
    c->executes = 0;
    c->pc = exceptions_register(c, c->u.pc);
}

/* Report to the board that a handler has ended. Afterwards the clock shows the
 * cycle at which execution ended. */
static void report_end(core *c)
{
    int64_t now = c->count->now;
    if (c->on_end == 0)
        return;
    c->count->now = c->ended_at;
    c->on_end(c->board, c->ended);
    c->count->now = now;
}

/* Return the reason why Python must act after execution, or WAKE. */
static int32_t look(core *c)
{
    if (c->refused)
        return REFUSED;
    if (c->failed != 0)
        return FAILED;
    if (c->interrupt == EXCEPTION_RETURN && exceptions_return(c, c->pc | 1u)) {
        report_end(c);
        return c->heard[c->ended] ? ENDED : WAKE;
    }
    if (c->interrupt >= 0)
        return INTERRUPTED;
    if (c->count->stopped == UNKNOWN)
        return UNKNOWN_BLOCK;
    if (c->count->stopped == GOES_ON)
        c->asleep = 1; /* WFI */
    return WAKE;
}

/* Advance the time to the next event. */
static void sleep_until(counter *count, int64_t wake)
{
    count->now = count->now > wake ? count->now : wake;
    count->began = count->now - 1;
}

/* Execute until a cycle at most, or until the code stops execution. */
static int32_t go_on(core *c, int64_t wake)
{
    counter *count = c->count;
    int32_t next = nvic_candidate(&c->nvic);
    if (next != NO_EXCEPTION && !c->locked_up && !c->halted)
        take_exception(c, next);
    if (c->asleep || c->locked_up || c->halted) {
        sleep_until(count, wake);
        return WAKE;
    }
    /* a masked exception is tried again after each block */
    next = nvic_candidate(&c->nvic);
    count->deadline =
        next != NO_EXCEPTION && count->now + 1 < wake ? count->now + 1 : wake;
    if (count->deadline <= count->now)
        return WAKE;
    execute(c);
    return look(c);
}

/* Run until a cycle, or until Python must act. next, order: cycle and number of
 * Python's next event, which also ends the run. */
int32_t core_run(core *c, int64_t until, int64_t next, uint64_t order)
{
    counter *count = c->count;
    while (count->now < until) {
        int64_t due = parts_next(c->parts), wake = next < until ? next : until;
        int32_t why, asked = 0;
        if (due <= count->now) {
            asked = parts_fire(c->parts, next, order);
            due = parts_next(c->parts);
        }
        if (c->refused)
            return REFUSED;
        if (asked || next <= count->now)
            return WAKE;
        why = go_on(c, due < wake ? due : wake);
        if (why != WAKE)
            return why;
        if (c->parts->attend)
            return ATTEND;
    }
    return WAKE;
}
