/* Pins that are switched to a peripheral. */
#ifndef PINS_H
#define PINS_H

#include <stdint.h>

/* A pin. function: alternate function that connects the peripheral. */
typedef struct {
    int32_t port, pin;
    uint32_t function;
} switched_pin;

struct parts;

int pins_switched(const struct parts *l, const switched_pin *p, int32_t count);

#endif
