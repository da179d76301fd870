/* A DRV8301, modelled on its data sheet (SLOS719). The driver is in C because
 * current loops read two drivers in each tick. */
#include "drv8301.h"

#define FAULT (1u << 10)      /* of status register 1 */
#define DEVICE_ID 1u          /* in status register 2 */
#define GATE_RESET (1u << 2)  /* of control 1: clears latched faults */
#define READS (1u << 15)      /* of a frame */
#define DATA 0x7FFu
#define UNDER_VOLTAGE 5.9 /* maximum voltage of PVDD, V */
#define WAKE_S 10e-3
#define FALLING 1u /* SPI mode: data are valid on the falling edge */

/* Return true if the SPI of the driver responds. */
int drv8301_awake(const drv8301 *d, double seconds)
{
    return d->volts >= UNDER_VOLTAGE && d->enabled &&
           seconds - d->since >= WAKE_S && !d->deaf;
}

/* Clear latched faults. */
void drv8301_let_go(drv8301 *d)
{
    d->over_current = 0;
    d->shut = 0;
    d->octw = 0;
}

/* Read status register 1, and clear the faults that are not latched. */
static uint32_t status_1(drv8301 *d)
{
    uint32_t bits = d->under | d->over_current | (d->shut ? FAULT : 0u);
    d->under = 0;
    if (!d->shut)
        d->over_current = 0;
    return bits;
}

static uint32_t read_register(drv8301 *d, uint32_t address)
{
    if (address == STATUS_1)
        return status_1(d);
    if (address == STATUS_2)
        return DEVICE_ID;
    return address < DRV8301_REGISTERS ? d->registers[address] : 0u;
}

static void write_register(drv8301 *d, uint32_t address, uint32_t data)
{
    if (address != CONTROL_1 && address != CONTROL_2)
        return;
    d->registers[address] = address == CONTROL_1 ? data & ~GATE_RESET : data;
    if (address == CONTROL_1 && (data & GATE_RESET) != 0)
        drv8301_let_go(d);
}

/* Receive a frame. Return the answer that belongs to the previous frame. */
uint32_t drv8301_exchange(drv8301 *d, double seconds, uint32_t word,
                          uint32_t mode)
{
    uint32_t answer = d->answer, address = word >> 11 & 15u;
    if (!drv8301_awake(d, seconds) || mode != FALLING)
        return 0;
    if ((word & READS) != 0) {
        d->answer = address << 11 | read_register(d, address);
        return answer;
    }
    d->answer = 0;
    write_register(d, address, word & DATA);
    return answer;
}
