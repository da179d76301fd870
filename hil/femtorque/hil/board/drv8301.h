/* The SPI that connects DRV8301 gate drivers. */
#ifndef DRV8301_H
#define DRV8301_H

#include <stdint.h>

enum { STATUS_1, STATUS_2, CONTROL_1, CONTROL_2, DRV8301_REGISTERS };

/* hil/board/drv8301.py describes a driver. registers: only the control
 * registers are used. since: time from which the driver wakes up, or has been
 * asleep, s. under: bits of status 1, kept until the chip reads them. shut: the
 * driver has latched a fault. octw: nOCTW is low. deaf: the driver does not
 * answer. */
typedef struct {
    uint32_t registers[DRV8301_REGISTERS];
    int32_t enabled, deaf, shut, octw;
    uint32_t under, over_current, answer;
    double since, volts;
} drv8301;

int drv8301_awake(const drv8301 *d, double seconds);
void drv8301_let_go(drv8301 *d);
uint32_t drv8301_exchange(drv8301 *d, double seconds, uint32_t word,
                          uint32_t mode);

#endif
