/* Handles the accesses to peripherals. The bus is in C because most registers
 * that a tick reads have not changed since the last read. hil/chip/registers.py
 * documents when a model withdraws a published answer. */
#include "parts.h"

#define WORD 4u       /* bytes */
#define NO_VALUE (-1) /* of a read */

/* Find the slot of a register, or an empty slot for the register. */
place_of_register *bus_place(place_of_register *places, uint32_t address)
{
    uint32_t i = (address >> 2) * 2654435761u % PLACES;
    while (places[i].address != 0 && places[i].address != address)
        i = (i + 1u) % PLACES;
    return places + i;
}

/* Place a row of registers. Their answers count up from `value`. */
void bus_place_row(place_of_register *places, uint32_t address, uint32_t count,
                   uint32_t kind, uint32_t value)
{
    for (; count > 0; count--, address += WORD) {
        place_of_register *p = bus_place(places, address);
        p->address = address;
        p->kind = kind;
        p->value = value++;
    }
}

/* Report an access to the listener. */
static void note(const bus *b, uint32_t address, unsigned size, int64_t value)
{
    if (*b->listening)
        b->note(address, size, value);
}

/* Handle a read of a peripheral's register. */
uint64_t bus_read(void *engine, uint64_t offset, unsigned size, void *user)
{
    const bus *b = user;
    uint32_t address = b->start + (uint32_t)offset;
    const place_of_register *p = bus_place(b->places, address);
    int64_t now = b->core->count->now;
    uint64_t found;
    note(b, address, size, NO_VALUE);
    if (size == WORD && p->kind == HELD && now < p->until)
        return p->value;
    if (size == WORD && p->kind == CYCLES)
        return (uint32_t)now - p->value;
    if (size == WORD && p->kind == CONTROL)
        return nvic_control(&b->core->nvic);
    if (size == WORD && p->kind == OF_A_PART &&
        parts_read(b->core->parts, p->value, &found))
        return found;
    return b->read(engine, offset, size, 0);
}

/* Handle a write to a peripheral's register. */
void bus_write(void *engine, uint64_t offset, unsigned size, uint64_t value,
               void *user)
{
    const bus *b = user;
    uint32_t address = b->start + (uint32_t)offset;
    const place_of_register *p = bus_place(b->places, address);
    note(b, address, size, (int64_t)value);
    if (size == WORD && p->kind == CONTROL && (value & ~NVIC_SETS) == 0) {
        nvic_set(&b->core->nvic, (uint32_t)value);
        b->core->count->deadline = 0;
        return;
    }
    if (size == WORD && p->kind == OF_A_PART &&
        parts_write(b->core->parts, p->value, (uint32_t)value))
        return;
    b->write(engine, offset, size, value, 0);
}
