/* Plays the bytes and ticks of a script. The test compares the application's
 * output on different processors. */
#include "fake_chip.h"

#include <stdio.h>

#define MOST 4096u

void ft_app_start(uint32_t errors);

static uint32_t word(void)
{
    uint32_t value = 0;

    return fread(&value, sizeof value, 1, stdin) == 1 ? value : 0;
}

int main(void)
{
    static uint8_t bytes[65536];
    static fake_record_t record[MOST];
    fake_chip_t *chip = fake_chip();
    uint32_t size, ticks;

    if (fread(&chip->bus_voltage, sizeof(float), 1, stdin) != 1)
        return 1;
    chip->temperature = 25.0f;
    ft_app_start(0);
    while (!feof(stdin)) {
        size = word();
        ticks = word();
        if (size > sizeof bytes || ticks > MOST
            || fread(bytes, 1, size, stdin) != size
            || fake_feed(bytes, size) != size)
            return 1;
        fake_run(ticks, 1, record);
        fwrite(record, sizeof record[0], ticks, stdout);
        size = fake_take(bytes);
        fwrite(bytes, 1, size, stdout);
    }
    return 0;
}
