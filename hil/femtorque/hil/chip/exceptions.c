/* Exception entry and return. The frame lies on the stack in use, aligned to
 * eight bytes. A bit of the stacked xPSR records whether the stack pointer was
 * moved for this. */
#include "exceptions.h"

#include <string.h>

#define ALIGNED (1u << 9) /* of the stacked xPSR: moved by four */
#define THUMB (1u << 24)  /* xPSR */
#define FPCA (1u << 2)    /* of CONTROL: floating point is in use */
#define SPSEL (1u << 1)   /* of CONTROL: process stack in use */
/* A bit of CONTROL in a processor with the security extension. Unicorn assumes
 * this state, and clears FPSCR without this bit. */
#define SFPA (1u << 3)
#define EXC_RETURN 0xFFFFFFE1u
#define BASIC 0x20u    /* bytes of a frame */
#define EXTENDED 0x68u /* frame with floating point, bytes */
#define INTEGERS 6     /* r0 to r3, r12, lr */
#define DOUBLES 8

/* Read registers in the given order. sp: the stack pointer in use. */
static void read_registers(const core *c, const int *names, uint64_t *values,
                           int count)
{
    void *at[DOUBLES + 1];
    int i;
    for (i = 0; i < count; i++) {
        values[i] = 0;
        at[i] = values + i;
    }
    (void)c->u.read(c->u.engine, names, at, count);
}

/* Write registers in the given order. */
static void write_registers(const core *c, const int *names, uint64_t *values,
                            int count)
{
    void *at[DOUBLES + 1];
    int i;
    for (i = 0; i < count; i++)
        at[i] = values + i;
    (void)c->u.write(c->u.engine, names, at, count);
}

uint32_t exceptions_register(const core *c, int name)
{
    uint64_t value;
    read_registers(c, &name, &value, 1);
    return (uint32_t)value;
}

static void write_register(const core *c, int name, uint32_t value)
{
    uint64_t wide = value;
    write_registers(c, &name, &wide, 1);
}

/* Charge the costs since the last call to the handler that caused them. */
static handled *account(core *c)
{
    const nvic *n = &c->nvic;
    handled *h = &c->handlers[n->depth > 0 ? n->active[n->depth - 1] : 0];
    h->instructions += (int64_t)c->count->instructions -
                       c->accounted_instructions;
    h->cycles += c->count->now - c->accounted_cycles;
    c->accounted_instructions = (int64_t)c->count->instructions;
    c->accounted_cycles = c->count->now;
    return h;
}

/* Return the execution priority. */
int32_t exceptions_level(core *c)
{
    const int names[3] = {c->u.primask, c->u.basepri, c->u.faultmask};
    uint64_t masks[3];
    read_registers(c, names, masks, 3);
    return nvic_running(&c->nvic, masks[0] & 1u, (uint32_t)masks[1],
                        masks[2] & 1u);
}

/* Write the frame at `top`. */
static void stack(const core *c, uint8_t *top, uint32_t xpsr, int floats)
{
    uint64_t values[DOUBLES + 1];
    uint32_t words[8];
    int i;
    read_registers(c, c->u.frame, values, INTEGERS);
    for (i = 0; i < INTEGERS; i++)
        words[i] = (uint32_t)values[i];
    words[6] = c->pc;
    words[7] = xpsr;
    memcpy(top, words, sizeof words);
    if (!floats)
        return;
    read_registers(c, c->u.floats, values, DOUBLES);
    words[0] = exceptions_register(c, c->u.fpscr);
    words[1] = 0;
    memcpy(top + BASIC, values, DOUBLES * sizeof *values);
    memcpy(top + BASIC + DOUBLES * sizeof *values, words, 2 * sizeof *words);
}

/* Jump to the handler in handler mode, with the main stack. */
static void go_to(core *c, int32_t number, uint32_t top, uint32_t control,
                  uint32_t code)
{
    const int names[4] = {c->u.sp, c->u.xpsr, c->u.control, c->u.frame[5]};
    uint64_t values[4];
    const uint8_t *vector = core_memory(c, c->vectors + 4u * (uint32_t)number, 4, 0);
    values[0] = top;
    values[1] = THUMB | (uint32_t)number;
    values[2] = control & ~(FPCA | SPSEL | SFPA);
    values[3] = code;
    write_registers(c, names, values, 4);
    c->pc = 0;
    if (vector != 0)
        memcpy(&c->pc, vector, sizeof c->pc);
    c->count->last_refill = 0;
}

/* Stack the exception frame and jump to the handler. If the stack frame does
 * not fit into memory, the processor locks up. */
void exceptions_enter(core *c, int32_t number)
{
    uint32_t control = exceptions_register(c, c->u.control);
    uint32_t top = exceptions_register(c, c->u.sp);
    uint32_t xpsr = exceptions_register(c, c->u.xpsr) | THUMB;
    uint32_t code = EXC_RETURN, size;
    int floats = (control & FPCA) != 0;
    uint8_t *at;
    size = floats ? EXTENDED : BASIC;
    top -= size;
    xpsr = (top & 4u) != 0 ? xpsr | ALIGNED : xpsr & ~ALIGNED;
    top -= top & 4u;
    at = core_memory(c, top, size, 1);
    if (at == 0) {
        c->locked_up = 1;
        return;
    }
    stack(c, at, xpsr, floats);
    code |= floats ? 0u : 0x10u;
    if (c->nvic.depth == 0)
        code |= 0x8u | ((control & SPSEL) != 0 ? 0x4u : 0u);
    (void)account(c);
    c->handlers[number].entries++;
    nvic_enter(&c->nvic, number);
    go_to(c, number, top, control, code);
    c->count->now += c->entry_cycles + (floats ? c->float_cycles : 0);
}

/* Restore the registers from the exception frame at `top`. */
static void unstack(core *c, uint32_t top, const uint8_t *frame, int floats)
{
    int names[INTEGERS + 2];
    uint64_t values[DOUBLES + 1];
    uint32_t words[8], status;
    int i;
    memcpy(words, frame, sizeof words);
    if (floats) {
        memcpy(values, frame + BASIC, DOUBLES * sizeof *values);
        memcpy(&status, frame + BASIC + DOUBLES * sizeof *values,
               sizeof status);
        write_registers(c, c->u.floats, values, DOUBLES);
        write_register(c, c->u.fpscr, status);
    }
    for (i = 0; i < INTEGERS; i++) {
        names[i] = c->u.frame[i];
        values[i] = words[i];
    }
    names[6] = c->u.xpsr;
    values[6] = words[7] & ~ALIGNED;
    names[7] = c->u.sp;
    values[7] = top + (floats ? EXTENDED : BASIC) +
                ((words[7] & ALIGNED) != 0 ? 4u : 0u);
    write_registers(c, names, values, INTEGERS + 2);
    c->pc = words[6] & ~1u;
}

/* Unstack the frame. Return 0 if `code` is not a valid EXC_RETURN. */
int exceptions_return(core *c, uint32_t code)
{
    int floats = (code & 0x10u) == 0;
    const uint8_t *frame;
    uint32_t top;
    if ((code & 0xFFFFFFE3u) != EXC_RETURN || c->nvic.depth == 0)
        return 0;
    (void)account(c);
    c->ended = nvic_leave(&c->nvic);
    c->ended_at = c->count->now;
    if (c->ended != NMI)
        write_register(c, c->u.faultmask, 0);
    if ((code & 0x8u) != 0) /* the first mode selects the stack */
        write_register(c, c->u.xpsr, THUMB);
    write_register(c, c->u.control, ((code & 0x4u) != 0 ? SPSEL : 0u) |
                                        (floats ? FPCA | SFPA : 0u));
    top = exceptions_register(c, c->u.sp);
    frame = core_memory(c, top, floats ? EXTENDED : BASIC, 0);
    if (frame == 0)
        return 0;
    unstack(c, top, frame, floats);
    c->count->last_refill = 0;
    c->count->now += c->return_cycles + (floats ? c->float_cycles : 0);
    return 1;
}
