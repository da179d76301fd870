/* Start-up code of a Cortex-M4F before main, and a table of two vectors.
 * Semihosting sends printed text to the emulator. */
#include <stdint.h>

extern uint32_t top, data_from, data_start, data_end, bss_start, bss_end;
void initialise_monitor_handles(void); /* defined in newlib's librdimon */
void exit(int status);
int main(void);
void reset(void);
void _init(void);
void _fini(void);

void _init(void) {}
void _fini(void) {}

void reset(void)
{
    uint32_t *to, *from = &data_from;

    /* CPACR: enables the floating-point unit */
    *(volatile uint32_t *)0xE000ED88u |= 0xF00000u;
    for (to = &data_start; to < &data_end;)
        *to++ = *from++;
    for (to = &bss_start; to < &bss_end;)
        *to++ = 0;
    initialise_monitor_handles();
    exit(main());
}

__attribute__((section(".vectors"), used))
static const void *const vectors[] = { &top, (const void *)reset };
