/* The watchdog. While the program feeds the watchdog, nothing happens. If the
 * program stops feeding the watchdog, the watchdog resets the chip within the
 * tolerance of LSI, and sets the reset flag. The program's record is in memory
 * that a reset does not clear. */
#include "judge.h"

static struct {
    uint32_t mark, fed_ms, lived_us;
} kept __attribute__((section(".noinit")));

enum { MARK = 0x1D06F00D, RELOAD = 99 }; /* 100 x 32 / 32 kHz: 100 ms */

void judge(void)
{
    IWDG_HandleTypeDef dog = { .Instance = IWDG };
    if (__HAL_RCC_GET_FLAG(RCC_FLAG_IWDGRST) && kept.mark == MARK) {
        EXPECT("a reset by the pin flag, too",
               __HAL_RCC_GET_FLAG(RCC_FLAG_PINRST) != 0, 1);
        EXPECT("not by software", __HAL_RCC_GET_FLAG(RCC_FLAG_SFTRST), 0);
        EXPECT("fed for 400 ms", kept.fed_ms, 400);
        BETWEEN("then it bit, us", kept.lived_us, 90000, 110000);
        __HAL_RCC_CLEAR_RESET_FLAGS();
        EXPECT("flags are cleared", __HAL_RCC_GET_FLAG(RCC_FLAG_IWDGRST), 0);
        kept.mark = 0;
        return;
    }
    kept.mark = MARK;
    kept.fed_ms = 0;
    dog.Init.Prescaler = IWDG_PRESCALER_32;
    dog.Init.Reload = RELOAD;
#ifdef STM32G474xx
    dog.Init.Window = IWDG_WINDOW_DISABLE;
#endif
    if (HAL_IWDG_Init(&dog) != HAL_OK)
        return;
    while (kept.fed_ms < 400) {
        wait_us(50000);
        (void)HAL_IWDG_Refresh(&dog);
        kept.fed_ms += 50;
    }
    for (kept.lived_us = 0;; kept.lived_us += 10)
        wait_us(10);
}
