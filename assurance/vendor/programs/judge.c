/* Common functions of all programs: the clock at full speed, SysTick, the list
 * of reports. ST's start-up file calls SystemInit and main. */
#include "judge.h"

#define KEPT __attribute__((section(".noinit"))) /* survives a reset */

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

#ifdef STM32G474xx /* 170 MHz from a crystal of 24 MHz */
enum { M = RCC_PLLM_DIV6, N = 85, Q = RCC_PLLQ_DIV2, HZ = 170000000,
       APB1 = RCC_HCLK_DIV1, APB2 = RCC_HCLK_DIV1, WAITS = FLASH_LATENCY_4 };
#else /* 168 MHz from a crystal of 8 MHz */
enum { M = 8, N = 336, Q = 7, HZ = 168000000,
       APB1 = RCC_HCLK_DIV4, APB2 = RCC_HCLK_DIV2, WAITS = FLASH_LATENCY_5 };
#endif

static void full_speed(void)
{
    RCC_OscInitTypeDef osc = {
        .OscillatorType = RCC_OSCILLATORTYPE_HSE, .HSEState = RCC_HSE_ON,
        .PLL = { .PLLState = RCC_PLL_ON, .PLLSource = RCC_PLLSOURCE_HSE,
                 .PLLM = M, .PLLN = N, .PLLP = RCC_PLLP_DIV2, .PLLQ = Q },
    };
    RCC_ClkInitTypeDef clk = {
        .ClockType = RCC_CLOCKTYPE_HCLK | RCC_CLOCKTYPE_SYSCLK |
                     RCC_CLOCKTYPE_PCLK1 | RCC_CLOCKTYPE_PCLK2,
        .SYSCLKSource = RCC_SYSCLKSOURCE_PLLCLK,
        .AHBCLKDivider = RCC_SYSCLK_DIV1,
        .APB1CLKDivider = APB1, .APB2CLKDivider = APB2,
    };
    __HAL_RCC_PWR_CLK_ENABLE();
#ifdef STM32G474xx
    osc.PLL.PLLR = RCC_PLLR_DIV2;
    __HAL_RCC_SYSCFG_CLK_ENABLE();
    EXPECT("regulator with boost",
           HAL_PWREx_ControlVoltageScaling(PWR_REGULATOR_VOLTAGE_SCALE1_BOOST),
           HAL_OK);
#else
    __HAL_PWR_VOLTAGESCALING_CONFIG(PWR_REGULATOR_VOLTAGE_SCALE1);
#endif
    EXPECT("oscillators", HAL_RCC_OscConfig(&osc), HAL_OK);
    EXPECT("clock tree", HAL_RCC_ClockConfig(&clk, WAITS), HAL_OK);
    EXPECT("Hz", HAL_RCC_GetSysClockFreq(), HZ);
}

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
