/* Analogue-to-digital converters: injected sequences. */
#ifndef CONVERTER_H
#define CONVERTER_H

#include "due.h"

#define CONVERTER_WORDS 64 /* registers */
#define RESULTS 4

/* hil/chip/stm32/injected.py describes a converter. status, control, result:
 * numbers of registers. start, ended, asking: bits of these registers. kept:
 * bits of the control register that a zero does not clear. latched: `start`
 * stays set until the end, and triggers count only while `start` is set.
 * by_trigger: a timer starts the sequence. asks: the interrupt is enabled.
 * plain: the converter is ready, and only a start can change it. known: false
 * if Python must first describe the sequence: the channels, their sampling
 * times in clocks, and the cycles of a clock. stale: cycles of rest after which
 * the first result is wrong, or -1. finished: cycle of the last end, or -1.
 * outside: the board in C knows the voltages. */
typedef struct {
    due end;
    uint32_t words[CONVERTER_WORDS];
    uint32_t status, control, result[RESULTS];
    uint32_t start, ended, asking, kept, writable;
    int32_t latched, ones_clear, interrupt, dead;
    int32_t by_trigger, asks, plain, known, outside;
    int32_t count;
    uint32_t channel[RESULTS];
    double sampling[RESULTS], from[RESULTS], to[RESULTS];
    double cycles, conversion, latency, stale, finished;
} converter;

struct parts;

int converter_armed(const converter *c);
void converter_start(struct parts *l, int32_t number, double at);
void converter_trigger(struct parts *l, int32_t number, double at);
void converter_ask(const struct parts *l, const converter *c);
void converter_act(struct parts *l, converter *c);
int converter_read(const converter *c, uint32_t word, uint64_t *value);
int converter_write(struct parts *l, converter *c, uint32_t word,
                    uint32_t value);

#endif
