/* The functions that the portable application needs from a chip. One folder of
 * firmware/chip/ implements them for one family of chips. Nothing above this
 * header names a register.
 *
 * Joints have the same numbers everywhere. The emitted ft_board.h assigns
 * timers and pins to them. */
#ifndef FT_CHIP_H
#define FT_CHIP_H

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the chip came out of its last reset (reported in IDENT). */
enum { FT_RESET_POWER, FT_RESET_PIN, FT_RESET_SOFTWARE, FT_RESET_WATCHDOG,
       FT_RESET_BROWNOUT, FT_RESET_OTHER };

/* Errors of the start, as bits. CRASHED: the processor faulted before this
 * reset, the start itself was good. CRYSTAL: the crystal does not run at the
 * board file's hse_hz. SUPPLY: the chip's own supply sagged. UPDATE: the PWM
 * does not update at its top. TICK: SysTick counts wrongly. */
enum { FT_CHIP_GOOD = 0, FT_CHIP_CLOCK = 1, FT_CHIP_TIMER = 2,
       FT_CHIP_PORT = 4, FT_CHIP_CRASHED = 8, FT_CHIP_DRIVER = 16,
       FT_CHIP_SENSE = 32, FT_CHIP_CRYSTAL = 64, FT_CHIP_SUPPLY = 128,
       FT_CHIP_UPDATE = 256, FT_CHIP_TICK = 512 };

/* Bring up clocks, timers and the port, outputs off. Every wait is bounded. */
uint32_t ft_chip_start(void);

/* Start the control tick: from now on call ft_app_tick() at FT_TICK_HZ. */
void ft_chip_run(void);

/* Set the duties of all joints, -1 to 1. The timers take them over together,
 * FT_LEAD ticks later. NaN is output as 0. Disabled outputs are safe at any
 * duty. */
void ft_chip_duties(const float duty[]);
void ft_chip_outputs(bool enabled);
bool ft_chip_outputs_enabled(void);

/* Open the holding brakes, or let them close. A board without brakes does
 * nothing. Making the outputs safe lets the brakes close first. */
void ft_chip_brake(bool open);

/* Show a state, FT_STATE_*, on the board's LED, if there is one. The main loop
 * calls this in every round. */
void ft_chip_show(uint32_t state, uint32_t tick);

/* Switch the servos' supply on or off. It is off in reset. A board without that
 * output does nothing. */
void ft_chip_servo_supply(bool on);

/* Put neutral on every output at once, from any context, without waiting. */
void ft_chip_safe(void);

/* Give the signed encoder counts (x4) of all joints since the last call. */
void ft_chip_encoders(int32_t counts[]);

bool ft_chip_estop(void);          /* true: the e-stop loop is open */

/* Return the bus voltage, V, once per tick: the nominal voltage on a board that
 * does not measure it. A single outlier is ignored. */
float ft_chip_bus_voltage(void);

/* For the main loop. Return whether the drivers report a fault: false if they
 * report nothing. Return the temperature of the hottest sensor, deg C: 25
 * without a sensor, NaN if a sensor is broken. */
bool ft_chip_driver_fault(void);
float ft_chip_temperature(void);

/* For the main loop. Read back one setting of the drivers, or all of them
 * before arming. Lost settings are written again over the next rounds, once the
 * outputs are off. */
void ft_chip_drivers_look(bool at_all);

/* Return whether the chip's own supply is good, and was good at the start. A
 * supply that was low at the start keeps the chip on its slow clock with the
 * outputs off, until a reset. */
bool ft_chip_supply_good(void);

/* Return whether the drivers hold the settings that were written to them. */
bool ft_chip_drivers_ready(void);

/* Return the last report of the drivers, 0 if there is none: status register 1,
 * register 2 from bit 16 on, the driver's number from bit 28 on. */
uint32_t ft_chip_driver_status(void);

/* Return why the chip has dropped the outputs since they were last enabled: a
 * current that is too large, a sensor that does not answer or has the wrong
 * sign, or a loop at its voltage limit without a current. Give the joint. */
enum { FT_CURRENT_GOOD, FT_CURRENT_OVER, FT_CURRENT_SENSOR, FT_CURRENT_SIGN,
       FT_CURRENT_LOOP };
uint32_t ft_chip_current_fault(uint32_t *joint);

/* Return whether the current sensors have read zero since the outputs went off.
 * If not, give the joint of a sensor that has not. */
bool ft_chip_current_zero(uint32_t *joint);

/* The image in flash, code and constants, and its CRC-32 from the build. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size, crc;
} ft_image;
ft_image ft_chip_image(void);

/* Return whether the stack has never come near its end. */
bool ft_chip_stack_whole(void);

/* Return whether a joint's index pulse is there now; false without a wire. */
bool ft_chip_index(uint32_t joint);

/* Receive or send bytes at the port without waiting. Return how many bytes were
 * received, or whether all bytes were taken for sending: all are, or none. */
size_t ft_chip_receive(uint8_t *bytes, size_t room);
bool ft_chip_send(const uint8_t *bytes, size_t size);
uint32_t ft_chip_line_errors(void); /* bytes received with an error, wraps */

/* Buses of drives, by their numbers. Frames to be sent replace those that have
 * not gone yet: a command that is late is worth nothing. Received frames wait
 * until they are taken, the oldest first. */
bool ft_chip_buses_start(void); /* false: one does not initialise */
void ft_chip_bus_send(uint32_t bus, const ft_frame frames[], uint32_t count);
bool ft_chip_bus_take(uint32_t bus, ft_frame *frame);

/* How a bus is; counts wrap. off: the controller has left it after too many
 * errors, or finds no pause to join it in; ten times per second it is let back.
 */
typedef struct {
    bool off;
    uint8_t sending, receiving; /* its error counters */
    uint16_t offs;              /* times that it left */
    uint16_t stale;             /* frames that were replaced */
    uint16_t overruns;          /* times that frames came too fast */
} ft_bus_health;
void ft_chip_bus_health(uint32_t bus, ft_bus_health *h);

/* Half-duplex wires of servos. Sent bytes come back, before others answer. Only
 * the counts of stale packets, errors and overruns are theirs. */
bool ft_chip_wires_start(void);
void ft_chip_wire_send(uint32_t wire, const uint8_t *bytes, uint32_t size);
uint32_t ft_chip_wire_take(uint32_t wire, uint8_t *bytes, uint32_t most);
void ft_chip_wire_health(uint32_t wire, ft_bus_health *h);

/* Which chip this is, and what has happened to it since power-on. */
typedef struct {
    uint8_t unique[12];  /* no other chip has these */
    uint32_t options;    /* option bytes, as the family shows them */
    uint32_t resets;
    uint32_t exception;  /* number of the last crash's, 0: there was none */
    uint32_t pc, lr, psr, cfsr, hfsr, address; /* of that crash */
} ft_history;
void ft_chip_history(ft_history *h);

/* Return whether the board is safe while the boot loader in ROM runs. Enter the
 * boot loader by a reset that leaves every output off. */
bool ft_chip_has_loader(void);
void ft_chip_leave(void);

uint32_t ft_chip_cycles(void);     /* free-running cycle counter */
uint32_t ft_chip_reset_cause(void);

/* Keep one word over every reset except power-off. Return the word that was
 * kept before the last reset, 0 if there is none. */
void ft_chip_remember(uint32_t word);
uint32_t ft_chip_remembered(void);

void ft_chip_feed_watchdog(void);
void ft_chip_wait(void);           /* sleep until the next interrupt */

/* ---- processor in the loop ---------------------------------------------- */

/* An image with FT_PIL reads no encoder and drives no motor: the plant is at
 * the host. SENSE brings counts, and grants the tick that they are for. DRIVE
 * reports the duties of that tick.
 *
 * While no SENSE comes, the timer grants the ticks, and the joints rest. Before
 * the first of these ticks outputs that were on are dropped: fault BREAK. */

/* Take in the counts of all joints since the plant began. Let the next tick run
 * at once if the counts are for it. */
void ft_pil_sense(const int32_t counts[], bool for_next_tick);

/* Give the last tick's duties. Return whether the outputs were on. */
bool ft_pil_driven(float duty[]);

/* Stop waiting for the last plant: a new host has connected. */
void ft_pil_forget(void);

#endif
