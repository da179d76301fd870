/* Registers that the STM32 families share and that this firmware uses, and the
 * Cortex-M4's. Names, offsets and bits: ST's manuals RM0090 and RM0440, ARM's
 * ARMv7-M architecture manual. ft_registers.h of each family has the
 * addresses. */
#ifndef STM32_REGISTERS_H
#define STM32_REGISTERS_H

#include <stdint.h>

#define RESERVED(first, last) \
    const uint32_t reserved_##first[((last) - (first)) / 4 + 1]

/* ---- General-purpose pins: RM0090 section 8, RM0440 section 9 ----------- */

typedef struct {
    volatile uint32_t MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR;
    volatile uint32_t AFR[2];
} GPIO_TypeDef;

/* ---- Timers: RM0090 sections 17 to 19, RM0440 sections 28 to 30 --------- */

typedef struct {
    volatile uint32_t CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT,
        PSC, ARR, RCR, CCR[4], BDTR;
} TIM_TypeDef;

#define TIM_CR1_CEN (1u << 0)
#define TIM_CR1_DIR (1u << 4)
#define TIM_CR1_CMS_MODE_1 (1u << 5) /* counts up and down, CMS mode 1 */
#define TIM_CR1_ARPE (1u << 7)
#define TIM_SMCR_SMS_ENCODER3 (3u << 0)
#define TIM_CR2_MMS_UPDATE (2u << 4) /* every update is sent as trigger */
#define TIM_SR_UIF (1u << 0)
#define TIM_SR_CC1IF (1u << 1)
#define TIM_SR_CC4IF (1u << 4)
#define TIM_SR_BIF (1u << 7)
#define TIM_SR_FLAGS 0x1EFFu /* of TIM1 and TIM8; a written 0 clears */
#define TIM_EGR_UG (1u << 0)
#define TIM_CCMR1_CC1S_TI1 (1u << 0)
#define TIM_CCMR1_IC1PSC_DIV8 (3u << 2)
#define TIM_CCMR1_IC1F_Pos 4u
#define TIM_CCMR1_CC2S_TI2 (1u << 8)
#define TIM_CCMR1_IC2F_Pos 12u
#define TIM_CCMR2_CC4S_TI4 (1u << 8)
#define TIM_CCMR2_IC4PSC_DIV8 (3u << 10)
/* One output's byte of CCMRx: OCxPE, OCxM. */
#define TIM_CCMR_OC_PRELOAD (1u << 3)
#define TIM_CCMR_OC_FORCED_LOW (4u << 4)
#define TIM_CCMR_OC_PWM1 (6u << 4)
#define TIM_CCMR_OC_PWM2 (7u << 4)
#define TIM_CCER_CC1E (1u << 0)
#define TIM_CCER_CC1NE (1u << 2)
#define TIM_CCER_CC4E (1u << 12)
#define TIM_BDTR_LOCK_3 (3u << 8)
#define TIM_BDTR_OSSI (1u << 10)
#define TIM_BDTR_OSSR (1u << 11)
#define TIM_BDTR_BKE (1u << 12)
#define TIM_BDTR_MOE (1u << 15)

/* ---- Independent watchdog: RM0090 section 21, RM0440 section 43 --------- */

typedef struct {
    volatile uint32_t KR, PR, RLR, SR;
} IWDG_TypeDef;
#define IWDG ((IWDG_TypeDef *)0x40003000u)

#define IWDG_KR_UNLOCK 0x5555u
#define IWDG_KR_START 0xCCCCu
#define IWDG_KR_FEED 0xAAAAu

/* ---- Core: SysTick, system control block, FPU, cycle counter ------------ */

typedef struct {
    volatile uint32_t CTRL, LOAD, VAL;
} SysTick_Type;
#define SysTick ((SysTick_Type *)0xE000E010u)

#define SysTick_CTRL_ENABLE (1u << 0)
#define SysTick_CTRL_TICKINT (1u << 1)
#define SysTick_CTRL_CLKSOURCE (1u << 2) /* the processor's clock */

typedef struct {
    volatile uint32_t CPUID, ICSR, VTOR, AIRCR, SCR, CCR, SHPR[3], SHCSR, CFSR,
        HFSR, DFSR, MMFAR, BFAR;
    RESERVED(0x3C, 0x84);
    volatile uint32_t CPACR;
} SCB_Type;
#define SCB ((SCB_Type *)0xE000ED00u)

#define SCB_ICSR_VECTACTIVE 0x1FFu
#define SCB_ICSR_PENDSVSET (1u << 28)
#define SCB_ICSR_PENDSTSET (1u << 26)
#define SCB_AIRCR_VECTKEY (0x05FAu << 16)
#define SCB_AIRCR_SYSRESETREQ (1u << 2)
#define SCB_CCR_DIV_0_TRP (1u << 4)
#define SCB_SHPR3_PENDSV_Pos 16u
#define SCB_SHPR3_SYSTICK_Pos 24u
#define SCB_SHCSR_MEMFAULTENA (1u << 16)
#define SCB_SHCSR_BUSFAULTENA (1u << 17)
#define SCB_SHCSR_USGFAULTENA (1u << 18)
#define SCB_CPACR_CP10_CP11 (0xFu << 20)

/* Interrupt `n` is bit n % 32 of ISER[n / 32] and byte n of the priorities. */
#define NVIC_ISER ((volatile uint32_t *)0xE000E100u)
#define NVIC_ISPR ((volatile uint32_t *)0xE000E200u)
#define NVIC_IPR ((volatile uint8_t *)0xE000E400u)

typedef struct {
    volatile uint32_t CTRL, CYCCNT;
} DWT_Type;
#define DWT ((DWT_Type *)0xE0001000u)
#define DWT_CTRL_CYCCNTENA (1u << 0)

#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)

#endif
