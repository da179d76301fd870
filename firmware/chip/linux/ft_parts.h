/* The parts of a PC as the board. Only this folder calls the operating
 * system. */
#ifndef FT_PARTS_H
#define FT_PARTS_H

#include "ft_chip.h" /* ft_frame, ft_bus_health */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FT_NS_PER_S 1000000000u

/* ---- options and messages ------------------------------------------------ */

void ft_options(int count, char **words);

/* Return the text behind NAME= on the command line, or NULL. */
const char *ft_option(const char *name);
const char *ft_option_port(void); /* path of the host's socket, or fd:N */
int ft_option_clock(void);        /* descriptor that grants the time, or -1 */

/* Return N of "fd:N", a descriptor that the starter has opened; else -1. */
int ft_descriptor(const char *where);

/* Print one line for the user, and the operating system's reason. */
void ft_say(const char *what, const char *which);
void ft_say_why(const char *what, const char *which);

/* ---- time ---------------------------------------------------------------- */

/* Return the time, ns. It is the monotonic clock's, or the last granted one. */
uint64_t ft_clock_now(void);

/* Sleep until an absolute time. Return the time at the end of the sleep. */
uint64_t ft_clock_sleep_until(uint64_t at);

bool ft_clock_granted(void); /* another program grants the time */

/* ---- the host's port ----------------------------------------------------- */

bool ft_link_start(const char *where);
void ft_link_end(void);

/* Wait for bytes of the host, or for a host, until an absolute time. Return
 * whether one of them has come. Do not wait if the time is granted. */
bool ft_link_await(uint64_t until);

/* ---- serial ports -------------------------------------------------------- */

/* Open a serial port, raw, without waiting. Return its descriptor, or -1. */
int ft_serial_open(const char *device, uint32_t baud);

/* ---- adapters for CAN ---------------------------------------------------- */

enum { FT_FRAME_TEXT = 192 }; /* longest form of a frame on a serial line */

/* A protocol of frames on a serial line. Its functions keep no state.
 *   begin writes the commands that set the adapter up. It returns the number of
 *   bytes, or 0 if the adapter does not have these bit rates.
 *   pack writes a frame, and returns the number of bytes.
 *   unpack reads the first frame of `count` bytes, and returns the number of
 *   used bytes. It returns 0 if the frame is not complete. The frame's size
 *   stays FT_NO_FRAME if the used bytes are no frame.
 *   end: bytes that end a frame which was cut. */
#define FT_NO_FRAME UINT32_MAX
typedef struct {
    const char *name;
    uint32_t baud; /* rate of the serial port, which USB adapters ignore */
    uint32_t (*begin)(uint8_t *bytes, uint32_t bitrate, uint32_t data_bitrate);
    uint32_t (*pack)(uint8_t *bytes, const ft_frame *f, bool fd);
    uint32_t (*unpack)(const uint8_t *bytes, uint32_t count, ft_frame *f);
    const char *end;
} ft_dialect;

extern const ft_dialect ft_slcan, ft_fdcanusb; /* lines of text */
extern const ft_dialect ft_damiao_usb, ft_robstride_usb;

/* Return a frame's id, with the flags for 29 bits and for a remote frame. */
static inline uint32_t ft_id_of(uint32_t number, bool longer, bool remote)
{
    return (number & FT_FRAME_NUMBER) | (longer ? FT_FRAME_LONG : 0u) |
           (remote ? FT_FRAME_REMOTE : 0u);
}

/* Return the code of a length in CAN FD (DLC), and the length of a code. */
uint32_t ft_code_of(uint32_t size);
uint32_t ft_size_of(uint32_t code);

typedef struct {
    int fd;
    bool can_fd;               /* frames have CAN FD's format */
    bool drained;              /* the system has no more frames now */
    const ft_dialect *dialect; /* NULL: frames of SocketCAN */
    ft_bus_health health;
    uint8_t in[4096], out[4096]; /* bytes of a serial line */
    uint32_t came, from, to;   /* number in `in`; part of `out` to be sent */
    ft_frame kept[32];         /* received frames */
    uint32_t count, next;
} ft_adapter;

/* Open an adapter. Return false after a line with the reason. */
bool ft_adapter_open(ft_adapter *a, const char *name, const char *where,
                     uint32_t bitrate, uint32_t data_bitrate);
void ft_adapter_send(ft_adapter *a, const ft_frame frames[], uint32_t count);
void ft_adapter_receive(ft_adapter *a);

/* Open, send and receive over SocketCAN. */
bool ft_socketcan_open(ft_adapter *a, const char *name, const char *where);
void ft_socketcan_send(ft_adapter *a, const ft_frame frames[], uint32_t count);
void ft_socketcan_receive(ft_adapter *a);

/* Note a failed system call. An adapter that is gone is off the bus. */
void ft_adapter_failed(ft_adapter *a, uint32_t frames);

/* ---- the second process -------------------------------------------------- */

/* Start the second process. It switches the drives off if this process dies or
 * stops for too long. */
bool ft_guard_start(void);
void ft_guard_feed(void);
void ft_guard_end(void);  /* the drives are off: let the second process end */

/* Send the frames that switch every drive off. No tick may run. */
void ft_buses_stop(void);
void ft_wires_stop(void);

/* Return the number of answers on a bus or wire since the last call. */
uint32_t ft_bus_heard(uint32_t bus);
uint32_t ft_wire_heard(uint32_t wire, uint32_t servos);

void ft_latency(const char *rounds); /* print the adapters' round trips */

/* ---- end of the process -------------------------------------------------- */

void ft_signals_start(void);
bool ft_signalled(void); /* a signal asks this process to end */

#endif
