/* Bus controllers, ft_can.c of each chip family. The controllers' registers
 * contain any value. */
#include "proof.h"

#include "peripherals.h"

#include <string.h>

/* A controller's memory is cleared by words. Four represent all words. */
#ifdef FDCAN_MEMORY_WORDS
enum { MEMORY_WORDS = FDCAN_MEMORY_WORDS };
#undef FDCAN_MEMORY_WORDS
#define FDCAN_MEMORY_WORDS 4u
#endif

#include "ft_can.c"

static void asked(uint32_t bus)
{
    ft_frame f;

    ANYTHING(f);
    switch (nondet_u8() % 5u) {
    case 0:
        (void)ft_can_start(bus);
        break;
    case 1:
        ft_can_acknowledge(bus);
        ft_can_abort(bus);
        ft_can_recover(bus, nondet_bool());
        (void)ft_can_overrun(bus);
        (void)ft_can_off(bus);
        break;
    case 2:
        CLAIM(ft_can_waiting(bus) <= 3u && ft_can_errors(bus) <= 0xFFFFu);
        break;
    case 3:
        (void)ft_can_put(bus, &f);
        break;
    default:
        if (ft_can_get(bus, &f)) {
            CLAIM(f.size <= (FT_FRAME_BYTES > 8u ? 64u : 15u));
            CLAIM((f.id & FT_FRAME_LONG) != 0u
                      ? (f.id & 0x20000000u) == 0u
                      : (f.id & ~FT_FRAME_REMOTE) <= 0x7FFu);
        }
    }
}

/* For any register values, different at each read, a controller is started,
 * read and written without a run-time error, and each wait for it ends. The
 * size of a frame from the controller fits into four bits. If frames may have
 * more than 8 bytes, the size is at most 64. The identifier has only the bits
 * that an identifier can have.
 * Run: unwind=17 registers mechanisms=can:robomaster,can:three,can:fd,can:long */
void prove_can_asked(void)
{
    const uint32_t which = nondet_u32();
    uint32_t bus;

#ifdef FDCAN_MEMORY_WORDS
    CLAIM(sizeof(FDCAN_Memory_TypeDef) == 4u * MEMORY_WORDS);
#endif
    for (bus = 0; bus < FT_BUS_COUNT; bus++)
        if (bus == which)
            asked(bus);
    END;
}

/* A frame is written to at most one mailbox, which the controller has just
 * reported as empty. Every word is written before the transmission request. No
 * frame is written if the controller reports no free mailbox. No other mailbox
 * changes.
 * Run: unwind=17 registers mechanisms=can:robomaster,can:three,can:fd,can:long */
void prove_can_room(void)
{
    const uint32_t which = nondet_u32(), i = below(3u);
    uint32_t bus;
    bool put = false, full = false, other = true;
    ft_frame f;

    ANYTHING(f);
    GIVEN(f.size <= FT_FRAME_BYTES);
    for (bus = 0; bus < FT_BUS_COUNT; bus++) {
        if (bus != which)
            continue;
#ifdef CAN1
        {
            CAN_TypeDef *can = ft_can_table[bus].can;
            CAN_Box_TypeDef was;

            ANYTHING(at_can);
            was = can->T[i];
            put = ft_can_put(bus, &f);
            full = (told_last & 7u * CAN_TSR_TME0) == 0u;
            other = can->T[i].IR == was.IR && can->T[i].DTR == was.DTR
                    && can->T[i].DLR == was.DLR && can->T[i].DHR == was.DHR;
            CLAIM(other || (told_last & CAN_TSR_TME0 << i) != 0u);
            CLAIM(other || (can->T[i].DTR == f.size
                            && (can->T[i].IR & CAN_TI0R_TXRQ) != 0u));
        }
#else
        {
            const ft_can *c = &ft_can_table[bus];
            FDCAN_Memory_TypeDef *memory = ft_can_memory(c);
            FDCAN_Element_TypeDef was;
            uint32_t box, last = FT_WORDS - 1;

            c->can->TXBAR = 0;
            ANYTHING(*memory);
            was = memory->T[i];
            put = ft_can_put(bus, &f);
            full = (told_last & FDCAN_TXFQS_TFQF) != 0u;
            box = told_last >> FDCAN_TXFQS_TFQPI_Pos & 3u;
            other = memory->T[i].ID == was.ID && memory->T[i].DLC == was.DLC
                    && memory->T[i].DATA[0] == was.DATA[0]
                    && memory->T[i].DATA[last] == was.DATA[last];
            CLAIM(other || (put && i == box));
            CLAIM(c->can->TXBAR == (put ? 1u << box : 0u));
            CLAIM(!put || box < 3u);
        }
#endif
        CLAIM(!put || !full);
        CLAIM(put || other);
    }
    END;
}
