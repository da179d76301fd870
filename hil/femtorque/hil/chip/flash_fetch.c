/* The model of flash that hil/chip/timing.py describes. The model is in C
 * because a tick has a thousand instructions and each of them is counted. */
#include "flash_fetch.h"

#include <string.h>

/* Start with empty caches and without a wait. */
void flash_empty(flash_fetch *f)
{
    f->stalls = 0;
    f->at = -2;
    f->spent = 0;
    f->code.used = f->data.used = 0;
}

/* Return a line's index in a cache from the front, or the size. */
static uint32_t place_of(const flash_cache *c, uint32_t line)
{
    uint32_t i = 0;
    while (i < c->used && c->lines[i] != line)
        i++;
    return i;
}

/* Move a line to a cache's front. A new line replaces the last line. */
static void put_first(flash_cache *c, uint32_t line, uint32_t place)
{
    if (place == c->room)
        place--;
    else if (place == c->used)
        c->used++;
    memmove(c->lines + 1, c->lines, place * sizeof *c->lines);
    c->lines[0] = line;
}

/* Wait for the next line. */
static void enter(flash_fetch *f, uint32_t line)
{
    uint32_t place = place_of(&f->code, line), reading = 1u + f->wait_states;
    if (place < f->code.used) {
        put_first(&f->code, line, place);
    } else if ((int64_t)line == f->at + 1) {
        if (f->spent < reading)
            f->stalls += reading - f->spent;
    } else {
        f->stalls += f->wait_states;
        put_first(&f->code, line, place);
    }
    f->at = (int64_t)line;
    f->spent = 0;
}

/* Execute instructions, each once its last byte has been fetched. */
void flash_execute(flash_fetch *f, const instruction *code, uint32_t count)
{
    const instruction *i;
    for (i = code; i < code + count; i++) {
        uint32_t line = i->address / f->line;
        uint32_t last = (i->address + i->size - 1u) / f->line;
        for (; line <= last; line++)
            if ((int64_t)line != f->at)
                enter(f, line);
        f->spent += i->cycles;
    }
}

/* Load a constant. */
void flash_read(flash_fetch *f, uint32_t address)
{
    uint32_t line = address / f->line, place = place_of(&f->data, line);
    if (place == f->data.used)
        f->stalls += f->wait_states;
    put_first(&f->data, line, place);
}
