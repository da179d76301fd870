/* Reports and the recording, wire/ft_report.c and ft_capture.c, from any state.
 * In the proof the recording has 8 samples. The code requires only that the
 * number of samples is a power of two. */
#include "proof.h"

#define FT_DIGEST_H /* any digest */
#define FT_DIGEST_BYTES { 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, \
    13u, 14u, 15u, 16u, 17u, 18u, 19u, 20u, 21u, 22u, 23u, 24u, 25u, 26u, 27u, \
    28u, 29u, 30u, 31u, 32u }
#define FT_NAME "a name of any length, as long as it is a text of some kind"
#define FT_BOARD "f405rg-4"
#define FT_VERSION "0.2.0"

#include "ft_port.h"
#undef FT_CAPTURE_SAMPLES /* 1024 in the firmware; a power of two */
#define FT_CAPTURE_SAMPLES 8u

#include "ft_capture.c"
#include "ft_config.c"
#include "ft_report.c"

static ft_safety safety;
static ft_control control;
static ft_time time_;
static ft_sensors sensors;
#if FT_BUS_DRIVES > 0
static ft_bus bus;
#endif

uint32_t ft_chip_driver_status(void) { return nondet_u32(); }
uint32_t ft_chip_line_errors(void) { return nondet_u32(); }
uint32_t ft_chip_reset_cause(void) { return nondet_u32(); }
uint32_t ft_chip_remembered(void) { return nondet_u32(); }
ft_history nondet_history(void);
void ft_chip_history(ft_history *h) { *h = nondet_history(); }

int64_t ft_observer_wire(const ft_observer *o, uint32_t joint)
{
    const int64_t wire = (int64_t)nondet_u64(), most = (int64_t)1 << 52;

    CLAIM(o == &control.seen && joint < FT_JOINTS);
    GIVEN(wire >= -most && wire < most); /* see the theorem observer_place */
    return wire;
}

int64_t ft_observer_turned(const ft_observer *o, uint32_t joint, ft_turn q)
{
    CLAIM(o == &control.seen && joint < FT_JOINTS);
    return (int64_t)nondet_u64();
}

uint32_t ft_safety_unhomed(const ft_safety *s)
{
    return nondet_u32();
}

static void any_state(void)
{
    ANYTHING(safety);
    ANYTHING(control);
    ANYTHING(time_);
    ANYTHING(sensors);
    ANYTHING(capture);
    control.motion.now = control.motion.due;
    control.motion.newest = control.motion.before = control.motion.due;
    ft_capture_on = nondet_bool();
}

/* STATUS, IDENT and ABOUT are computed without a run-time error from any state,
 * including NaN in voltages and temperatures. A voltage or temperature outside
 * the range of the message is reported as the nearest end of this range.
 * Run: unwind=70 floats */
void prove_report_all(void)
{
    ft_msg_status s;
    ft_msg_ident i;
    ft_msg_about a;

    any_state();
    ft_report_start(nondet_u32());
    ft_report_status(&s, &time_, &sensors, &safety, &control);
    ft_report_ident(&i);
    ft_report_about(&a, safety.latched, time_.tick);
    CLAIM(sensors.bus_voltage < 65.0f || s.bus_mv == UINT16_MAX);
    CLAIM(!(sensors.temperature > 2e6f) || s.temperature == INT32_MAX);
    CLAIM(!(sensors.temperature < -2e6f) || s.temperature == INT32_MIN);
    END;
}

/* For any request of the host, starting a recording, writing it in a tick and
 * reading it from any sample on access only its ring buffer. A recording of one
 * pass ends when the ring is full.
 * Run: unwind=40 floats */
void prove_capture_ring(void)
{
    ft_msg_capture asked;
    ft_msg_data told;
    uint32_t taken;

    any_state();
    ANYTHING(asked);
    if (nondet_bool())
        ft_capture_start(&asked);
    taken = capture.taken;
    ft_capture_tick(&control, time_.tick, safety.state);
    CLAIM(capture.taken == taken || capture.taken == taken + 1u);
    CLAIM(capture.taken == taken || capture.mode != FT_CAPTURE_ONCE
          || capture.taken < FT_CAPTURE_SAMPLES || !ft_capture_on);
    ft_capture_read(nondet_u16(), &told);
    CLAIM(told.count <= FT_CAPTURE_SAMPLES);
    END;
}

#if FT_BUS_DRIVES > 0

uint32_t ft_bus_differs(const ft_bus *b, uint32_t i, uint32_t *value)
{
    CLAIM(b == &bus && i < FT_BUS_DRIVES);
    *value = b->drive[i].value;
    return b->drive[i].differs;
}

void ft_bus_tell(const ft_bus *b, uint32_t which, ft_bus_health *h)
{
    CLAIM(b == &bus && which < FT_BUSES);
    ANYTHING(*h);
}

/* DRIVES reports the state of every drive at the position of its joint, without
 * writing out of bounds.
 * Run: unwind=70 mechanisms=drives */
void prove_report_drives(void)
{
    const uint32_t i = below(FT_BUS_DRIVES);
    ft_msg_drives m;

    any_state();
    ANYTHING(bus);
    ft_report_drives(&m, &bus, time_.tick);
    CLAIM(m.state[ft_drive[i].joint] == bus.drive[i].state
          && m.answers[ft_drive[i].joint] == bus.drive[i].answers
          && m.value[ft_drive[i].joint] == bus.drive[i].value);
    CLAIM(m.tick == time_.tick && m.foreign == bus.foreign);
    END;
}

#endif
