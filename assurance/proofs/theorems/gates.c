/* Gate drivers on SPI, chip/stm32/ft_gate_drivers.c, for any answers. */
#define OWN_WAITS
#include "proof.h"

#include "peripherals.h"

static bool wanted, reset, selected;

bool ft_wait_for(const volatile uint32_t *reg, uint32_t mask, uint32_t value)
{
    CLAIM(reg == &SPI3->SR && mask != 0u && (value & ~mask) == 0u);
    return nondet_bool();
}

uint32_t ft_chip_cycles(void) { return nondet_u32(); }
bool ft_outputs_wanted(void) { return wanted; }
bool ft_drivers_report(void) { return nondet_bool(); }

/* Check that only one driver is selected at a time, and that no driver is reset
 * while its switches may be operated. */
void ft_pin_put(uint32_t port, uint32_t pin, bool high)
{
    CLAIM(port < AT_PORTS && pin < 16u);
    if (port == FT_ENABLE_PORT && pin == FT_ENABLE_PIN) {
        CLAIM(!wanted);
        reset = reset || !high;
        return;
    }
    CLAIM(selected == high);
    selected = !high;
}

#include "ft_gate_drivers.c"

static void any_state(void)
{
    ft_gates = nondet_u8();
    ft_woken_at = nondet_u32();
    ft_told = nondet_u32();
    ft_next = nondet_u32();
    GIVEN(ft_gates <= (uint8_t)FT_READY);
    GIVEN(ft_next < FT_DRIVER_COUNT * FT_REGISTERS);
    wanted = nondet_bool();
}

/* For any bytes received over SPI, checking and starting the drivers terminate.
 * The functions select one driver at a time and deselect it. No function resets
 * a driver while the outputs are requested. A driver that has failed is not
 * ready before another check. While the outputs are requested, no driver
 * becomes ready.
 * Run: unwind=9 registers mechanisms=odrive-v3.6:voltage,odrive-v3.6:current */
void prove_gates(void)
{
    uint8_t before;

    any_state();
    before = ft_gates;
    if (nondet_bool()) {
        GIVEN(!wanted);
        CLAIM(ft_gate_drivers_start() == (ft_gates == (uint8_t)FT_READY));
        CLAIM(reset);
    } else {
        ft_chip_drivers_look(nondet_bool());
        CLAIM(!wanted || ft_gates != (uint8_t)FT_READY
              || before == (uint8_t)FT_READY);
        CLAIM(ft_gates != (uint8_t)FT_READY || before != (uint8_t)FT_LOST);
    }
    CLAIM(!selected && ft_gates <= (uint8_t)FT_READY);
    CLAIM(ft_next < FT_DRIVER_COUNT * FT_REGISTERS);
    CLAIM(ft_chip_drivers_ready() == (ft_gates == (uint8_t)FT_READY));
    CLAIM(ft_chip_driver_status() == ft_told);
    END;
}

/* If the line only echoes the sent bytes, no driver is regarded as ready.
 * Run: unwind=9 mechanisms=odrive-v3.6:voltage */
void prove_gates_dead(void)
{
    any_state();
    wanted = false;
    GIVEN(ft_gates != (uint8_t)FT_READY);
    if (nondet_bool())
        CLAIM(!ft_gate_drivers_start());
    else
        ft_chip_drivers_look(nondet_bool());
    CLAIM(!ft_chip_drivers_ready());
    END;
}
