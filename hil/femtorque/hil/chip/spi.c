/* An SPI master of RM0090 section 28, with frames of 16 bits. The slave's
 * answer arrives during the frame. */
#include "parts.h"

#define MASTER 0x0B44u /* CR1.DFF, SSM, SSI, SPE, MSTR: bits that must be set */
#define MODE 3u        /* CR1.CPOL, CPHA */
#define RECEIVED 1u    /* SR.RXNE */
#define EMPTY 2u       /* SR.TXE */
#define BUSY 0x80u     /* SR.BSY */

static int busy(const parts *l, const spi *s)
{
    return (double)l->count->now < s->done;
}

/* Read a register. Return 0 if Python must handle the read. */
int spi_read(const parts *l, spi *s, uint32_t word, uint64_t *value)
{
    if (word == SPI_DATA) {
        s->unread = 0;
        *value = s->received;
        return 1;
    }
    *value = EMPTY | (busy(l, s) ? BUSY : s->unread ? RECEIVED : 0u);
    return word == SPI_STATUS;
}

/* Write a register. Return 0 if Python must handle the write, because the SPI
 * is busy or not a 16-bit master. */
int spi_write(parts *l, spi *s, uint32_t word, uint32_t value)
{
    uint32_t control = s->words[SPI_CONTROL];
    int32_t number = (int32_t)(s - l->spis), answer = -1;
    if (word != SPI_DATA || (control & MASTER) != MASTER || busy(l, s))
        return 0;
    if (s->cycles == 0.0)
        parts_ask(l, SPI_CLOCK, number, 0.0);
    s->done = (double)l->count->now +
              16.0 * (double)(2u << (control >> 3 & 7u)) * s->cycles;
    if (l->exchange != 0)
        answer = l->exchange(l->board, value & 0xFFFFu, control & MODE);
    if (answer < 0)
        answer = (int32_t)parts_ask(l, SPI_EXCHANGE, number,
                                    (double)(value & 0xFFFFu));
    s->received = (uint32_t)answer;
    s->unread = 1;
    return 1;
}
