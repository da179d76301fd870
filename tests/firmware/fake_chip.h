#ifndef FAKE_CHIP_H
#define FAKE_CHIP_H

#include "ft_chip.h"
#include "ft_config.h"
#include "ft_model.h"
#include "ft_port.h"

#include <stdint.h>

typedef struct {
    uint32_t errors, reset_cause, remembered;
    uint32_t estop, dropped, outputs, deaf;
    uint32_t safe, fed, cycles;
    uint32_t driver_fault, index; /* one bit per joint */
    uint32_t not_ready, looked, rounds, driver_status, brake, servo_supply;
    uint32_t current_fault, current_joint, current_off; /* off: no zero */
    float bus_voltage, temperature;
    float duty[FT_JOINTS];
    int32_t counts[FT_JOINTS];
    ft_history history;
    uint32_t no_loader, left, supply_low, stack_left, shown;
    uint8_t code[5000];
} fake_chip_t;

/* Results of a tick, read through the telemetry map. */
typedef struct {
    float torque_ff[FT_JOINTS], torque[FT_JOINTS], duty[FT_JOINTS];
    float rate[FT_JOINTS], target_rate[FT_JOINTS];
    int32_t position[FT_JOINTS], target[FT_JOINTS];
    uint32_t tick;
} fake_record_t;

fake_chip_t *fake_chip(void);
uint32_t fake_feed(const uint8_t *bytes, uint32_t size);
uint32_t fake_take(uint8_t *bytes);
void fake_run(uint32_t ticks, uint32_t following, fake_record_t *record);
void fake_state(uint32_t state);
uint32_t fake_state_now(void);
void fake_event(uint32_t event);
void fake_tick_number(uint32_t tick);
void fake_poison(uint32_t joint, float value);
void fake_shift(uint32_t joint, int32_t wire);
#if FT_BUS_DRIVES > 0
uint32_t fake_bus_sent(uint32_t bus, ft_frame *frames);
void fake_bus_bring(uint32_t bus, const ft_frame *frame);
void fake_bus_off(uint32_t bus, uint32_t off);
#if FT_WIRES > 0
uint32_t fake_wire_sent(uint32_t wire, uint8_t *bytes);
void fake_wire_bring(uint32_t wire, const uint8_t *bytes, uint32_t size,
                     uint32_t alone);
#endif
#endif
extern fake_chip_t fake;

#endif
