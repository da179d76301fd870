/* Damiao drives on the buses during an endless motion, written from the
 * protocol pages of python-damiao-driver. The drives are at their targets,
 * accept commands and answer. A fraction of all frames is lost. The same
 * fraction of frames is received twice, because a controller repeats a frame
 * whose last bit it has missed. */
#include "fake_chip.h"
#include "ft_app.h"
#include "ft_bus.h"
#include "ft_state.h"
#include "soak.h"

#include <math.h>
#include <string.h>

#define TURN 6.283185307179586
#define MOST 64u

enum { DISABLED, ENABLED };

static bus_soak_t all;
static uint64_t state, limit; /* state of the random generator; the frame is
                               * disturbed if the random number is below
                               * limit */
static double sum[FT_BUS_DRIVES], wanted[FT_BUS_DRIVES];
static uint32_t status[FT_BUS_DRIVES];

/* Return whether a frame is lost or doubled. */
static int bad(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 32) < limit;
}

static int special(const ft_frame *f)
{
    return memcmp(f->data, "\xff\xff\xff\xff\xff\xff\xff", 7) == 0;
}

/* Add up all torques sent to a drive, including torques in lost frames, because
 * the rounding remainder is carried from frame to frame. */
static void weigh(uint32_t i, const ft_frame *f)
{
    uint32_t number = (f->data[6] & 15u) << 8 | f->data[7];
    double most = (double)ft_drive[i].torque;

    if (special(f))
        return;
    sum[i] += 2.0 * most / 4095.0 * number - most - wanted[i];
}

/* Process a frame to a drive. */
static void hear(uint32_t i, const ft_frame *f)
{
    if (!special(f))
        return;
    status[i] = f->data[7] == 0xFCu ? ENABLED : DISABLED;
    all.disabled += status[i] == DISABLED ? 1u : 0u;
}

/* Form a drive's report: its joint is at the target. */
static void answer(uint32_t i, ft_frame *f)
{
    const ft_target *target = *ft_telemetry.target;
    double most = (double)ft_drive[i].position;
    double at = (double)ft_drive[i].sign * TURN / 4294967296.0
                * (double)target->q[ft_drive[i].joint];
    uint32_t number = (uint32_t)((at + most) * 65535.0 / (2.0 * most));

    memset(f, 0, sizeof *f);
    f->id = ft_drive[i].reply;
    f->size = 8u;
    f->data[0] = (uint8_t)(status[i] << 4 | (ft_drive[i].id & 15u));
    f->data[1] = (uint8_t)(number >> 8);
    f->data[2] = (uint8_t)number;
    f->data[3] = 0x7F;
    f->data[4] = 0xF7;
    f->data[5] = 0xFF;
    f->data[6] = f->data[7] = 30u;
}

/* Simulate a drive during a tick. */
static void speak(uint32_t i, const ft_frame *heard)
{
    ft_frame f;

    all.sent += 2u;
    weigh(i, heard);
    if (bad()) {
        all.lost++;
        all.unanswered++;
        return;
    }
    answer(i, &f);
    hear(i, heard);
    if (bad()) {
        all.lost++;
        all.unanswered++;
        return;
    }
    fake_bus_bring(ft_drive[i].bus, &f);
    if (bad()) {
        all.twice++;
        fake_bus_bring(ft_drive[i].bus, &f);
    }
}

/* Simulate the drives after a tick. Frames are sent one tick after they are
 * formed, so they contain the torques of the previous tick. */
static void after(void)
{
    static float before[FT_JOINTS];
    ft_frame frames[MOST];
    uint32_t bus, i, k, count;

    for (i = 0; i < FT_BUS_DRIVES; i++)
        wanted[i] = (double)(ft_drive[i].sign * before[ft_drive[i].joint]);
    for (bus = 0; bus < FT_BUSES; bus++) {
        count = fake_bus_sent(bus, frames);
        for (k = 0; k < count; k++)
            for (i = 0; i < FT_BUS_DRIVES; i++)
                if (ft_drive[i].bus == bus && frames[k].id == ft_drive[i].id)
                    speak(i, &frames[k]);
    }
    memcpy(before, ft.control.law.torque, sizeof before);
}

/* Begin with enabled drives. share: fraction of lost frames, and of doubled
 * frames. */
void bus_soak_begin(double share, uint64_t seed)
{
    uint32_t i;

    memset(&all, 0, sizeof all);
    memset(sum, 0, sizeof sum);
    for (i = 0; i < FT_BUS_DRIVES; i++)
        status[i] = ENABLED;
    state = seed;
    limit = (uint64_t)(share * 4294967296.0);
    soak_after = after;
}

void bus_soak_see(bus_soak_t *found)
{
    double ticks = (double)all.sent / (2.0 * FT_BUS_DRIVES);
    uint32_t i;

    *found = all;
    for (i = 0; i < FT_BUS_DRIVES; i++) {
        found->told_lost += ft.bus.drive[i].lost;
        found->told_late += ft.bus.drive[i].late;
        found->bias = fmax(found->bias, fabs(sum[i]) / ticks);
    }
    found->told_foreign = ft.bus.foreign;
}
