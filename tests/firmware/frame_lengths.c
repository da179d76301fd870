/* Runs the G4's ft_can.c on variables instead of registers: sends one frame, or
 * receives one frame. */
#include "ft_registers.h"

/* Bits 10 and 11 of a controller's address select the controller's part of the
 * memory. */
static union {
    FDCAN_TypeDef can;
    uint8_t all[1024];
} at[4] __attribute__((aligned(4096)));
static FDCAN_Memory_TypeDef at_memory[3];
#define at_can at[1].can
#undef FDCAN1
#undef FDCAN_MEMORY
#define FDCAN1 (&at_can)
#define FDCAN_MEMORY at_memory

#include "ft_can_c.h"
#include "driver_alone.h"

/* Send a frame. Copy the frame's data to 64 bytes, and return the second word
 * of the frame in the message memory. */
uint32_t sent(uint32_t size, const uint8_t *data, uint8_t *bytes)
{
    FDCAN_Element_TypeDef *to = &ft_can_memory(&ft_can_table[0])->T[0];
    ft_frame f;

    at_can.TXFQS = 0;
    memset((void *)to, 0, sizeof *to);
    f.id = 5;
    f.size = size;
    memcpy(f.data, data, sizeof f.data);
    if (!ft_can_put(0, &f))
        return UINT32_MAX;
    memcpy(bytes, (const void *)to->DATA, 64);
    return to->DLC;
}

/* Receive a frame from memory. Copy its data, and return its size. */
uint32_t came(uint32_t control, const uint8_t *bytes, uint8_t *data)
{
    FDCAN_Element_TypeDef *from = &ft_can_memory(&ft_can_table[0])->R0[0];
    ft_frame f;

    at_can.RXF0S = 1;
    from->DLC = control;
    memcpy((void *)from->DATA, bytes, 64);
    if (!ft_can_get(0, &f))
        return UINT32_MAX;
    memcpy(data, f.data, sizeof f.data);
    return f.size;
}
