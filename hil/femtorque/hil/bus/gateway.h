/* A gateway between an adapter and an external program. */
#ifndef GATEWAY_H
#define GATEWAY_H

#include "adapter.h"

#define LINE 138     /* characters of the longest line without its end */
#define SAID 131072  /* bytes for the program that wait at most */

/* line: the begun line of the program, with `used` characters. lost: the line
 * is too long. said: `size` bytes for the program. */
typedef struct {
    adapter *adapter;
    int32_t used, lost, size;
    uint8_t line[LINE], said[SAID];
} gateway;

void gateway_begin(gateway *g, adapter *a);
int32_t gateway_take(gateway *g, const uint8_t *data, int32_t size);
int32_t gateway_line(const can_frame *f, uint8_t *line);
int32_t gateway_frame(const uint8_t *line, int32_t size, can_frame *f);

#endif
