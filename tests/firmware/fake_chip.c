/* A fake chip made of variables, for the application on the host. */
#include "fake_chip.h"

#include "ft_app.h"
#include "ft_chip.h"
#include "ft_config.h"
#include "ft_port.h"
#include "ft_state.h"

#include <string.h>

#define BUFFER 65536u

fake_chip_t fake;

static uint8_t in[BUFFER], out[BUFFER];
static size_t in_from, in_to, out_size;

/* ---- what the application asks ---------------------------------------- */

uint32_t ft_chip_start(void) { return fake.errors; }
void ft_chip_run(void) {}
void ft_chip_duties(const float duty[])
{
    memcpy(fake.duty, duty, sizeof fake.duty);
}


void ft_chip_brake(bool open) { fake.brake = open ? 1u : 0u; }

void ft_chip_servo_supply(bool on) { fake.servo_supply = on ? 1u : 0u; }

void ft_chip_outputs(bool enabled)
{
    fake.outputs = enabled ? 1u : 0u;
}

bool ft_chip_outputs_enabled(void)
{
    return fake.outputs != 0u && fake.dropped == 0u;
}

void ft_chip_safe(void)
{
    memset(fake.duty, 0, sizeof fake.duty);
    fake.brake = 0;
    fake.safe++;
}

void ft_chip_encoders(int32_t counts[])
{
    memcpy(counts, fake.counts, sizeof fake.counts);
    memset(fake.counts, 0, sizeof fake.counts);
}

uint32_t ft_chip_line_errors(void) { return 0; }
bool ft_chip_estop(void) { return fake.estop != 0u; }
float ft_chip_bus_voltage(void) { return fake.bus_voltage; }
float ft_chip_temperature(void) { return fake.temperature; }
bool ft_chip_stack_whole(void) { return fake.stack_left == 0u; }

/* All bytes are zero until a test changes one. */
ft_image ft_chip_image(void)
{
    ft_image image = { fake.code, sizeof fake.code, 0xD8E50EA8u };

    return image;
}

bool ft_chip_driver_fault(void) { return fake.driver_fault != 0u; }
void ft_chip_drivers_look(bool at_all) 
{
    fake.looked += at_all ? 1u : 0u;
    fake.rounds++;
}

bool ft_chip_supply_good(void) { return fake.supply_low == 0u; }
bool ft_chip_drivers_ready(void) { return fake.not_ready == 0u; }
uint32_t ft_chip_driver_status(void) { return fake.driver_status; }

uint32_t ft_chip_current_fault(uint32_t *joint)
{
    *joint = fake.current_joint;
    return fake.current_fault;
}
bool ft_chip_current_zero(uint32_t *joint)
{
    *joint = fake.current_joint;
    return fake.current_off == 0u;
}
bool ft_chip_index(uint32_t joint) { return (fake.index >> joint & 1u) != 0u; }
uint32_t ft_chip_cycles(void) { return fake.cycles += 7u; }
uint32_t ft_chip_reset_cause(void) { return fake.reset_cause; }
void ft_chip_history(ft_history *h) { *h = fake.history; }
bool ft_chip_has_loader(void) { return fake.no_loader == 0u; }
void ft_chip_leave(void) { fake.left++; }
void ft_chip_remember(uint32_t word) { fake.remembered = word; }
uint32_t ft_chip_remembered(void) { return fake.remembered; }
void ft_chip_feed_watchdog(void) { fake.fed++; }
void ft_chip_show(uint32_t state, uint32_t tick)
{
    fake.shown = state;
    (void)tick;
}

void ft_chip_wait(void) {}

size_t ft_chip_receive(uint8_t *bytes, size_t room)
{
    size_t n = in_to - in_from < room ? in_to - in_from : room;

    memcpy(bytes, in + in_from, n);
    in_from += n;
    return n;
}

bool ft_chip_send(const uint8_t *bytes, size_t size)
{
    if (fake.deaf == 1u || size > BUFFER - out_size)
        return false;
    if (fake.deaf > 1u)
        fake.deaf--;
    memcpy(out + out_size, bytes, size);
    out_size += size;
    return true;
}

/* ---- what the tests ask ------------------------------------------------ */

fake_chip_t *fake_chip(void) { return &fake; }

uint32_t fake_feed(const uint8_t *bytes, uint32_t size)
{
    if (in_from == in_to)
        in_from = in_to = 0;
    if (size > BUFFER - in_to)
        return 0;
    memcpy(in + in_to, bytes, size);
    in_to += size;
    return size;
}

uint32_t fake_take(uint8_t *bytes)
{
    uint32_t n = (uint32_t)out_size;

    memcpy(bytes, out, n);
    out_size = 0;
    return n;
}

/* Read the results of the last tick at the addresses in the telemetry map. */
static void read_telemetry(fake_record_t *r)
{
    const ft_telemetry_map *at = &ft_telemetry;
    const ft_target *target = *at->target;
    uint32_t j;

    memcpy(r->torque_ff, at->torque_ff, sizeof r->torque_ff);
    memcpy(r->torque, at->torque, sizeof r->torque);
    memcpy(r->duty, at->duty, sizeof r->duty);
    memcpy(r->rate, at->u, sizeof r->rate);
    memcpy(r->target_rate, target->u, sizeof r->target_rate);
    for (j = 0; j < FT_JOINTS; j++) {
        r->rate[j] *= 2.0f * FT_TICK_HZ;
        r->target_rate[j] *= 2.0f * FT_TICK_HZ;
    }
    memcpy(r->position, at->position, sizeof r->position);
    memcpy(r->target, target->q, sizeof r->target);
    r->tick = *at->tick - 1u;
}

/* Move the joints to their targets in whole encoder counts. */
static void follow(void)
{
    fake_record_t now;
    uint32_t j;

    read_telemetry(&now);
    for (j = 0; j < FT_JOINTS; j++) {
        int64_t away = (int32_t)((uint32_t)now.target[j]
                                 - (uint32_t)now.position[j]);

        fake.counts[j] += (int32_t)(away * (1 << FT_FINE) / ft_joint[j].step);
    }
}

void fake_run(uint32_t ticks, uint32_t following, fake_record_t *record)
{
    uint32_t i;

    for (i = 0; i < ticks; i++) {
        ft_app_tick();
        ft_app_idle();
        if (following && ft_safety_armed(&ft.safety))
            follow();
        if (record)
            read_telemetry(&record[i]);
    }
}

void fake_state(uint32_t state) { ft.safety.state = (uint8_t)state; }
uint32_t fake_state_now(void) { return ft.safety.state; }
void fake_event(uint32_t event) { ft_safety_event(&ft.safety, &ft.control, event); }
void fake_tick_number(uint32_t tick) { ft.time.tick = tick; }
void fake_poison(uint32_t joint, float value) 
{
    ft.control.motion.newest->u[joint] = value;
}
void fake_shift(uint32_t joint, int32_t wire)
{
    int64_t at[FT_JOINTS];
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        at[j] = ft_observer_wire(&ft.control.seen, j)
                + (j == joint ? wire : 0);
    ft_observer_set(&ft.control.seen, at);
}

/* ---- buses of drives -------------------------------------------------- */

#if FT_BUS_DRIVES > 0

#define WAITING 64u

static struct {
    ft_frame sent[WAITING], brought[WAITING];
    uint32_t count, written, read;
    ft_bus_health health;
} bus_of[FT_BUSES];

bool ft_chip_buses_start(void) { return true; }

void ft_chip_bus_send(uint32_t bus, const ft_frame frames[], uint32_t count)
{
    uint32_t i;

    for (i = 0; i < count && bus_of[bus].count < WAITING; i++)
        bus_of[bus].sent[bus_of[bus].count++] = frames[i];
}

bool ft_chip_bus_take(uint32_t bus, ft_frame *frame)
{
    if (bus_of[bus].read == bus_of[bus].written)
        return false;
    *frame = bus_of[bus].brought[bus_of[bus].read++ % WAITING];
    return true;
}

void ft_chip_bus_health(uint32_t bus, ft_bus_health *h)
{
    *h = bus_of[bus].health;
}

#if FT_WIRES > 0

#define CARRIED 512u

static struct {
    uint8_t sent[CARRIED], brought[CARRIED];
    uint32_t size, came;
    ft_bus_health health;
} wire_of[FT_WIRES];

bool ft_chip_wires_start(void) { return true; }

/* Sent bytes come back. */
void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size)
{
    memcpy(wire_of[wire].sent, bytes, size);
    memcpy(wire_of[wire].brought, bytes, size);
    wire_of[wire].size = wire_of[wire].came = size;
}

uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most)
{
    uint32_t came = wire_of[wire].came < most ? wire_of[wire].came : most;

    memcpy(bytes, wire_of[wire].brought, came);
    wire_of[wire].came = 0;
    return came;
}

void ft_chip_wire_health(uint32_t wire, ft_bus_health *h)
{
    *h = wire_of[wire].health;
}

/* Give the bytes of the last packet. */
uint32_t fake_wire_sent(uint32_t wire, uint8_t *bytes)
{
    memcpy(bytes, wire_of[wire].sent, wire_of[wire].size);
    return wire_of[wire].size;
}

/* Append bytes to the echo on a wire. alone: the bytes replace the echo. */
void fake_wire_bring(uint32_t wire, const uint8_t *bytes, uint32_t size,
                     uint32_t alone)
{
    if (alone != 0u)
        wire_of[wire].came = 0;
    memcpy(wire_of[wire].brought + wire_of[wire].came, bytes, size);
    wire_of[wire].came += size;
}

#endif

/* Return all frames that were sent since the last call. */
uint32_t fake_bus_sent(uint32_t bus, ft_frame *frames)
{
    uint32_t count = bus_of[bus].count;

    memcpy(frames, bus_of[bus].sent, sizeof bus_of[bus].sent);
    bus_of[bus].count = 0;
    return count;
}

void fake_bus_bring(uint32_t bus, const ft_frame *frame)
{
    bus_of[bus].brought[bus_of[bus].written++ % WAITING] = *frame;
}

void fake_bus_off(uint32_t bus, uint32_t off)
{
    bus_of[bus].health.off = off != 0u;
}

#endif
