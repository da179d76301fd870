/* A simulated plant for an endless motion: duties drive it, and the application
 * reads its encoders. A duty acts for one tick, and begins one tick after its
 * computation. */
#include "fake_chip.h"
#include "ft_app.h"
#include "ft_state.h"
#include "soak.h"

#include <math.h>
#include <string.h>

#define STEPS 2 /* steps of the plant per tick */

static contact_soak_plant plant;
static float duty[FT_JOINTS]; /* duty that acts from this tick on */
static int64_t counted[FT_JOINTS];
static double worst[FT_JOINTS];

/* Simulate the plant from this tick to the next tick. */
static void move(void)
{
    uint32_t j;

    for (j = 0; j < FT_JOINTS; j++)
        plant.volts[j] = rint(plant.levels * (double)duty[j]) / plant.levels
                         * (double)fake.bus_voltage;
    if (plant.take(plant.arm, 1.0 / (STEPS * FT_TICK_HZ), STEPS) < STEPS)
        fake.estop = 1;
    memcpy(duty, fake.duty, sizeof duty);
    for (j = 0; j < FT_JOINTS; j++) {
        double at = (plant.q[j] - plant.origin[j]) * plant.per_unit[j];
        int64_t count = (int64_t)floor(at + 0.5);

        fake.counts[j] += (int32_t)(count - counted[j]);
        counted[j] = count;
    }
}

/* Record each joint's largest ratio of external torque to threshold. */
static void look(void)
{
    const ft_contact *f = &ft.control.contact;
    uint32_t j;

    for (j = 0; j < FT_JOINTS && f->settles == 0u; j++)
        worst[j] = fmax(worst[j], fabs((double)(f->external[j] - f->mean[j]))
                                      / (double)f->threshold[j]);
}

static void go_on(void)
{
    move();
    look();
}

void contact_soak_begin(const contact_soak_plant *p)
{
    plant = *p;
    memset(duty, 0, sizeof duty);
    memset(counted, 0, sizeof counted);
    memset(worst, 0, sizeof worst);
    soak_follow = 0;
    soak_after = go_on;
}

/* Run ticks without a motion. */
void contact_soak_hold(uint32_t ticks)
{
    uint32_t i;

    for (i = 0; i < ticks; i++) {
        soak_poll(i);
        fake_run(1, 0, 0);
        go_on();
    }
}

void contact_soak_see(double *found, uint32_t *touches)
{
    memcpy(found, worst, sizeof worst);
    *touches = ft.control.contact.touches;
}
