/* Measurements and positions, for any register values: converters (ft_adc.c,
 * ft_converter.c, ft_sampling.c of each family, ft_currents_start of
 * ft_current.c), encoders and pins (chip/stm32/ft_encoders.c, ft_pins.c). */
#include "proof.h"

#include "peripherals.h"

/* ---- converters --------------------------------------------------------- */

#ifdef PROOF_CONVERTERS
#include "ft_adc.c"
#include "ft_converter.c"
#include "ft_sampling.c"

/* The board's measurements are assigned to existing channels of the converter.
 * The number of channels never exceeds the converter's maximum. Each wait for
 * the converter ends, and each result is read from the correct register.
 * Run: unwind=5 registers define=PROOF_CONVERTERS mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage */
void prove_measured_board(void)
{
    static const uint8_t channels[] = { FT_SENSES };
    const uint32_t i = below(sizeof channels);

    CLAIM(channels[i] < 19u);
    (void)ft_converter_start(channels, sizeof channels);
    ft_converter_go();
    (void)ft_converter_await();
    (void)ft_converter_done();
    (void)ft_converter_counts(i);
    END;
}
#endif

#ifdef PROOF_CURRENTS
#include "ft_adc.c"
#include "ft_sampling.c"

void ft_chip_safe(void) { }
bool ft_chip_outputs_enabled(void) { return nondet_bool(); }
bool ft_outputs_wanted(void) { return nondet_bool(); }
void ft_output_write(uint32_t joint, float duty) { }

#include "ft_current.c"

/* The currents of all loops are converted in the same way, and their timer
 * starts the conversions. For any register values each loop begins with the
 * zero offset of the board file.
 * Run: unwind=5 registers define=PROOF_CURRENTS mechanisms=f405rg-4:current,nucleo-g474re-6:current,odrive-v3.6:current */
void prove_measured_currents(void)
{
    const uint32_t i = below(FT_LOOPS);
    uint32_t counts[FT_LOOPS];

    (void)ft_currents_start();
    CLAIM(ft_loops[i].zero == (float)ft_loop_table[i].zero);
    ft_currents_run();
    CLAIM(FT_CURRENT_TRIGGER->CR2 == TIM_CR2_MMS_UPDATE);
    ft_sampling_take(counts, FT_LOOPS);
    END;
}
#endif

/* ---- pins and encoders -------------------------------------------------- */

#ifdef PROOF_PINS
void ft_pins_prepare(void) { }

#include "ft_pins.c"

/* Every pin that the board file names belongs to an existing port. Setting up a
 * pin sets its mode, pull, speed and function, and changes no other pin.
 * Writing a level writes only the bit of this pin.
 * Run: unwind=60 define=PROOF_PINS mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage,can:robomaster */
void prove_pins(void)
{
    const uint32_t i = below(FT_PIN_COUNT), port = below(AT_PORTS);
    const uint32_t pin = below(16u);
    const ft_pin *p = &ft_pin_table[i];
    const bool high = nondet_bool();
    GPIO_TypeDef was, *is = &at_gpio[0];

    CLAIM(p->port < AT_PORTS && p->pin < 16u);
    CLAIM(p->pull <= 2u && p->function < 16u);
    if (nondet_bool()) {
        ft_pin_put(port, pin, high);
        CLAIM(at_gpio[port].BSRR == 1u << (high ? pin : pin + 16u));
        CLAIM(ft_pin_high(port, pin)
              == ((at_gpio[port].IDR >> pin & 1u) != 0u));
    } else {
        const ft_pin one = { 0, p->pin, p->mode, p->pull, p->function };
        const uint32_t nibble = p->pin % 8u * 4u, four = 15u << nibble;
        const uint32_t two = 3u << (2u * p->pin);

        ANYTHING(at_gpio);
        was = *is;
        ft_pin_start(&one);
        CLAIM((is->MODER & two) >> (2u * p->pin) == (p->mode & 3u));
        CLAIM((is->PUPDR & two) >> (2u * p->pin) == p->pull);
        CLAIM((is->AFR[p->pin / 8u] & four) >> nibble == p->function);
        CLAIM((is->MODER & ~two) == (was.MODER & ~two));
        CLAIM((is->PUPDR & ~two) == (was.PUPDR & ~two));
        CLAIM((is->OSPEEDR & ~two) == (was.OSPEEDR & ~two));
        CLAIM((is->AFR[p->pin / 8u] & ~four) == (was.AFR[p->pin / 8u] & ~four));
        CLAIM(is->AFR[1u - p->pin / 8u] == was.AFR[1u - p->pin / 8u]);
        CLAIM(is->BSRR == 1u << p->pin || is->BSRR == 1u << (p->pin + 16u));
    }
    END;
}

/* All pins are set up without a run-time error, for any register values.
 * Run: unwind=60 registers define=PROOF_PINS mechanisms=f405rg-4:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage,can:robomaster */
void prove_pins_start(void)
{
    ft_pins_start();
    END;
}
#endif

#ifdef PROOF_ENCODERS
bool ft_pin_high(uint32_t port, uint32_t pin)
{
    CLAIM(port < AT_PORTS && pin < 16u);
    return nondet_bool();
}

void ft_currents_moved(const int32_t counts[]) { }

#include "ft_encoders.c"

/* The counts are the change of an encoder's timer since the last read,
 * including its wrap. The change is smaller than half of the timer's range. An
 * encoder whose timer does not exist gives no counts.
 * Run: unwind=9 define=PROOF_ENCODERS mechanisms=f405rg-4:voltage,f405rg-6:voltage,nucleo-g474re-6:voltage,odrive-v3.6:voltage */
void prove_encoders(void)
{
    int32_t counts[FT_TABLE_SIZE];
    const uint32_t i = below(FT_TABLE_SIZE);
    const ft_encoder *e = &ft_encoder_table[i];
    uint32_t last, now;

    (void)ft_encoders_start();
    ANYTHING(at_timer);
    ANYTHING(ft_last_count);
    last = ft_last_count[i];
    ft_chip_encoders(counts);
    if (e->timer == 0) {
        CLAIM(counts[i] == 0);
    } else {
        now = e->timer->CNT;
        CLAIM(((uint32_t)counts[i] & e->range) == ((now - last) & e->range));
        CLAIM(e->range != 0xFFFFu
              || (counts[i] >= INT16_MIN && counts[i] <= INT16_MAX));
        CLAIM(ft_last_count[i] == now);
    }
    (void)ft_chip_index(i);
    END;
}
#endif
