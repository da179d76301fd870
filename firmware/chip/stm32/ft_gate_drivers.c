/* Gate drivers DRV8301. The drivers' settings are written over SPI before any
 * switch moves, and checked continuously.
 *
 * The enable line also powers the SPI interface, and a low level clears the
 * settings. At the start the line is low for a full reset and then stays high.
 * Meanwhile the timers hold every switch off.
 *
 * A driver loses its settings when its supply dips. After the loss, the
 * driver's current-sense gain is only half of the setting. The main loop checks
 * one register per round, and all registers before arming. After any reported
 * fault, the main loop writes the settings again while the outputs are off.
 * After an over-current a driver stays shut down until its settings are
 * written. The drivers' cycle-by-cycle current limit is not used, since the
 * line that reports this limit is not wired. */
#include "ft_board.h" /* FT_GATE_*, FT_ENABLE_* */
#include "ft_chip.h"
#include "ft_parts.h"
#include "ft_registers.h"

#ifdef FT_GATE_SELECTS

enum { FT_READ = 1u << 15, FT_ADDRESS_Pos = 11, FT_DATA = 0x7FF,
       FT_STATUS_1 = 0, FT_STATUS_2 = 1, FT_CONTROL_1 = 2, FT_CONTROL_2 = 3,
       FT_REGISTERS = 4, FT_TRIES = 3 };
enum { FT_STATUS_1_FAULT = 1u << 10, FT_STATUS_2_GVDD_OV = 1u << 7 };
enum { FT_RESET_US = 40,    /* more than 20 us */
       FT_WAKE_US = 20000 };  /* a driver answers within 10 ms */

typedef struct {
    uint8_t port, pin;
} ft_select;

#define FT_SELECT(port, pin) { port, pin },
static const ft_select ft_select_table[] = { FT_GATE_SELECTS };
#undef FT_SELECT
enum { FT_DRIVER_COUNT = sizeof ft_select_table / sizeof ft_select_table[0] };

typedef enum { FT_LOST, FT_WAKING, FT_READY } ft_stage;

static volatile uint8_t ft_gates; /* ft_stage; only the main loop writes it */
static uint32_t ft_woken_at;      /* cycles */
static volatile uint32_t ft_told; /* ft_chip_driver_status() */
static uint32_t ft_next;          /* driver and register to check next */

/* Exchange 16 bits. Return the received bits, or false without an answer. */
static bool ft_exchange(const ft_select *to, uint32_t word, uint32_t *back)
{
    ft_pin_put(to->port, to->pin, false);
    ft_wait_us(1);
    SPI3->DR = word;
    bool good = ft_wait_for(&SPI3->SR, SPI_SR_RXNE, SPI_SR_RXNE);
    *back = SPI3->DR;
    good = ft_wait_for(&SPI3->SR, SPI_SR_BSY, 0) && good;
    ft_wait_us(1);
    ft_pin_put(to->port, to->pin, true);
    ft_wait_us(1);
    return good;
}

/* Read a register. The driver sends the value with the next frame, so ask
 * twice. The address in the answer proves that the SPI line works. */
static bool ft_read(const ft_select *from, uint32_t address, uint32_t *value)
{
    uint32_t ask = FT_READ | address << FT_ADDRESS_Pos;
    bool asked = ft_exchange(from, ask, value);
    bool good = asked && ft_exchange(from, ask, value) &&
                *value >> FT_ADDRESS_Pos == address;
    *value &= FT_DATA;
    return good;
}

/* Return the expected value of a control register. */
static uint32_t ft_wanted_of(uint32_t address)
{
    return address == FT_CONTROL_1 ? FT_GATE_CONTROL_1 : FT_GATE_CONTROL_2;
}

/* Return whether a control register holds its setting. Ignore status. */
static bool ft_possible(uint32_t address, uint32_t value)
{
    return address < FT_CONTROL_1 || value == ft_wanted_of(address);
}

/* Return the faults in a status register; 0 for a control register. */
static uint32_t ft_faults_in(uint32_t address, uint32_t value)
{
    if (address == FT_STATUS_1)
        return (value & FT_STATUS_1_FAULT) != 0 ? value : 0;
    return address == FT_STATUS_2 ? value & FT_STATUS_2_GVDD_OV : 0;
}

/* Store the faults that a driver reports. */
static void ft_keep(uint32_t driver, uint32_t address, uint32_t faults)
{
    ft_told |= driver << 28 | (address == FT_STATUS_1 ? faults : faults << 16);
}

/* Return whether a driver's register is correct. Repeat a disturbed reading. A
 * fault counts at once, since reading may have cleared it. */
static bool ft_holds(uint32_t driver, uint32_t address)
{
    uint32_t value = 0, faults;
    bool good = false;
    for (uint32_t i = 0; i < FT_TRIES && !good; i++)
        good = ft_read(&ft_select_table[driver], address, &value) &&
               ft_possible(address, value);
    faults = good ? ft_faults_in(address, value) : 0;
    if (faults != 0)
        ft_keep(driver, address, faults);
    return good && faults == 0;
}

/* Return whether every register of every driver is correct. */
static bool ft_all_hold(void)
{
    bool good = true;
    for (uint32_t i = 0; i < FT_DRIVER_COUNT * FT_REGISTERS; i++)
        good = ft_holds(i / FT_REGISTERS, i % FT_REGISTERS) && good;
    return good;
}

/* Write the settings of every driver, and read the settings back. Reading
 * clears the faults that the drivers report after their start. */
static bool ft_tell_all(void)
{
    uint32_t back = 0;
    for (uint32_t i = 0; i < FT_DRIVER_COUNT; i++) {
        for (uint32_t a = FT_CONTROL_1; a <= FT_CONTROL_2; a++)
            (void)ft_exchange(&ft_select_table[i],
                              a << FT_ADDRESS_Pos | ft_wanted_of(a), &back);
        (void)ft_read(&ft_select_table[i], FT_STATUS_1, &back);
    }
    return ft_all_hold() && !ft_drivers_report();
}

/* Reset the drivers. The drivers then wake up. */
static void ft_wake(void)
{
    ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, false);
    ft_wait_us(FT_RESET_US);
    ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, true);
    ft_woken_at = ft_chip_cycles();
    ft_gates = FT_WAKING;
}

bool ft_gate_drivers_start(void)
{
    SPI3->CR1 = SPI_CR1_CPHA | SPI_CR1_MSTR | SPI_CR1_BR_DIV16 | SPI_CR1_SSI |
                SPI_CR1_SSM | SPI_CR1_DFF;
    SPI3->CR1 |= SPI_CR1_SPE;
    ft_wake();
    ft_wait_us(FT_WAKE_US);
    ft_gates = ft_tell_all() ? FT_READY : FT_LOST;
    if (ft_gates != FT_READY)
        ft_pin_put(FT_ENABLE_PORT, FT_ENABLE_PIN, false);
    return ft_gates == FT_READY;
}

/* Return whether the drivers' wake-up time is over. */
static bool ft_awake(void)
{
    uint32_t mhz = ft_clock_good() ? FT_CLOCK_MHZ : FT_CLOCK_MHZ_HSI;
    return ft_chip_cycles() - ft_woken_at >= FT_WAKE_US * mhz;
}

/* Write lost settings again, one step per round, while the outputs are off. */
static void ft_set_up(void)
{
    if (ft_outputs_wanted())
        return;
    if (ft_gates == FT_LOST)
        ft_wake();
    else if (ft_awake())
        ft_gates = ft_tell_all() ? FT_READY : FT_LOST;
}

/* Check all registers, or only the next register. */
static bool ft_look(bool at_all)
{
    if (at_all)
        return ft_all_hold();
    ft_next = ft_next + 1u < FT_DRIVER_COUNT * FT_REGISTERS ? ft_next + 1u : 0;
    return ft_holds(ft_next / FT_REGISTERS, ft_next % FT_REGISTERS);
}

void ft_chip_drivers_look(bool at_all)
{
    if (ft_gates != FT_READY) {
        ft_set_up();
        return;
    }
    uint32_t before = ft_told;
    ft_told = 0; /* the status holds only current reports from now on */
    bool good = ft_look(at_all);
    if (good && !ft_drivers_report()) {
        ft_told = before;
        return;
    }
    if (good)
        (void)ft_all_hold(); /* This function also reads the cause. */
    ft_gates = FT_LOST;
}

bool ft_chip_drivers_ready(void)
{
    return FT_TOLERANT || ft_gates == FT_READY;
}

uint32_t ft_chip_driver_status(void)
{
    return ft_told;
}

#else /* for drivers without settings */

bool ft_gate_drivers_start(void)
{
    return true;
}

void ft_chip_drivers_look(bool at_all)
{
    (void)at_all;
}

bool ft_chip_drivers_ready(void)
{
    return true;
}

uint32_t ft_chip_driver_status(void)
{
    return 0;
}

#endif
