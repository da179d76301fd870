/* Registers of the STM32F405 that this firmware uses, and no others.
 * Names, offsets and bits as in ST's reference manual RM0090 and, for the
 * core, ARM's ARMv7-M architecture manual. */
#ifndef STM32F4_REGISTERS_H
#define STM32F4_REGISTERS_H

#include <stdint.h>

#define RESERVED(first, last) \
    const uint32_t reserved_##first[((last) - (first)) / 4 + 1]

/****************************************************************
 * Reset and clock control, RM0090 section 7
 ****************************************************************/

typedef struct {
    volatile uint32_t CR, PLLCFGR, CFGR, CIR;
    volatile uint32_t AHB1RSTR, AHB2RSTR, AHB3RSTR;
    RESERVED(0x1C, 0x1C);
    volatile uint32_t APB1RSTR, APB2RSTR;
    RESERVED(0x28, 0x2C);
    volatile uint32_t AHB1ENR, AHB2ENR, AHB3ENR;
    RESERVED(0x3C, 0x3C);
    volatile uint32_t APB1ENR, APB2ENR;
    RESERVED(0x48, 0x70);
    volatile uint32_t CSR;
} RCC_TypeDef;
#define RCC ((RCC_TypeDef *)0x40023800u)

#define RCC_CR_HSION (1u << 0)
#define RCC_CR_HSIRDY (1u << 1)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_CSSON (1u << 19)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)

#define RCC_PLLCFGR_PLLM_Pos 0u
#define RCC_PLLCFGR_PLLN_Pos 6u
#define RCC_PLLCFGR_PLLP_Pos 16u
#define RCC_PLLCFGR_PLLSRC_HSE (1u << 22)
#define RCC_PLLCFGR_PLLQ_Pos 24u

#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_PPRE1_DIV4 (5u << 10)
#define RCC_CFGR_PPRE2_DIV2 (4u << 13)

#define RCC_AHB1ENR_DMA1EN (1u << 21)
#define RCC_AHB1ENR_DMA2EN (1u << 22)
#define RCC_APB1ENR_TIM2EN (1u << 0)
#define RCC_APB1ENR_TIM3EN (1u << 1)
#define RCC_APB1ENR_TIM4EN (1u << 2)
#define RCC_APB1ENR_TIM5EN (1u << 3)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_APB2ENR_TIM1EN (1u << 0)
#define RCC_APB2ENR_TIM8EN (1u << 1)
#define RCC_APB2ENR_USART1EN (1u << 4)
#define RCC_APB2ENR_USART6EN (1u << 5)

#define RCC_CSR_RMVF (1u << 24)
#define RCC_CSR_BORRSTF (1u << 25)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)
#define RCC_CSR_WWDGRSTF (1u << 30)

/****************************************************************
 * Flash interface, section 3, and power control, section 5
 ****************************************************************/

typedef struct {
    volatile uint32_t ACR;
} FLASH_TypeDef;
#define FLASH ((FLASH_TypeDef *)0x40023C00u)

#define FLASH_ACR_LATENCY_5WS (5u << 0)
#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_ICEN (1u << 9)
#define FLASH_ACR_DCEN (1u << 10)

typedef struct {
    volatile uint32_t CR;
} PWR_TypeDef;
#define PWR ((PWR_TypeDef *)0x40007000u)

#define PWR_CR_VOS (1u << 14)

/****************************************************************
 * General-purpose pins, section 8
 ****************************************************************/

typedef struct {
    volatile uint32_t MODER, OTYPER, OSPEEDR, PUPDR, IDR, ODR, BSRR, LCKR;
    volatile uint32_t AFR[2];
} GPIO_TypeDef;
#define GPIO(port) ((GPIO_TypeDef *)(0x40020000u + 0x400u * (port)))

/****************************************************************
 * Timers, sections 17 (TIM1, TIM8) and 18 (TIM2 to TIM5)
 ****************************************************************/

typedef struct {
    volatile uint32_t CR1, CR2, SMCR, DIER, SR, EGR, CCMR1, CCMR2, CCER, CNT,
        PSC, ARR, RCR, CCR[4], BDTR;
} TIM_TypeDef;
#define TIM1 ((TIM_TypeDef *)0x40010000u)
#define TIM2 ((TIM_TypeDef *)0x40000000u)
#define TIM3 ((TIM_TypeDef *)0x40000400u)
#define TIM4 ((TIM_TypeDef *)0x40000800u)
#define TIM5 ((TIM_TypeDef *)0x40000C00u)
#define TIM8 ((TIM_TypeDef *)0x40010400u)

#define TIM_CR1_CEN (1u << 0)
#define TIM_CR1_CMS_1 (1u << 5)
#define TIM_CR1_ARPE (1u << 7)
#define TIM_SMCR_SMS_ENCODER3 (3u << 0)
#define TIM_SR_UIF (1u << 0)
#define TIM_SR_BIF (1u << 7)
#define TIM_EGR_UG (1u << 0)
#define TIM_CCMR1_CC1S_TI1 (1u << 0)
#define TIM_CCMR1_IC1F_Pos 4u
#define TIM_CCMR1_CC2S_TI2 (1u << 8)
#define TIM_CCMR1_IC2F_Pos 12u
#define TIM_CCMR_OC_PRELOAD_PWM1 (1u << 3 | 6u << 4) /* OCxPE, OCxM */
#define TIM_BDTR_LOCK_3 (3u << 8)
#define TIM_BDTR_OSSI (1u << 10)
#define TIM_BDTR_OSSR (1u << 11)
#define TIM_BDTR_BKE (1u << 12)
#define TIM_BDTR_MOE (1u << 15)

/****************************************************************
 * USART, section 30
 ****************************************************************/

typedef struct {
    volatile uint32_t SR, DR, BRR, CR1, CR2, CR3;
} USART_TypeDef;
#define USART1 ((USART_TypeDef *)0x40011000u)
#define USART2 ((USART_TypeDef *)0x40004400u)
#define USART3 ((USART_TypeDef *)0x40004800u)
#define USART6 ((USART_TypeDef *)0x40011400u)

#define USART_SR_PE (1u << 0)
#define USART_SR_FE (1u << 1)
#define USART_SR_NF (1u << 2)
#define USART_SR_ORE (1u << 3)
#define USART_SR_RXNE (1u << 5)
#define USART_SR_TXE (1u << 7)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_UE (1u << 13)
#define USART_CR3_DMAR (1u << 6)
#define USART_CR3_DMAT (1u << 7)

/****************************************************************
 * DMA, section 10. Flags and their clear bits: streams 0 to 3 in index 0,
 * 4 to 7 in index 1, at the same places.
 ****************************************************************/

typedef struct {
    volatile uint32_t CR, NDTR, PAR, M0AR, M1AR, FCR;
} DMA_Stream_TypeDef;
typedef struct {
    volatile uint32_t ISR[2], IFCR[2]; /* LISR HISR LIFCR HIFCR */
    DMA_Stream_TypeDef S[8];
} DMA_TypeDef;
#define DMA1 ((DMA_TypeDef *)0x40026000u)
#define DMA2 ((DMA_TypeDef *)0x40026400u)

#define DMA_SxCR_EN (1u << 0)
#define DMA_SxCR_DIR_TO_PERIPHERAL (1u << 6)
#define DMA_SxCR_CIRC (1u << 8)
#define DMA_SxCR_MINC (1u << 10)
#define DMA_SxCR_PL_HIGH (2u << 16)
#define DMA_SxCR_CHSEL_Pos 25u
#define DMA_ALL_FLAGS 0x3Du /* FEIF DMEIF TEIF HTIF TCIF of a stream */

/****************************************************************
 * Independent watchdog, section 21
 ****************************************************************/

typedef struct {
    volatile uint32_t KR, PR, RLR, SR;
} IWDG_TypeDef;
#define IWDG ((IWDG_TypeDef *)0x40003000u)

#define IWDG_KR_UNLOCK 0x5555u
#define IWDG_KR_START 0xCCCCu
#define IWDG_KR_FEED 0xAAAAu

/****************************************************************
 * Core: SysTick, system control block, FPU, cycle counter
 ****************************************************************/

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
#define SCB_ICSR_PENDSTSET (1u << 26)
#define SCB_AIRCR_VECTKEY (0x05FAu << 16)
#define SCB_AIRCR_SYSRESETREQ (1u << 2)
#define SCB_CCR_DIV_0_TRP (1u << 4)
#define SCB_SHPR3_SYSTICK_Pos 24u
#define SCB_SHCSR_MEMFAULTENA (1u << 16)
#define SCB_SHCSR_BUSFAULTENA (1u << 17)
#define SCB_SHCSR_USGFAULTENA (1u << 18)
#define SCB_CPACR_CP10_CP11 (0xFu << 20)

typedef struct {
    volatile uint32_t CTRL, CYCCNT;
} DWT_Type;
#define DWT ((DWT_Type *)0xE0001000u)
#define DWT_CTRL_CYCCNTENA (1u << 0)

#define DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)

#endif
