/* Processor in the loop; see ft_chip.h. SysTick interrupts FT_WAKES times per
 * tick, so the main loop checks the link often. The host's message pends
 * SysTick, and the tick runs as on a board with a real plant. */
#include "ft_board.h" /* FT_PIL, FT_WAKES */
#include "ft_parts.h"
#include "ft_registers.h"

#if FT_PIL

#include "ft_chip.h"   /* ft_chip_safe, ft_chip_outputs_enabled */
#include "ft_config.h" /* FT_HOST_LOST */
#include "ft_model.h"  /* FT_JOINTS */

#define FT_PATIENCE (FT_HOST_LOST * FT_WAKES) /* wakes without a SENSE */

static struct {
    int32_t counts[FT_JOINTS]; /* since the plant began */
    int32_t read[FT_JOINTS];   /* part that ticks have read */
    float duty[FT_JOINTS];
    volatile bool present;     /* a plant is connected by SENSE */
    volatile bool granted;     /* a tick is due but has not run yet */
    volatile uint32_t waited;  /* SysTick interrupts since the last SENSE */
} ft_pil;

/* The first counts of a new plant cause no movement. */
void ft_pil_sense(const int32_t counts[], bool for_next_tick)
{
    bool known = ft_pil.present;
    ft_pil.waited = 0;
    ft_pil.present = true;
    for (uint32_t i = 0; i < FT_JOINTS; i++) {
        ft_pil.counts[i] = counts[i];
        if (!known)
            ft_pil.read[i] = counts[i];
    }
    if (!for_next_tick)
        return;
    ft_pil.granted = true;
    SCB->ICSR = SCB_ICSR_PENDSTSET;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
}

bool ft_pil_driven(float duty[])
{
    for (uint32_t i = 0; i < FT_JOINTS; i++)
        duty[i] = ft_pil.duty[i];
    return ft_chip_outputs_enabled();
}

void ft_pil_forget(void)
{
    ft_pil.waited = FT_PATIENCE;
}

/* End the simulation: outputs off, and the timer runs the ticks. */
static bool ft_pil_alone(void)
{
    if (ft_pil.present)
        ft_chip_safe();
    ft_pil.present = false;
    return ft_pil.waited % FT_WAKES == 0u;
}

bool ft_pil_due(void)
{
    if (ft_pil.granted) {
        ft_pil.granted = false;
        return true;
    }
    ft_pil.waited++;
    if (ft_pil.present && ft_pil.waited <= FT_PATIENCE)
        return false;
    return ft_pil_alone();
}

int32_t ft_pil_moved(uint32_t joint)
{
    uint32_t counts = (uint32_t)ft_pil.counts[joint];
    uint32_t moved = counts - (uint32_t)ft_pil.read[joint];
    ft_pil.read[joint] = (int32_t)counts;
    return (int32_t)moved;
}

void ft_pil_duty(uint32_t joint, float duty)
{
    ft_pil.duty[joint] = duty;
}

void ft_pil_neutral(void)
{
    for (uint32_t i = 0; i < FT_JOINTS; i++)
        ft_pil.duty[i] = 0.0f;
}

#endif
