/* Feeds bytes of standard input to the application, some ticks in between,
 * for the sanitizers: each helping is a size byte and so many bytes. */
#include "ft_app.h"
#include "fake_chip.h"

#include <stdio.h>

int main(void)
{
    static uint8_t out[65536];
    uint8_t bytes[256];
    unsigned long frames = 0;
    int size;

    fake.bus_voltage = 24.0f;
    ft_app_start(0);
    while ((size = getchar()) != EOF) {
        size_t n = fread(bytes, 1, (size_t)size, stdin);

        (void)fake_feed(bytes, (uint32_t)n);
        fake_run(1, 1, 0);
        frames += fake_take(out) > 0u ? 1u : 0u;
    }
    printf("%lu\n", frames);
    return 0;
}
