/* The functions that the portable application needs from a chip. Each folder of
 * firmware/chip/ implements these functions for one family of chips. Code above
 * this header names no register.
 *
 * All modules use the same numbers for the joints. The emitted ft_board.h
 * assigns timers and pins to the joints. */
#ifndef FT_CHIP_H
#define FT_CHIP_H

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reason for the chip's last reset (reported in IDENT). */
enum { FT_RESET_POWER, FT_RESET_PIN, FT_RESET_SOFTWARE, FT_RESET_WATCHDOG,
       FT_RESET_BROWNOUT, FT_RESET_OTHER };

/* Errors of the start, as bits. CRASHED: the processor faulted before this
 * reset, but the start itself was good. CRYSTAL: the crystal does not run at
 * the board file's hse_hz. SUPPLY: the chip's own supply sagged. UPDATE: the
 * PWM does not update at its top. TICK: SysTick counts wrongly. */
enum { FT_CHIP_GOOD = 0, FT_CHIP_CLOCK = 1, FT_CHIP_TIMER = 2,
       FT_CHIP_PORT = 4, FT_CHIP_CRASHED = 8, FT_CHIP_DRIVER = 16,
       FT_CHIP_SENSE = 32, FT_CHIP_CRYSTAL = 64, FT_CHIP_SUPPLY = 128,
       FT_CHIP_UPDATE = 256, FT_CHIP_TICK = 512 };

/* Start clocks, timers, port, with outputs off, in bounded time. */
uint32_t ft_chip_start(void);

/* Start the tick: a timer then calls ft_app_tick() at FT_TICK_HZ. */
void ft_chip_run(void);

/* Set the duties of all joints, -1 to 1, for FT_LEAD ticks later. NaN is output
 * as 0. Disabled outputs are safe at any duty. */
void ft_chip_duties(const float duty[]);
void ft_chip_outputs(bool enabled);
bool ft_chip_outputs_enabled(void);

/* Open the holding brakes, if any, or let them close. Code that makes the
 * outputs safe closes them first. */
void ft_chip_brake(bool open);

/* Show a state, FT_STATE_*, on the board's LED, if the board has one. The main
 * loop calls this in every round. */
void ft_chip_show(uint32_t state, uint32_t tick);

/* Switch the servos' supply on or off. The supply is off in reset. On a board
 * without this switch the function has no effect. */
void ft_chip_servo_supply(bool on);

/* Set every output to neutral at once, from any context. */
void ft_chip_safe(void);

/* Give the signed encoder counts (x4) of all joints since the last call. */
void ft_chip_encoders(int32_t counts[]);

bool ft_chip_estop(void);          /* true: the e-stop loop is open */

/* Return the bus voltage, V, once per tick. A board without this measurement
 * returns the nominal voltage. A single outlier is ignored. */
float ft_chip_bus_voltage(void);

/* Return, for the main loop, whether the drivers report a fault. A driver
 * without a fault line reports no fault. The second function returns the
 * temperature of the hottest sensor, deg C: 25 without a sensor, NaN with a
 * broken sensor. */
bool ft_chip_driver_fault(void);
float ft_chip_temperature(void);

/* Read back one setting of the motor drivers, or all settings before arming.
 * For the main loop. Lost settings are written again in the next rounds of the
 * main loop, once the outputs are off. */
void ft_chip_drivers_look(bool at_all);

/* Return whether the chip's own supply is good now, and was good at the start.
 * After a low supply at the start, the chip stays on its slow clock with the
 * outputs off, until a reset. */
bool ft_chip_supply_good(void);

/* Return whether the drivers hold their settings. */
bool ft_chip_drivers_ready(void);

/* Return the last report of the drivers, or 0. A report has status register 1,
 * register 2 from bit 16 on, and the driver's number from bit 28 on. */
uint32_t ft_chip_driver_status(void);

/* Return why the chip has switched the outputs off since they were last
 * enabled, and give the joint. The reasons are an excessive current, a current
 * sensor that does not answer or has the wrong sign, and a current loop at its
 * voltage limit without a current. */
enum { FT_CURRENT_GOOD, FT_CURRENT_OVER, FT_CURRENT_SENSOR, FT_CURRENT_SIGN,
       FT_CURRENT_LOOP };
uint32_t ft_chip_current_fault(uint32_t *joint);

/* Return whether the current sensors have read zero since the outputs went off.
 * If a sensor has not read zero, give the joint of this sensor. */
bool ft_chip_current_zero(uint32_t *joint);

/* The image in flash, code and constants, and its CRC-32 from the build. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size, crc;
} ft_image;
ft_image ft_chip_image(void);

/* Return whether the stack has never come near its end. */
bool ft_chip_stack_whole(void);

/* Return whether a joint's index pulse, if it has one, is active. */
bool ft_chip_index(uint32_t joint);

/* Receive or send bytes at the port without waiting. Return the number of
 * received bytes, or whether the bytes were accepted. The port accepts all
 * bytes, or none of them. */
size_t ft_chip_receive(uint8_t *bytes, size_t room);
bool ft_chip_send(const uint8_t *bytes, size_t size);
uint32_t ft_chip_line_errors(void); /* bytes received with an error, wraps */

/* Buses of drives, by number. New frames replace unsent frames, since late
 * commands are worthless. Received frames wait, the oldest first. */
bool ft_chip_buses_start(void); /* false: no initialisation */
void ft_chip_bus_send(uint32_t bus, const ft_frame frames[], uint32_t count);
bool ft_chip_bus_take(uint32_t bus, ft_frame *frame);

/* State of a bus. All counts wrap. off: the controller has left the bus after
 * too many errors, or finds no idle time to join the bus. The controller tries
 * again ten times per second. */
typedef struct {
    bool off;
    uint8_t sending, receiving; /* the controller's error counters */
    uint16_t offs;              /* times that the controller has left the bus */
    uint16_t stale;             /* frames replaced before they were sent */
    uint16_t overruns;          /* times that frames came too fast */
} ft_bus_health;
void ft_chip_bus_health(uint32_t bus, ft_bus_health *h);

/* Wires: half-duplex buses of servos. The board receives its own bytes before
 * the answers. Only stale packets, errors and overruns count. */
bool ft_chip_wires_start(void);
void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size);
uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most);
void ft_chip_wire_health(uint32_t wire, ft_bus_health *h);

/* The chip's identity, and its history since power-on. */
typedef struct {
    uint8_t unique[12];  /* unique to this chip */
    uint32_t options;    /* the family's option bytes */
    uint32_t resets;
    uint32_t exception;  /* of the last crash, 0 without a crash */
    uint32_t pc, lr, psr, cfsr, hfsr, address; /* of this crash */
} ft_history;
void ft_chip_history(ft_history *h);

/* Return whether the board is safe while the ROM's boot loader runs. The second
 * function enters it by a reset, with every output off. */
bool ft_chip_has_loader(void);
void ft_chip_leave(void);

uint32_t ft_chip_cycles(void);     /* free-running cycle counter */
uint32_t ft_chip_reset_cause(void);

/* Keep one word over every reset except power-off. The second function returns
 * the word that was kept before the last reset, or 0. */
void ft_chip_remember(uint32_t word);
uint32_t ft_chip_remembered(void);

void ft_chip_feed_watchdog(void);
void ft_chip_wait(void);           /* sleep until the next interrupt */

/* ---- processor in the loop ---------------------------------------------- */

/* An image with FT_PIL reads no encoder and drives no motor, since the host
 * simulates the plant. The message SENSE carries encoder counts and starts the
 * tick that uses these counts. The message DRIVE reports this tick's duties.
 * While no SENSE arrives, the timer runs the ticks, and the joints rest. The
 * first tick that the timer runs switches the outputs off, with fault BREAK if
 * they were on. */

/* Accept the encoder counts of all joints since the simulation began. Start the
 * next tick immediately if the counts belong to it. */
void ft_pil_sense(const int32_t counts[], bool for_next_tick);

/* Give the last tick's duties. Return whether the outputs were on. */
bool ft_pil_driven(float duty[]);

/* Stop waiting for the last host's plant: a new host has connected. */
void ft_pil_forget(void);

#endif
