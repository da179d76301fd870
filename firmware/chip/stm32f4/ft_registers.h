/* Registers of the STM32F405, as far as this firmware uses them. Names, offsets
 * and bits follow ST's reference manual RM0090. */
#ifndef FT_REGISTERS_H
#define FT_REGISTERS_H

#include "stm32_registers.h" /* registers common to all families and core */

/* ---- Reset and clock control, RM0090 section 7 -------------------------- */

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

#define RCC_CFGR_SW_HSE (1u << 0)
#define RCC_CFGR_SW_PLL (2u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_HSE (1u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_PPRE1_DIV4 (5u << 10)
#define RCC_CFGR_PPRE2_DIV2 (4u << 13)

#define RCC_CIR_CSSF (1u << 7)

#define RCC_AHB1ENR_DMA1EN (1u << 21)
#define RCC_AHB1ENR_DMA2EN (1u << 22)
#define RCC_APB1ENR_TIM2EN (1u << 0)
#define RCC_APB1ENR_TIM3EN (1u << 1)
#define RCC_APB1ENR_TIM4EN (1u << 2)
#define RCC_APB1ENR_TIM5EN (1u << 3)
#define RCC_APB1ENR_TIM12EN (1u << 6)
#define RCC_APB1ENR_TIM13EN (1u << 7)
#define RCC_APB1ENR_TIM14EN (1u << 8)
#define RCC_APB1ENR_SPI3EN (1u << 15)
#define RCC_APB1ENR_USART2EN (1u << 17)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_UART4EN (1u << 19)
#define RCC_APB1ENR_CAN1EN (1u << 25)
#define RCC_APB1ENR_CAN2EN (1u << 26)
#define RCC_APB1ENR_PWREN (1u << 28)
#define RCC_APB2ENR_TIM1EN (1u << 0)
#define RCC_APB2ENR_TIM8EN (1u << 1)
#define RCC_APB2ENR_USART1EN (1u << 4)
#define RCC_APB2ENR_USART6EN (1u << 5)
#define RCC_APB2ENR_ADC1EN (1u << 8)
#define RCC_APB2ENR_ADC2EN (1u << 9)
#define RCC_APB2ENR_TIM9EN (1u << 16)
#define RCC_APB2ENR_TIM10EN (1u << 17)
#define RCC_APB2ENR_TIM11EN (1u << 18)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_CSR_RMVF (1u << 24)
#define RCC_CSR_BORRSTF (1u << 25)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_PORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)
#define RCC_CSR_WWDGRSTF (1u << 30)

/* ---- Flash interface, section 3, and power control, section 5 ----------- */

typedef struct {
    volatile uint32_t ACR;
    RESERVED(0x04, 0x10);
    volatile uint32_t OPTCR;
} FLASH_TypeDef;
#define FLASH ((FLASH_TypeDef *)0x40023C00u)
#define FT_OPTIONS (FLASH->OPTCR)

#define FLASH_ACR_LATENCY_5WS (5u << 0)
#define FLASH_ACR_LATENCY (7u << 0)
#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_ICEN (1u << 9)
#define FLASH_ACR_DCEN (1u << 10)

typedef struct {
    volatile uint32_t CR, CSR;
} PWR_TypeDef;
#define PWR ((PWR_TypeDef *)0x40007000u)

#define PWR_CR_PVDE (1u << 4)
#define PWR_CR_PLS_6 (6u << 5)
#define PWR_CR_VOS (1u << 14)
#define PWR_CSR_PVDO (1u << 2)

/* Voltage detector, whose addresses differ between families. */
#define PWR_ENR (RCC->APB1ENR)
#define PWR_ENR_PWREN RCC_APB1ENR_PWREN
#define PWR_PVD_CR (PWR->CR)
#define PWR_PVD_SR (PWR->CSR)
#define PWR_PVD_PVDE PWR_CR_PVDE
#define PWR_PVD_PLS_2V9 PWR_CR_PLS_6
#define PWR_PVD_PVDO PWR_CSR_PVDO

/* ---- External interrupts, section 12 ------------------------------------ */

typedef struct {
    volatile uint32_t IMR, EMR, RTSR, FTSR, SWIER, PR;
} EXTI_TypeDef;
#define EXTI ((EXTI_TypeDef *)0x40013C00u)

#define EXTI_IMR (EXTI->IMR)
#define EXTI_RTSR (EXTI->RTSR)
#define EXTI_PR (EXTI->PR)
#define EXTI_LINE_PVD (1u << 16)

/* ---- Debug unit, section 38. Only loss of power resets it. -------------- */

typedef struct {
    volatile uint32_t IDCODE, CR, APB1FZ, APB2FZ;
} DBGMCU_TypeDef;
#define DBGMCU ((DBGMCU_TypeDef *)0xE0042000u)

#define DBGMCU_CR_DBG_SLEEP (1u << 0)
#define DBGMCU_APB1FZ_DBG_IWDG_STOP (1u << 12)
#define DBGMCU_WATCHDOG (DBGMCU->APB1FZ)
#define DBGMCU_WATCHDOG_STOP DBGMCU_APB1FZ_DBG_IWDG_STOP
#define DBGMCU_APB2FZ_DBG_TIM1_STOP (1u << 0)
#define DBGMCU_APB2FZ_DBG_TIM8_STOP (1u << 1)

/* ---- General-purpose pins, section 8 ------------------------------------ */

/* Clock enables of the ports, which are numbered from A. */
#define FT_PORT_ENR (RCC->AHB1ENR)
#define GPIO(port) ((GPIO_TypeDef *)(0x40020000u + 0x400u * (port)))

/* ---- Timers ------------------------------------------------------------- */

/* Sections 17 (TIM1, TIM8), 18 (TIM2 to TIM5), 19 (TIM9 to TIM14). */

#define TIM1 ((TIM_TypeDef *)0x40010000u)
#define TIM2 ((TIM_TypeDef *)0x40000000u)
#define TIM3 ((TIM_TypeDef *)0x40000400u)
#define TIM4 ((TIM_TypeDef *)0x40000800u)
#define TIM5 ((TIM_TypeDef *)0x40000C00u)
#define TIM8 ((TIM_TypeDef *)0x40010400u)
#define TIM9 ((TIM_TypeDef *)0x40014000u)
#define TIM10 ((TIM_TypeDef *)0x40014400u)
#define TIM11 ((TIM_TypeDef *)0x40014800u)
#define TIM12 ((TIM_TypeDef *)0x40001800u)
#define TIM13 ((TIM_TypeDef *)0x40001C00u)
#define TIM14 ((TIM_TypeDef *)0x40002000u)

#define FT_BREAK_FILTER 0u /* this family cannot filter break inputs */

/* LSI drives channel 4 of TIM5, which captures every eighth edge. */
#define TIM5_OR (*(volatile uint32_t *)0x40000C50u)
#define FT_LSI_TIMER TIM5
#define FT_LSI_TIMER_ENR (RCC->APB1ENR)
#define FT_LSI_TIMER_RSTR (RCC->APB1RSTR)
#define FT_LSI_TIMER_BIT RCC_APB1ENR_TIM5EN /* TIM5RST too */
#define FT_LSI_TIMER_SELECT TIM5_OR
#define FT_LSI_TIMER_LSI (1u << 6) /* TI4_RMP */
#define FT_LSI_TIMER_CCMR (TIM5->CCMR2)
#define FT_LSI_TIMER_MODE (TIM_CCMR2_CC4S_TI4 | TIM_CCMR2_IC4PSC_DIV8)
#define FT_LSI_TIMER_CCE TIM_CCER_CC4E
#define FT_LSI_TIMER_FLAG TIM_SR_CC4IF
#define FT_LSI_TIMER_CCR (TIM5->CCR[3])
#define FT_LSI_TIMER_RANGE 0xFFFFFFFFu

/* ---- USART, section 30 -------------------------------------------------- */

typedef struct {
    volatile uint32_t SR, DR, BRR, CR1, CR2, CR3;
} USART_TypeDef;
#define USART1 ((USART_TypeDef *)0x40011000u)
#define USART2 ((USART_TypeDef *)0x40004400u)
#define USART3 ((USART_TypeDef *)0x40004800u)
#define UART4 ((USART_TypeDef *)0x40004C00u)
#define USART6 ((USART_TypeDef *)0x40011400u)

#define USART_SR_PE (1u << 0)
#define USART_SR_FE (1u << 1)
#define USART_SR_NF (1u << 2)
#define USART_SR_ORE (1u << 3)
#define USART_SR_IDLE (1u << 4)
#define USART_SR_RXNE (1u << 5)
#define USART_SR_TXE (1u << 7)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_IDLEIE (1u << 4)
#define USART_CR1_UE (1u << 13)
#define USART_CR3_EIE (1u << 0)
#define USART_CR3_HDSEL (1u << 3)
#define USART_CR3_DMAR (1u << 6)
#define USART_CR3_DMAT (1u << 7)

/* ---- Analogue-to-digital converter, section 13 -------------------------- */

typedef struct {
    volatile uint32_t SR, CR1, CR2, SMPR1, SMPR2;
    RESERVED(0x14, 0x34);
    volatile uint32_t JSQR, JDR[4];
} ADC_TypeDef;
#define ADC1 ((ADC_TypeDef *)0x40012000u)
#define ADC2 ((ADC_TypeDef *)0x40012100u)
#define ADC_CCR (*(volatile uint32_t *)0x40012304u)

#define ADC_SR_JEOC (1u << 2)
#define ADC_SR_FLAGS 0x3Fu /* writing 0 clears one */
#define ADC_CR1_JEOCIE (1u << 7)
#define ADC_CR1_SCAN (1u << 8)
#define ADC_CR2_ADON (1u << 0)
#define ADC_CR2_JEXTSEL_TIM1_TRGO (1u << 16)
#define ADC_CR2_JEXTEN_RISING (1u << 20)
#define ADC_CR2_JSWSTART (1u << 22)
#define ADC_JSQR_JL_Pos 20u
#define ADC_SMPR_15_CYCLES 1u
#define ADC_SMPR_84_CYCLES 4u
#define ADC_CCR_ADCPRE (3u << 16)
#define ADC_CCR_DIV4 (1u << 16) /* ADCPRE: of APB2 */

/* ---- SPI, section 28 ---------------------------------------------------- */

typedef struct {
    volatile uint32_t CR1, CR2, SR, DR;
} SPI_TypeDef;
#define SPI3 ((SPI_TypeDef *)0x40003C00u)

#define SPI_CR1_CPHA (1u << 0)
#define SPI_CR1_MSTR (1u << 2)
#define SPI_CR1_BR_DIV16 (3u << 3)
#define SPI_CR1_SPE (1u << 6)
#define SPI_CR1_SSI (1u << 8)
#define SPI_CR1_SSM (1u << 9)
#define SPI_CR1_DFF (1u << 11)
#define SPI_SR_RXNE (1u << 0)
#define SPI_SR_BSY (1u << 7)

/* ---- Controller area network, section 32. All filters are CAN1's. ------- */

typedef struct {
    volatile uint32_t IR, DTR, DLR, DHR;
} CAN_Box_TypeDef;
typedef struct {
    volatile uint32_t MCR, MSR, TSR, RFR[2], IER, ESR, BTR;
    RESERVED(0x20, 0x17C);
    CAN_Box_TypeDef T[3], R[2]; /* transmit mailboxes, oldest received frame */
    RESERVED(0x1D0, 0x1FC);
    volatile uint32_t FMR, FM1R;
    RESERVED(0x208, 0x208);
    volatile uint32_t FS1R;
    RESERVED(0x210, 0x210);
    volatile uint32_t FFA1R;
    RESERVED(0x218, 0x218);
    volatile uint32_t FA1R;
    RESERVED(0x220, 0x23C);
    volatile uint32_t FR[56]; /* two a filter */
} CAN_TypeDef;
#define CAN1 ((CAN_TypeDef *)0x40006400u)
#define CAN2 ((CAN_TypeDef *)0x40006800u)

#define CAN_MCR_INRQ (1u << 0)
#define CAN_MCR_TXFP (1u << 2)
#define CAN_MCR_DBF (1u << 16)
#define CAN_MSR_INAK (1u << 0)
#define CAN_MSR_SLAK (1u << 1)
#define CAN_TSR_RQCP0 (1u << 0)
#define CAN_TSR_ABRQ0 (1u << 7)
#define CAN_TSR_RQCP1 (1u << 8)
#define CAN_TSR_ABRQ1 (1u << 15)
#define CAN_TSR_RQCP2 (1u << 16)
#define CAN_TSR_ABRQ2 (1u << 23)
#define CAN_TSR_TME0 (1u << 26)
#define CAN_RFR_FMP (3u << 0)
#define CAN_RFR_FULL (1u << 3)
#define CAN_RFR_FOVR (1u << 4)
#define CAN_RFR_RFOM (1u << 5)
#define CAN_IER_TMEIE (1u << 0)
#define CAN_IER_FMPIE0 (1u << 1)
#define CAN_ESR_BOFF (1u << 2)
#define CAN_ESR_TEC_Pos 16u
#define CAN_ESR_REC_Pos 24u
#define CAN_BTR_BRP_Pos 0u
#define CAN_BTR_TS1_Pos 16u
#define CAN_BTR_TS2_Pos 20u
#define CAN_BTR_SJW_Pos 24u
#define CAN_FMR_FINIT (1u << 0)
/* of a mailbox */
#define CAN_TI0R_TXRQ (1u << 0)
#define CAN_TI0R_RTR (1u << 1)
#define CAN_TI0R_IDE (1u << 2)
#define CAN_TI0R_EXID_Pos 3u
#define CAN_TI0R_STID_Pos 21u

/* ---- DMA, section 10 ---------------------------------------------------- */

/* Flags and clear bits: streams 0 to 3 in index 0, 4 to 7 in index 1. */

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

/* ---- Data that ST wrote into every chip: RM0090 section 39.1 ------------- */

#define UID_BASE 0x1FFF7A10u /* 96 bits */
#define SYSTEM_MEMORY_BASE 0x1FFF0000u /* boot loader */

#endif
