/* Registers of the STM32G474, as far as this firmware uses them. Names, offsets
 * and bits follow ST's reference manual RM0440. */
#ifndef FT_REGISTERS_H
#define FT_REGISTERS_H

#include "stm32_registers.h" /* registers common to all families and core */

/* ---- Reset and clock control, RM0440 section 7 -------------------------- */

typedef struct {
    volatile uint32_t CR, ICSCR, CFGR, PLLCFGR;
    RESERVED(0x10, 0x14);
    volatile uint32_t CIER, CIFR, CICR;
    RESERVED(0x24, 0x24);
    volatile uint32_t AHB1RSTR, AHB2RSTR, AHB3RSTR;
    RESERVED(0x34, 0x34);
    volatile uint32_t APB1RSTR1, APB1RSTR2, APB2RSTR;
    RESERVED(0x44, 0x44);
    volatile uint32_t AHB1ENR, AHB2ENR, AHB3ENR;
    RESERVED(0x54, 0x54);
    volatile uint32_t APB1ENR1, APB1ENR2, APB2ENR;
    RESERVED(0x64, 0x84);
    volatile uint32_t CCIPR;
    RESERVED(0x8C, 0x90);
    volatile uint32_t CSR;
} RCC_TypeDef;
#define RCC ((RCC_TypeDef *)0x40021000u)

#define RCC_CR_HSION (1u << 8)
#define RCC_CR_HSIRDY (1u << 10)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_CSSON (1u << 19)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)

#define RCC_CFGR_SW_HSI (1u << 0)
#define RCC_CFGR_SW_HSE (2u << 0)
#define RCC_CFGR_SW_PLL (3u << 0)
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_HSI (1u << 2)
#define RCC_CFGR_SWS_HSE (2u << 2)
#define RCC_CFGR_SWS_PLL (3u << 2)
#define RCC_CFGR_HPRE_DIV2 (8u << 4)

#define RCC_PLLCFGR_PLLSRC_HSE (3u << 0)
#define RCC_PLLCFGR_PLLM_Pos 4u
#define RCC_PLLCFGR_PLLN_Pos 8u
#define RCC_PLLCFGR_PLLREN (1u << 24)
#define RCC_PLLCFGR_PLLR_Pos 25u

#define RCC_CIFR_CSSF (1u << 8)

#define RCC_AHB1ENR_DMA1EN (1u << 0)
#define RCC_AHB1ENR_DMA2EN (1u << 1)
#define RCC_AHB1ENR_DMAMUX1EN (1u << 2)
#define RCC_AHB2ENR_ADC12EN (1u << 13)
#define RCC_APB1ENR1_TIM2EN (1u << 0)
#define RCC_APB1ENR1_TIM3EN (1u << 1)
#define RCC_APB1ENR1_TIM4EN (1u << 2)
#define RCC_APB1ENR1_TIM5EN (1u << 3)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_USART3EN (1u << 18)
#define RCC_APB1ENR1_FDCANEN (1u << 25)
#define RCC_APB1ENR1_PWREN (1u << 28)
#define RCC_APB1ENR2_LPUART1EN (1u << 0)
#define RCC_APB2ENR_SYSCFGEN (1u << 0)
#define RCC_APB2ENR_TIM1EN (1u << 11)
#define RCC_APB2ENR_TIM8EN (1u << 13)
#define RCC_APB2ENR_USART1EN (1u << 14)
#define RCC_APB2ENR_TIM15EN (1u << 16)
#define RCC_APB2ENR_TIM16EN (1u << 17)
#define RCC_APB2ENR_TIM20EN (1u << 20)

#define RCC_CCIPR_FDCANSEL (3u << 24)
#define RCC_CCIPR_FDCANSEL_PCLK1 (2u << 24)

#define RCC_CSR_LSION (1u << 0)
#define RCC_CSR_LSIRDY (1u << 1)
#define RCC_CSR_RMVF (1u << 23)
#define RCC_CSR_PINRSTF (1u << 26)
#define RCC_CSR_BORRSTF (1u << 27)
#define RCC_CSR_SFTRSTF (1u << 28)
#define RCC_CSR_IWDGRSTF (1u << 29)
#define RCC_CSR_WWDGRSTF (1u << 30)

/* ---- Flash interface, section 3, and power control, section 6 ----------- */

typedef struct {
    volatile uint32_t ACR;
    RESERVED(0x04, 0x1C);
    volatile uint32_t OPTR;
} FLASH_TypeDef;
#define FLASH ((FLASH_TypeDef *)0x40022000u)
#define FT_OPTIONS (FLASH->OPTR)

#define FLASH_ACR_LATENCY_4WS (4u << 0)
#define FLASH_ACR_LATENCY (0xFu << 0)
#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_ICEN (1u << 9)
#define FLASH_ACR_DCEN (1u << 10)
#define FLASH_ACR_DBG_SWEN (1u << 18) /* 0 switches SWD off */

typedef struct {
    volatile uint32_t CR1, CR2, CR3, CR4, SR1, SR2;
    RESERVED(0x18, 0x7C);
    volatile uint32_t CR5;
} PWR_TypeDef;
#define PWR ((PWR_TypeDef *)0x40007000u)

#define PWR_CR2_PVDE (1u << 0)
#define PWR_CR2_PLS_6 (6u << 1)
#define PWR_CR3_UCPD1_DBDIS (1u << 14)
#define PWR_CR5_R1MODE (1u << 8)
#define PWR_SR2_PVDO (1u << 11)

/* Voltage detector, whose addresses differ between families. */
#define PWR_ENR (RCC->APB1ENR1)
#define PWR_ENR_PWREN RCC_APB1ENR1_PWREN
#define PWR_PVD_CR (PWR->CR2)
#define PWR_PVD_SR (PWR->SR2)
#define PWR_PVD_PVDE PWR_CR2_PVDE
#define PWR_PVD_PLS_2V9 PWR_CR2_PLS_6
#define PWR_PVD_PVDO PWR_SR2_PVDO

/* ---- External interrupts, section 15, system, section 10 ---------------- */

typedef struct {
    volatile uint32_t IMR1, EMR1, RTSR1, FTSR1, SWIER1, PR1;
} EXTI_TypeDef;
#define EXTI ((EXTI_TypeDef *)0x40010400u)

#define EXTI_IMR (EXTI->IMR1)
#define EXTI_RTSR (EXTI->RTSR1)
#define EXTI_PR (EXTI->PR1)
#define EXTI_LINE_PVD (1u << 16)

typedef struct {
    volatile uint32_t MEMRMP, CFGR1, EXTICR[4], SCSR, CFGR2;
} SYSCFG_TypeDef;
#define SYSCFG ((SYSCFG_TypeDef *)0x40010000u)

#define SYSCFG_CFGR2_CLL (1u << 0)  /* a core lock-up acts on break inputs */
#define SYSCFG_CFGR2_PVDL (1u << 2) /* the detector acts on break inputs */

/* ---- Debug unit, section 47. Only loss of power resets it. -------------- */

typedef struct {
    volatile uint32_t IDCODE, CR, APB1FZR1, APB1FZR2, APB2FZ;
} DBGMCU_TypeDef;
#define DBGMCU ((DBGMCU_TypeDef *)0xE0042000u)

#define DBGMCU_CR_DBG_SLEEP (1u << 0)
#define DBGMCU_APB1FZR1_DBG_IWDG_STOP (1u << 12)
#define DBGMCU_WATCHDOG (DBGMCU->APB1FZR1)
#define DBGMCU_WATCHDOG_STOP DBGMCU_APB1FZR1_DBG_IWDG_STOP
#define DBGMCU_APB2FZ_DBG_TIM1_STOP (1u << 11)
#define DBGMCU_APB2FZ_DBG_TIM8_STOP (1u << 13)
#define DBGMCU_APB2FZ_DBG_TIM15_STOP (1u << 16)
#define DBGMCU_APB2FZ_DBG_TIM20_STOP (1u << 20)

/* ---- General-purpose pins, section 9 ------------------------------------ */

/* Clock enables of the ports, which are numbered from A. */
#define FT_PORT_ENR (RCC->AHB2ENR)
#define GPIO(port) ((GPIO_TypeDef *)(0x48000000u + 0x400u * (port)))

/* ---- Timers ------------------------------------------------------------- */

/* Sections 28 (TIM1, TIM8, TIM20), 29 (TIM2 to TIM5), 30 (TIM15). */

#define TIM1 ((TIM_TypeDef *)0x40012C00u)
#define TIM2 ((TIM_TypeDef *)0x40000000u)
#define TIM3 ((TIM_TypeDef *)0x40000400u)
#define TIM4 ((TIM_TypeDef *)0x40000800u)
#define TIM5 ((TIM_TypeDef *)0x40000C00u)
#define TIM8 ((TIM_TypeDef *)0x40013400u)
#define TIM15 ((TIM_TypeDef *)0x40014000u)
#define TIM16 ((TIM_TypeDef *)0x40014400u)
#define TIM20 ((TIM_TypeDef *)0x40015000u)

/* A break input must have the same level in six samples at an eighth of the
 * timer's clock: 0.28 us. */
#define TIM_BDTR_BKF_Pos 16u
#define FT_BREAK_FILTER (8u << TIM_BDTR_BKF_Pos)

/* LSI drives channel 1 of TIM16, which captures every eighth edge. */
#define TIM16_TISEL (*(volatile uint32_t *)0x4001445Cu)
#define FT_LSI_TIMER TIM16
#define FT_LSI_TIMER_ENR (RCC->APB2ENR)
#define FT_LSI_TIMER_RSTR (RCC->APB2RSTR)
#define FT_LSI_TIMER_BIT RCC_APB2ENR_TIM16EN /* TIM16RST too */
#define FT_LSI_TIMER_SELECT TIM16_TISEL
#define FT_LSI_TIMER_LSI (6u << 0) /* TI1SEL */
#define FT_LSI_TIMER_CCMR (TIM16->CCMR1)
#define FT_LSI_TIMER_MODE (TIM_CCMR1_CC1S_TI1 | TIM_CCMR1_IC1PSC_DIV8)
#define FT_LSI_TIMER_CCE TIM_CCER_CC1E
#define FT_LSI_TIMER_FLAG TIM_SR_CC1IF
#define FT_LSI_TIMER_CCR (TIM16->CCR[0])
#define FT_LSI_TIMER_RANGE 0xFFFFu

/* ---- USART, section 37, and LPUART, section 38 -------------------------- */

typedef struct {
    volatile uint32_t CR1, CR2, CR3, BRR;
    RESERVED(0x10, 0x18);
    volatile uint32_t ISR, ICR, RDR, TDR;
} USART_TypeDef;
#define USART1 ((USART_TypeDef *)0x40013800u)
#define USART2 ((USART_TypeDef *)0x40004400u)
#define USART3 ((USART_TypeDef *)0x40004800u)
#define LPUART1 ((USART_TypeDef *)0x40008000u)

#define USART_CR1_UE (1u << 0)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_CR1_IDLEIE (1u << 4)
#define USART_CR1_DEDT_Pos 16u
#define USART_CR1_DEAT_Pos 21u
#define USART_CR3_EIE (1u << 0)
#define USART_CR3_HDSEL (1u << 3)
#define USART_CR3_DMAR (1u << 6)
#define USART_CR3_DMAT (1u << 7)
#define USART_CR3_DEM (1u << 14)
/* ISR and ICR; ICR clears the same bits */
#define USART_ISR_PE (1u << 0)
#define USART_ISR_FE (1u << 1)
#define USART_ISR_NE (1u << 2)
#define USART_ISR_ORE (1u << 3)
#define USART_ISR_IDLE (1u << 4)

/* ---- Analogue-to-digital converter, section 21 -------------------------- */

typedef struct {
    volatile uint32_t ISR, IER, CR, CFGR, CFGR2, SMPR1, SMPR2;
    RESERVED(0x1C, 0x48);
    volatile uint32_t JSQR;
    RESERVED(0x50, 0x7C);
    volatile uint32_t JDR[4];
} ADC_TypeDef;
#define ADC1 ((ADC_TypeDef *)0x50000000u)
#define ADC2 ((ADC_TypeDef *)0x50000100u)
#define ADC12_CCR (*(volatile uint32_t *)0x50000308u)

#define ADC_ISR_ADRDY (1u << 0)
#define ADC_ISR_JEOC (1u << 5)
#define ADC_ISR_JEOS (1u << 6)
#define ADC_IER_JEOSIE (1u << 6)
#define ADC_CR_ADEN (1u << 0)
#define ADC_CR_JADSTART (1u << 3)
#define ADC_CR_ADVREGEN (1u << 28)
#define ADC_CR_ADCAL (1u << 31)
#define ADC_JSQR_JL_Pos 0u
#define ADC_JSQR_JEXTEN_RISING (1u << 7)
#define ADC_JSQR_JSQ1_Pos 9u
#define ADC_SMPR_24_CYCLES 3u
#define ADC_SMPR_92_CYCLES 5u
#define ADC_CCR_CKMODE_DIV4 (3u << 16)

/* ---- Controller area network with flexible data rate, section 44 -------- */

typedef struct {
    RESERVED(0x00, 0x08);
    volatile uint32_t DBTP;
    RESERVED(0x10, 0x14);
    volatile uint32_t CCCR, NBTP;
    RESERVED(0x20, 0x3C);
    volatile uint32_t ECR, PSR, TDCR;
    RESERVED(0x4C, 0x4C);
    volatile uint32_t IR, IE, ILS, ILE;
    RESERVED(0x60, 0x7C);
    volatile uint32_t RXGFC;
    RESERVED(0x84, 0x8C);
    volatile uint32_t RXF0S, RXF0A;
    RESERVED(0x98, 0xBC);
    volatile uint32_t TXBC, TXFQS, TXBRP, TXBAR, TXBCR;
    RESERVED(0xD4, 0xD8);
    volatile uint32_t TXBTIE, TXBCIE;
} FDCAN_TypeDef;
#define FDCAN1 ((FDCAN_TypeDef *)0x40006400u)
#define FDCAN2 ((FDCAN_TypeDef *)0x40006800u)
#define FDCAN3 ((FDCAN_TypeDef *)0x40006C00u)

/* A controller's message memory, accessed in words. */
typedef struct {
    volatile uint32_t ID, DLC, DATA[16];
} FDCAN_Element_TypeDef;
typedef struct {
    volatile uint32_t FILTERS[44];
    FDCAN_Element_TypeDef R0[3], R1[3];
    volatile uint32_t EVENTS[6];
    FDCAN_Element_TypeDef T[3];
} FDCAN_Memory_TypeDef;
#define FDCAN_MEMORY ((FDCAN_Memory_TypeDef *)0x4000A400u) /* one each */
#define FDCAN_MEMORY_WORDS 212u

#define FDCAN_DBTP_DSJW_Pos 0u
#define FDCAN_DBTP_DTSEG2_Pos 4u
#define FDCAN_DBTP_DTSEG1_Pos 8u
#define FDCAN_DBTP_DBRP_Pos 16u
#define FDCAN_DBTP_TDC (1u << 23)
#define FDCAN_CCCR_INIT (1u << 0)
#define FDCAN_CCCR_CCE (1u << 1)
#define FDCAN_CCCR_FDOE (1u << 8)
#define FDCAN_CCCR_BRSE (1u << 9)
#define FDCAN_NBTP_NTSEG2_Pos 0u
#define FDCAN_NBTP_NTSEG1_Pos 8u
#define FDCAN_NBTP_NBRP_Pos 16u
#define FDCAN_NBTP_NSJW_Pos 25u
#define FDCAN_ECR_TEC_Pos 0u
#define FDCAN_ECR_REC_Pos 8u
#define FDCAN_ECR_RP (1u << 15)
#define FDCAN_PSR_ACT (3u << 3)
#define FDCAN_PSR_BO (1u << 7)
#define FDCAN_TDCR_TDCO_Pos 8u
#define FDCAN_IR_RF0N (1u << 0)
#define FDCAN_IR_RF0L (1u << 2)
#define FDCAN_IR_TC (1u << 7)
#define FDCAN_IR_TCF (1u << 8)
#define FDCAN_IE_RF0NE (1u << 0)
#define FDCAN_IE_TCE (1u << 7)
#define FDCAN_IE_TCFE (1u << 8)
#define FDCAN_ILE_EINT0 (1u << 0)
#define FDCAN_RXF0S_F0FL (15u << 0)
#define FDCAN_RXF0S_F0GI_Pos 8u
#define FDCAN_TXBC_TFQM (1u << 24)
#define FDCAN_TXFQS_TFQPI_Pos 16u
#define FDCAN_TXFQS_TFQF (1u << 21)
/* of an element */
#define FDCAN_ID_RTR (1u << 29)
#define FDCAN_ID_XTD (1u << 30)
#define FDCAN_ID_STD_Pos 18u
#define FDCAN_DLC_Pos 16u
#define FDCAN_DLC_BRS (1u << 20)
#define FDCAN_DLC_FDF (1u << 21)

/* ---- DMA, section 12, and its request multiplexer, section 13 ----------- */

/* Each channel has four flags. DMA2's channels follow those of DMA1. */

typedef struct {
    volatile uint32_t CCR, CNDTR, CPAR, CMAR;
    RESERVED(0x10, 0x10);
} DMA_Channel_TypeDef;
typedef struct {
    volatile uint32_t ISR, IFCR;
    DMA_Channel_TypeDef C[8];
} DMA_TypeDef;
#define DMA1 ((DMA_TypeDef *)0x40020000u)
#define DMA2 ((DMA_TypeDef *)0x40020400u)

#define DMA_CCR_EN (1u << 0)
#define DMA_CCR_DIR_TO_PERIPHERAL (1u << 4)
#define DMA_CCR_CIRC (1u << 5)
#define DMA_CCR_MINC (1u << 7)
#define DMA_CCR_PL_HIGH (2u << 12)
#define DMA_ALL_FLAGS 0xFu /* TEIF HTIF TCIF GIF of a channel */

typedef struct {
    volatile uint32_t CCR[16];
} DMAMUX_TypeDef;
#define DMAMUX1 ((DMAMUX_TypeDef *)0x40020800u)

/* ---- Data that ST wrote into every chip: RM0440 section 48.1 ------------- */

#define UID_BASE 0x1FFF7590u /* 96 bits */
#define SYSTEM_MEMORY_BASE 0x1FFF0000u /* boot loader */

#endif
