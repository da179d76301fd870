/* FDCAN of the STM32G4: RM0440 section 44; Bosch's M_CAN, by its user's manual
 * 3.3. */
#ifndef FDCAN_H
#define FDCAN_H

#include "can.h"

#define FDCAN_WORDS 65 /* registers */
#define FDCANS 3

/* CCCR, DBTP, TXBC */
#define FDCAN_INIT 0x1u
#define FDCAN_CCE 0x2u
#define FDCAN_MON 0x20u
#define FDCAN_DAR 0x40u
#define FDCAN_FDOE 0x100u
#define FDCAN_BRSE 0x200u
#define FDCAN_TDC 0x800000u
#define FDCAN_TFQM 0x1000000u

/* IR; the first three for FIFO 0, and three bits further for FIFO 1 */
#define FDCAN_RF0N 0x1u
#define FDCAN_RF0F 0x2u
#define FDCAN_RF0L 0x4u
#define FDCAN_TC 0x80u
#define FDCAN_TCF 0x100u
#define FDCAN_TFE 0x200u
#define FDCAN_EP 0x20000u
#define FDCAN_EW 0x40000u
#define FDCAN_BO 0x80000u
#define FDCAN_PEA 0x200000u
#define FDCAN_PED 0x400000u

/* 44.3.5: bytes of each part of message RAM, and places in it; an element of a
 * FIFO or to send has so many */
#define FDCAN_PIECE 0x350
#define FDCAN_STANDARD 0x000
#define FDCAN_EXTENDED 0x070
#define FDCAN_RECEIVED 0x0B0
#define FDCAN_TO_SEND 0x278
#define FDCAN_ELEMENT 72
#define FDCAN_DEPTH 3
#define FDCAN_RAM_WORDS 636

/* get: index of the oldest element; level: how many there are; lost: one found
 * no room. */
typedef struct {
    int32_t get, level, lost;
} fdcan_fifo;

/* hil/chip/stm32g4/fdcan.py. writable: bits of each register. ram: its part of
 * message RAM. put, ordered: of a FIFO to send, the place of the next element,
 * and how many are before it, also cancelled ones until their turn. sending,
 * offered: elements, or -1. state: flags of IR that the error state has now.
 * codes: LEC and DLEC; logged: CEL. initialises: to what INIT turns. */
typedef struct {
    can can;
    uint32_t words[FDCAN_WORDS], writable[FDCAN_WORDS];
    uint32_t *ram;
    fdcan_fifo fifos[2];
    int32_t put, ordered, sending, offered, joined;
    uint32_t state, codes[2], logged, initialises;
} fdcan;

/* Refusals, in the order of their texts in Python. */
enum { FDCAN_DELAY, FDCAN_EVENTS, FDCAN_PRIORITY };

struct parts;

void fdcan_begin(struct parts *l, int32_t number);
void fdcan_reset(fdcan *f);
uint32_t fdcan_read(fdcan *f, uint32_t word);
int fdcan_write(fdcan *f, uint32_t word, uint32_t value);

#endif
