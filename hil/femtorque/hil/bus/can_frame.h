/* CAN frames and their bits. */
#ifndef CAN_FRAME_H
#define CAN_FRAME_H

#include <stdint.h>

#define DATA 64
#define LEVELS 800 /* more bits than the longest frame */

/* A frame, as hil/bus/frame.py describes it. */
typedef struct {
    uint32_t id;
    int32_t size, extended, remote, fd, fast, passive;
    uint8_t data[DATA];
} can_frame;

/* Bit values from the start of frame to the CRC delimiter. Bits from `begins`
 * to `ends` have the rate of the data phase. */
typedef struct {
    int32_t count, begins, ends;
    uint8_t levels[LEVELS];
} can_image;

uint32_t can_code(const can_frame *f);
int32_t can_size(uint32_t code);
uint32_t can_arbitration(const can_frame *f);
void can_draw(const can_frame *f, can_image *p);
int32_t can_difference(const can_image *a, const can_image *b);
double can_seconds(const can_image *p, int32_t count, double bit,
                   double data_bit);
double can_length(const can_image *p, double bit, double data_bit);

#endif
