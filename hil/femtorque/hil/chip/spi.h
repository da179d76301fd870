/* An SPI master. */
#ifndef SPI_H
#define SPI_H

#include <stdint.h>

#define SPI_WORDS 4 /* registers */

/* hil/chip/stm32/spi.py describes a master. cycles: processor cycles per clock
 * of the peripheral bus; 0 while unknown. done: cycle at which the frame ends.
 * received: the slave's answer. unread: software has not read the answer
 * yet. */
typedef struct {
    uint32_t words[SPI_WORDS];
    double cycles, done;
    uint32_t received;
    int32_t unread;
} spi;

enum { SPI_CONTROL, SPI_STATUS = 2, SPI_DATA }; /* numbers of registers */

struct parts;

int spi_read(const struct parts *l, spi *s, uint32_t word, uint64_t *value);
int spi_write(struct parts *l, spi *s, uint32_t word, uint32_t value);

#endif
