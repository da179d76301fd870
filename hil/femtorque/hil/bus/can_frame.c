/* CAN frames as in ISO 11898-1:2015. Bit value 0 is dominant, and 1 is
 * recessive. Section 10.4 defines the fields and their order. Section 10.5
 * defines bit stuffing: after five equal bits the sender inserts a bit of the
 * opposite value. Bit stuffing begins at the start of frame. Bit stuffing ends
 * with the CRC field of a classic frame, or with the data field of an FD frame.
 * The CRC field of an FD frame has fixed stuff bits: one before the field and
 * one after each fourth bit. If the last five bits of the data field are equal,
 * the fixed stuff bit replaces the dynamic stuff bit. The bit rate changes at
 * the sample points of the BRS bit and the CRC delimiter (Bosch, CAN FD
 * Specification 1.0, 3.3). Together these two bits take as long as one bit of
 * each rate. */
#include "can_frame.h"

#define TAIL 10       /* CRC delimiter to end of frame, bits */
#define CRC15 0x4599u /* generator polynomial without its leading coefficient */
#define RUN 5         /* bits alike */

/* A frame whose bits are being generated. run: number of equal bits at the end
 * so far. open: a stuff bit is due before the next bit. */
typedef struct {
    can_image *image;
    int32_t run, open;
    uint32_t crc;
} pen;

/* Bytes by DLC, table 5. */
static const int32_t sizes[] = {0, 1, 2,  3,  4,  5,  6,  7,
                                8, 12, 16, 20, 24, 32, 48, 64};

/* Return the DLC of a frame. */
uint32_t can_code(const can_frame *f)
{
    uint32_t code = 0;
    while (code < 15u && sizes[code] < f->size)
        code++;
    return code;
}

/* Return the bytes of a frame with a DLC. */
int32_t can_size(uint32_t code)
{
    return sizes[code & 15u];
}

/* Return the arbitration field as an integer (10.4.2.2). The node with the
 * lowest number wins the arbitration. */
uint32_t can_arbitration(const can_frame *f)
{
    uint32_t ask = f->remote ? 1u : 0u;
    if (!f->extended)
        return f->id << 21 | ask << 20;
    return f->id >> 18 << 21 | 3u << 19 | (f->id & 0x3FFFFu) << 1 | ask;
}

static void level(pen *p, uint32_t bit)
{
    can_image *image = p->image;
    int32_t n = image->count;
    p->run = n > 0 && image->levels[n - 1] == bit ? p->run + 1 : 1;
    image->levels[image->count++] = (uint8_t)bit;
}

/* Insert a stuff bit if a stuff bit is due. */
static void stuff(pen *p)
{
    if (!p->open)
        return;
    p->open = 0;
    level(p, p->image->levels[p->image->count - 1] ^ 1u);
}

/* Append the lowest `count` bits of a number, most significant bit first. */
static void bits(pen *p, uint32_t number, int32_t count)
{
    while (count-- > 0) {
        uint32_t bit = number >> count & 1u;
        stuff(p);
        level(p, bit);
        p->open = p->run == RUN;
        p->crc = (p->crc << 1 ^ ((p->crc >> 14 ^ bit) & 1u ? CRC15 : 0u)) &
                 0x7FFFu;
    }
}

/* Generate the start of frame and the arbitration field. */
static void begin(pen *p, const can_frame *f)
{
    bits(p, 0, 1);
    if (f->extended) {
        bits(p, f->id >> 18, 11);
        bits(p, 3, 2);
        bits(p, f->id & 0x3FFFFu, 18);
        bits(p, f->remote != 0, 1);
    } else {
        bits(p, f->id, 11);
        bits(p, f->remote != 0, 1);
        bits(p, 0, 1);
    }
}

static void data(pen *p, const can_frame *f)
{
    int32_t i;
    for (i = 0; i < f->size; i++)
        bits(p, f->data[i], 8);
}

static void classic(pen *p, const can_frame *f)
{
    bits(p, 0, f->extended ? 2 : 1); /* reserved */
    bits(p, can_code(f), 4);
    if (!f->remote)
        data(p, f);
    bits(p, p->crc, 15);
    stuff(p);
}

/* Draw an FD frame. Outside its fixed stuff bits the CRC field is zero, because
 * no code here reads the CRC. */
static void flexible(pen *p, const can_frame *f)
{
    can_image *image = p->image;
    int32_t check = 4 + (f->size <= 16 ? 17 : 21), i; /* 10.4.2.6 */
    bits(p, 2, 2);                                    /* FDF, reserved */
    bits(p, f->fast != 0, 1);                         /* BRS */
    image->begins = image->count + p->open;
    bits(p, f->passive != 0, 1);
    bits(p, can_code(f), 4);
    data(p, f);
    for (i = 0; i < check; i++) {
        if (i % 4 == 0)
            image->levels[image->count++] = 1;
        image->levels[image->count++] = 0;
    }
    image->ends = image->count;
    if (!f->fast)
        image->begins = image->ends = 0;
}

void can_draw(const can_frame *f, can_image *image)
{
    pen p = {image, 0, 0, 0};
    image->count = image->begins = image->ends = 0;
    begin(&p, f);
    if (f->fd)
        flexible(&p, f);
    else
        classic(&p, f);
}

/* Return n + 1, where n is the number of leading bits that are equal in two
 * frames. Return 0 if the frames are equal. */
int32_t can_difference(const can_image *a, const can_image *b)
{
    int32_t least = a->count < b->count ? a->count : b->count, at = 0;
    while (at < least && a->levels[at] == b->levels[at])
        at++;
    return at == a->count && at == b->count ? 0 : at + 1;
}

/* Return the duration of the first `count` bits, s. */
double can_seconds(const can_image *p, int32_t count, double bit,
                   double data_bit)
{
    int32_t quick = count > p->begins ? count - p->begins : 0;
    if (quick > p->ends - p->begins)
        quick = p->ends - p->begins;
    return (double)(count - quick) * bit + (double)quick * data_bit;
}

/* Return the duration of a whole frame without the intermission, s. */
double can_length(const can_image *p, double bit, double data_bit)
{
    double quick = p->ends ? data_bit - bit : 0.0; /* BRS and the delimiter */
    return can_seconds(p, p->count, bit, data_bit) + quick + TAIL * bit;
}
