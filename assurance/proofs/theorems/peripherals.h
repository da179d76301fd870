/* Variables in place of the chip's peripherals, and replacements for functions
 * of the chip that wait.
 *
 * Each peripheral is one object, so an access to a register that does not exist
 * is out of bounds. In a proof with the option `registers`, the source files of
 * the chip read any value, different at each read. The proof itself reads the
 * value that these source files wrote last. This file redefines a macro of
 * ft_registers.h, for which the preprocessor only warns. A proof that defines
 * OWN_WAITS, OWN_CLOCK or OWN_INTERRUPTS has its own replacements for these
 * functions. */
#ifndef PERIPHERALS_H
#define PERIPHERALS_H

#include "proof.h"

#include "ft_registers.h"

static uint32_t told_last;

/* Return the value of a register that is read. */
static uint32_t told(void)
{
    told_last = nondet_u32();
    return told_last;
}

enum { AT_PORTS = 9, AT_TIMERS = 21, AT_USARTS = 7, AT_ROM = 8 };

static RCC_TypeDef at_rcc;
static FLASH_TypeDef at_flash;
static PWR_TypeDef at_pwr;
static EXTI_TypeDef at_exti;
static DBGMCU_TypeDef at_dbgmcu;
static IWDG_TypeDef at_iwdg;
static SysTick_Type at_systick;
static SCB_Type at_scb;
static DWT_Type at_dwt;
static GPIO_TypeDef at_gpio[AT_PORTS];
static TIM_TypeDef at_timer[AT_TIMERS]; /* by timer number */
static USART_TypeDef at_usart[AT_USARTS];
static ADC_TypeDef at_adc[3];
static DMA_TypeDef at_dma[3];
static volatile uint32_t at_demcr, at_adc_clock, at_timer_input;
static volatile uint32_t at_iser[8], at_ispr[8];
static volatile uint8_t at_priority[240];
static uint8_t at_unique[12];
static uint32_t at_rom[AT_ROM];

#define RCC (&at_rcc)
#define FLASH (&at_flash)
#define PWR (&at_pwr)
#define EXTI (&at_exti)
#define DBGMCU (&at_dbgmcu)
#define IWDG (&at_iwdg)
#define SysTick (&at_systick)
#define SCB (&at_scb)
#define DWT (&at_dwt)
#define DEMCR at_demcr
#define NVIC_ISER at_iser
#define NVIC_ISPR at_ispr
#define NVIC_IPR at_priority
#define GPIO(port) (&at_gpio[port])
#define ADC1 (&at_adc[1])
#define ADC2 (&at_adc[2])
#define DMA1 (&at_dma[1])
#define DMA2 (&at_dma[2])
#define UID_BASE at_unique
#define SYSTEM_MEMORY_BASE at_rom

#define TIM1 (&at_timer[1])
#define TIM2 (&at_timer[2])
#define TIM3 (&at_timer[3])
#define TIM4 (&at_timer[4])
#define TIM5 (&at_timer[5])
#define TIM8 (&at_timer[8])
#define TIM9 (&at_timer[9])
#define TIM10 (&at_timer[10])
#define TIM11 (&at_timer[11])
#define TIM12 (&at_timer[12])
#define TIM13 (&at_timer[13])
#define TIM14 (&at_timer[14])
#define TIM15 (&at_timer[15])
#define TIM16 (&at_timer[16])
#define TIM20 (&at_timer[20])

#define USART1 (&at_usart[1])
#define USART2 (&at_usart[2])
#define USART3 (&at_usart[3])
#define UART4 (&at_usart[4])
#define USART6 (&at_usart[6])
#define LPUART1 (&at_usart[0])

#ifdef CAN1 /* peripherals of the STM32F4 */

static CAN_TypeDef at_can[2];
static SPI_TypeDef at_spi;

#define CAN1 (&at_can[0])
#define CAN2 (&at_can[1])
#define SPI3 (&at_spi)
#define ADC_CCR at_adc_clock
#define TIM5_OR at_timer_input

#else /* peripherals of the STM32G4 */

static SYSCFG_TypeDef at_syscfg;
static DMAMUX_TypeDef at_dmamux;

/* The distances between the addresses are those of the chip, so the address of
 * a controller gives the address of its memory. */
static struct {
    uint8_t before[0x400];
    struct {
        FDCAN_TypeDef can;
        uint8_t after[0x400 - sizeof(FDCAN_TypeDef)];
    } of[3];
} at_fdcan;
static FDCAN_Memory_TypeDef at_messages_1, at_messages_2, at_messages_3;

#define SYSCFG (&at_syscfg)
#define DMAMUX1 (&at_dmamux)
#define FDCAN1 (&at_fdcan.of[0].can)
#define FDCAN2 (&at_fdcan.of[1].can)
#define FDCAN3 (&at_fdcan.of[2].can)

/* Return the memory of a controller, found by the controller's address. */
#define FDCAN_MEMORY at_messages(c->can, index); return &at_messages_1
static FDCAN_Memory_TypeDef *at_messages(const FDCAN_TypeDef *can,
                                         uint32_t index)
{
    CLAIM(index >= 1u && index <= 3u && can == &at_fdcan.of[index - 1u].can);
    return can == FDCAN1   ? &at_messages_1
           : can == FDCAN2 ? &at_messages_2
                           : &at_messages_3;
}

#define ADC12_CCR at_adc_clock
#define TIM16_TISEL at_timer_input

#endif

#include "ft_board.h"
#include "ft_chip.h"
#include "ft_parts.h"

#ifndef OWN_WAITS
bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    CLAIM(__CPROVER_r_ok((const uint32_t *)reg, sizeof *reg));
    CLAIM(mask != 0u && (value & ~mask) == 0u);
    return nondet_bool();
}
#endif

void ft_wait_us(uint32_t us) { CLAIM(us < UINT32_MAX / FT_CLOCK_MHZ); }

#ifndef OWN_CLOCK
bool ft_clock_good(void) { return nondet_bool(); }
#endif

#ifndef OWN_INTERRUPTS
void ft_interrupt_enable(uint32_t number, uint32_t priority)
{
    CLAIM(number < FT_VECTOR_COUNT && priority < 16u);
}
#endif

#endif
