/* Common part of all programs: the clock at full speed, SysTick, the list of
 * reports. ST's start-up file calls SystemInit and main. */
#include "judge.h"

#define KEPT __attribute__((section(".noinit"))) /* over a reset */

enum { BEGUN = 0x5EED0F57 };
judged reports[256] KEPT;
volatile uint32_t report_count KEPT, over;
static uint32_t begun KEPT;

void report(const char *what, uint32_t found, uint32_t low, uint32_t high)
{
    reports[report_count] = (judged){ what, found, low, high };
    report_count++;
}

uint32_t cycles(void)
{
    return DWT->CYCCNT;
}

void wait_us(uint32_t us)
{
    uint32_t since = cycles();
    while (cycles() - since < us * (SystemCoreClock / 1000000u)) {
    }
}

void SysTick_Handler(void)
{
    HAL_IncTick();
}

void __libc_init_array(void)
{
}

#ifdef STM32G474xx

/* 170 MHz of a crystal of 24 MHz. */
static void full_speed(void)
{
    RCC_OscInitTypeDef osc = { 0 };
    RCC_ClkInitTypeDef clk = { 0 };
    __HAL_RCC_SYSCFG_CLK_ENABLE();
    __HAL_RCC_PWR_CLK_ENABLE();
    EXPECT("regulator with boost",
           HAL_PWREx_ControlVoltageScaling(PWR_REGULATOR_VOLTAGE_SCALE1_BOOST),
           HAL_OK);
    osc.OscillatorType = RCC_OSCILLATORTYPE_HSE;
    osc.HSEState = RCC_HSE_ON;
    osc.PLL.PLLState = RCC_PLL_ON;
    osc.PLL.PLLSource = RCC_PLLSOURCE_HSE;
    osc.PLL.PLLM = RCC_PLLM_DIV6;
    osc.PLL.PLLN = 85;
    osc.PLL.PLLP = RCC_PLLP_DIV2;
    osc.PLL.PLLQ = RCC_PLLQ_DIV2;
    osc.PLL.PLLR = RCC_PLLR_DIV2;
    EXPECT("oscillators", HAL_RCC_OscConfig(&osc), HAL_OK);
    clk.ClockType = RCC_CLOCKTYPE_HCLK | RCC_CLOCKTYPE_SYSCLK |
                    RCC_CLOCKTYPE_PCLK1 | RCC_CLOCKTYPE_PCLK2;
    clk.SYSCLKSource = RCC_SYSCLKSOURCE_PLLCLK;
    clk.AHBCLKDivider = RCC_SYSCLK_DIV1;
    clk.APB1CLKDivider = RCC_HCLK_DIV1;
    clk.APB2CLKDivider = RCC_HCLK_DIV1;
    EXPECT("clock tree", HAL_RCC_ClockConfig(&clk, FLASH_LATENCY_4), HAL_OK);
    EXPECT("Hz", HAL_RCC_GetSysClockFreq(), 170000000);
}

#else

/* 168 MHz of a crystal of 8 MHz. */
static void full_speed(void)
{
    RCC_OscInitTypeDef osc = { 0 };
    RCC_ClkInitTypeDef clk = { 0 };
    __HAL_RCC_PWR_CLK_ENABLE();
    __HAL_PWR_VOLTAGESCALING_CONFIG(PWR_REGULATOR_VOLTAGE_SCALE1);
    osc.OscillatorType = RCC_OSCILLATORTYPE_HSE;
    osc.HSEState = RCC_HSE_ON;
    osc.PLL.PLLState = RCC_PLL_ON;
    osc.PLL.PLLSource = RCC_PLLSOURCE_HSE;
    osc.PLL.PLLM = 8;
    osc.PLL.PLLN = 336;
    osc.PLL.PLLP = RCC_PLLP_DIV2;
    osc.PLL.PLLQ = 7;
    EXPECT("oscillators", HAL_RCC_OscConfig(&osc), HAL_OK);
    clk.ClockType = RCC_CLOCKTYPE_HCLK | RCC_CLOCKTYPE_SYSCLK |
                    RCC_CLOCKTYPE_PCLK1 | RCC_CLOCKTYPE_PCLK2;
    clk.SYSCLKSource = RCC_SYSCLKSOURCE_PLLCLK;
    clk.AHBCLKDivider = RCC_SYSCLK_DIV1;
    clk.APB1CLKDivider = RCC_HCLK_DIV4;
    clk.APB2CLKDivider = RCC_HCLK_DIV2;
    EXPECT("clock tree", HAL_RCC_ClockConfig(&clk, FLASH_LATENCY_5), HAL_OK);
    EXPECT("Hz", HAL_RCC_GetSysClockFreq(), 168000000);
}

#endif

int main(void)
{
    if (begun != BEGUN)
        report_count = 0;
    begun = BEGUN;
    EXPECT("HAL_Init", HAL_Init(), HAL_OK);
    full_speed();
    CoreDebug->DEMCR |= CoreDebug_DEMCR_TRCENA_Msk;
    DWT->CTRL |= DWT_CTRL_CYCCNTENA_Msk;
    judge();
    over = 1;
    for (;;) {
    }
}
