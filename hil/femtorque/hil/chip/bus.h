/* Accesses to peripherals, answered with the models' published values. */
#ifndef BUS_H
#define BUS_H

#include "core.h"

#define PLACES 4096u /* power of two, far above the registers */

enum {
    ASK,    /* the model */
    HELD,   /* a read before `until` returns `value` */
    CYCLES, /* a read returns the cycles since `value` */
    CONTROL, /* a read returns the register ICSR, and a write sets it */
    OF_A_PART /* `value` as in parts.h */
};

typedef struct {
    uint32_t address, kind, value;
    int64_t until;
} place_of_register;

/* Functions of the models for one range of addresses. note: called before each
 * access while `listening` is set; for a read the value is -1. */
typedef struct {
    core *core;
    uint32_t start;
    uint64_t (*read)(void *, uint64_t, unsigned, void *);
    void (*write)(void *, uint64_t, unsigned, uint64_t, void *);
    void (*note)(uint32_t address, unsigned size, int64_t value);
    place_of_register *places;
    int32_t *listening;
} bus;

place_of_register *bus_place(place_of_register *places, uint32_t address);
void bus_place_row(place_of_register *places, uint32_t address, uint32_t count,
                   uint32_t kind, uint32_t value);
uint64_t bus_read(void *engine, uint64_t offset, unsigned size, void *user);
void bus_write(void *engine, uint64_t offset, unsigned size, uint64_t value,
               void *user);

#endif
