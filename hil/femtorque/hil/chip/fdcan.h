/* The STM32G4's FDCAN: RM0440 section 44; M_CAN user's manual 3.3. */
#ifndef FDCAN_H
#define FDCAN_H

#include "can.h"

#define FDCAN_WORDS 65 /* registers */
#define FDCANS 3

/* Bits of CCCR, DBTP and TXBC. Bits of IR: RF0N and the next two bits are for
 * FIFO 0; the bits for FIFO 1 are three positions higher. */
enum { FDCAN_INIT = 1, FDCAN_CCE = 2, FDCAN_MON = 0x20, FDCAN_DAR = 0x40 };
enum { FDCAN_FDOE = 0x100, FDCAN_BRSE = 0x200 };
enum { FDCAN_TDC = 0x800000, FDCAN_TFQM = 0x1000000 };
enum { FDCAN_RF0N = 1, FDCAN_RF0F = 2, FDCAN_RF0L = 4, FDCAN_TC = 0x80 };
enum { FDCAN_TCF = 0x100, FDCAN_TFE = 0x200, FDCAN_EP = 0x20000 };
enum { FDCAN_EW = 0x40000, FDCAN_BO = 0x80000 };
enum { FDCAN_PEA = 0x200000, FDCAN_PED = 0x400000 };

/* Size of each controller's region of message RAM, and addresses in this
 * region, bytes (44.3.5). FDCAN_ELEMENT: size of an element, bytes. */
enum { FDCAN_PIECE = 0x350, FDCAN_STANDARD = 0, FDCAN_EXTENDED = 0x70 };
enum { FDCAN_RECEIVED = 0xB0, FDCAN_TO_SEND = 0x278, FDCAN_ELEMENT = 72 };
#define FDCAN_DEPTH 3
#define FDCAN_RAM_WORDS 636

/* get: index of the oldest element. level: number of elements. lost: a frame
 * was lost because the FIFO was full. */
typedef struct {
    int32_t get, level, lost;
} fdcan_fifo;

/* hil/chip/stm32g4/fdcan.py describes a controller. writable: writable bits of
 * each register. ram: the controller's region of message RAM. put: index of the
 * next element in the transmit FIFO. ordered: number of elements before that
 * index; a cancelled element counts until it would have been sent. sending,
 * offered: numbers of elements, or -1. state: present error state, as flags of
 * IR. codes: LEC and DLEC. logged: CEL. initialises: the value that INIT will
 * take. */
typedef struct {
    can can;
    uint32_t words[FDCAN_WORDS], writable[FDCAN_WORDS];
    uint32_t *ram;
    fdcan_fifo fifos[2];
    int32_t put, ordered, sending, offered, joined;
    uint32_t state, codes[2], logged, initialises;
} fdcan;

/* Refusals, in the same order as their texts in Python. */
enum { FDCAN_DELAY, FDCAN_EVENTS, FDCAN_PRIORITY };

struct parts;

void fdcan_begin(struct parts *l, int32_t number);
void fdcan_reset(fdcan *f);
uint32_t fdcan_read(fdcan *f, uint32_t word);
int fdcan_write(fdcan *f, uint32_t word, uint32_t value);

#endif
