/* Requirements of the portable application on a chip. One folder of
 * firmware/chip/ implements it for one family; nothing above this header names
 * a register.
 *
 * Joints are numbered as everywhere; which timer or pin serves a joint is the
 * chip's business, decided by the emitted ft_board.h. */
#ifndef FT_CHIP_H
#define FT_CHIP_H

#include "ft_frame.h" /* ft_frame */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why the chip came out of its last reset (reported in IDENT). */
enum { FT_RESET_POWER, FT_RESET_PIN, FT_RESET_SOFTWARE, FT_RESET_WATCHDOG,
       FT_RESET_BROWNOUT, FT_RESET_OTHER };

/* Errors in bringing the chip up, as bits; 0 is nothing. CRASHED: the processor
 * faulted before this reset, all else is good. CRYSTAL: it does not run at the
 * board file's hse_hz. SUPPLY: the chip's own supply sagged. UPDATE: the PWM
 * does not update at its top. TICK: SysTick counts wrongly. */
enum { FT_CHIP_GOOD = 0, FT_CHIP_CLOCK = 1, FT_CHIP_TIMER = 2,
       FT_CHIP_PORT = 4, FT_CHIP_CRASHED = 8, FT_CHIP_DRIVER = 16,
       FT_CHIP_SENSE = 32, FT_CHIP_CRYSTAL = 64, FT_CHIP_SUPPLY = 128,
       FT_CHIP_UPDATE = 256, FT_CHIP_TICK = 512 };

/* Bring up clocks, timers and the port, outputs off. Every wait is bounded. */
uint32_t ft_chip_start(void);

/* Let the control tick run: calls ft_app_tick() at FT_TICK_HZ from now on. */
void ft_chip_run(void);

/* Outputs: duties -1..1 of all joints, taken over together at the next tick
 * boundary (FT_LEAD ticks later); NaN is output as 0. Disabled outputs
 * are safe whatever the duties say. */
void ft_chip_duties(const float duty[]);
void ft_chip_outputs(bool enabled);
bool ft_chip_outputs_enabled(void);

/* Open the holding brakes, or let them close; without any it does nothing.
 * Outputs that are made safe let them close first. */
void ft_chip_brake(bool open);

/* Show a state, FT_STATE_*, on the board's LED, where it has one. From the
 * main loop, time after time. */
void ft_chip_show(uint32_t state, uint32_t tick);

/* Let the servos have their supply, or cut it; off in reset, and where the
 * board has no such output nothing. */
void ft_chip_servo_supply(bool on);

/* Put neutral on every output at once, from any context, without waiting. */
void ft_chip_safe(void);

/* Encoder counts (x4) of all joints since the last call, signed. */
void ft_chip_encoders(int32_t counts[]);

bool ft_chip_estop(void);          /* true: the e-stop loop is open */

/* V, once per tick; the nominal voltage where it is not measured. A single
 * outlier is ignored. */
float ft_chip_bus_voltage(void);

/* From the main loop: what the drivers say of themselves (false where they
 * say nothing), and the hottest sensor in deg C (25 where there is none, NaN
 * where one is broken). */
bool ft_chip_driver_fault(void);
float ft_chip_temperature(void);

/* From the main loop: read back one setting of the drivers, or, before anything
 * is armed, all of them. Lost settings are written again over the next rounds,
 * once the outputs are off. */
void ft_chip_drivers_look(bool at_all);

/* Return whether the chip's own supply is good, and has been since the start.
 * One that was low then keeps the chip on its slow clock, outputs off, until a
 * reset. */
bool ft_chip_supply_good(void);

/* Return whether the drivers hold the settings that were written to them. */
bool ft_chip_drivers_ready(void);

/* Last report of the drivers: status register 1, register 2 from bit 16 on, the
 * driver's number from bit 28 on; 0: nothing. */
uint32_t ft_chip_driver_status(void);

/* Why the chip has dropped the outputs by itself since they were last enabled:
 * a current too large, a sensor that does not answer, one of the wrong sign, a
 * loop at its voltage limit without a current. joint: the one concerned. */
enum { FT_CURRENT_GOOD, FT_CURRENT_OVER, FT_CURRENT_SENSOR, FT_CURRENT_SIGN,
       FT_CURRENT_LOOP };
uint32_t ft_chip_current_fault(uint32_t *joint);

/* Return whether the current sensors have read zero since the outputs went off;
 * if not, joint is one whose sensor has not. */
bool ft_chip_current_zero(uint32_t *joint);

/* The image in flash, code and constants, and the CRC-32 that it had when it
 * was built. */
typedef struct {
    const uint8_t *bytes;
    uint32_t size, crc;
} ft_image;
ft_image ft_chip_image(void);

/* Return whether the stack has never come near its end. */
bool ft_chip_stack_whole(void);

/* Return whether a joint's index pulse is there now; false without a wire. */
bool ft_chip_index(uint32_t joint);

/* The port: bytes in and out, never waiting. Both return how many were
 * taken. ft_chip_send takes all or nothing. */
size_t ft_chip_receive(uint8_t *bytes, size_t room);
bool ft_chip_send(const uint8_t *bytes, size_t size);
uint32_t ft_chip_line_errors(void); /* bytes that came in wrong, wraps */

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

/* The boot loader in ROM: whether the board is safe while it runs, and the way
 * into it, by a reset that leaves every output off. */
bool ft_chip_has_loader(void);
void ft_chip_leave(void);

uint32_t ft_chip_cycles(void);     /* free-running cycle counter */
uint32_t ft_chip_reset_cause(void);

/* One word that outlives every reset but power-off: keep it, and read what
 * was kept before the last reset (0: nothing). */
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
