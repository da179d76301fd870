/* Accesses to peripherals: what their models in Python have said beforehand is
 * answered here. */
#ifndef BUS_H
#define BUS_H

#include "core.h"

#define PLACES 1024u /* of registers; a power of two, far more than are used */

enum {
    ASK,    /* the model */
    HELD,   /* a read before `until` gives `value` */
    CYCLES, /* a read gives the cycles since `value` */
    CONTROL, /* a read gives the register ICSR, a write sets it */
    LENT,    /* `value` says what it is of what is lent */
    PINS     /* `value` is what is put out; a write that sets and clears pins is
             * the model's only if it changes that */
};

typedef struct {
    uint32_t address, kind, value;
    int64_t until;
} place_of_register;

/* The models' functions, of one stretch of addresses. note: told of every
 * access before it is made, if somebody listens; value -1 of a read. */
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
uint64_t bus_read(void *engine, uint64_t offset, unsigned size, void *user);
void bus_write(void *engine, uint64_t offset, unsigned size, uint64_t value,
               void *user);

#endif
