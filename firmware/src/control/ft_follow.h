/* The state FOLLOW: the joints follow live targets.
 *
 * Targets become knots (ft_targets.h, in the main loop). Knots define a curve
 * (ft_reference.h). The governor (ft_governor.h) lets each joint follow the
 * curve within its limits. FOLLOW starts from the held positions and uses no
 * measurement. */
#ifndef FT_FOLLOW_H
#define FT_FOLLOW_H

#include "ft_config.h"    /* FT_FOLLOW, FT_FOLLOW_TIMEOUT, FT_PARK */
#include "ft_governor.h"  /* ft_governor_tick */
#include "ft_motion.h"    /* ft_motion */
#include "ft_outlook.h"   /* ft_outlook */
#include "ft_reference.h" /* ft_reference */
#include "ft_regular.h"   /* ft_regular */
#include "ft_targets.h"   /* ft_targets */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    volatile uint32_t now;       /* board's clock, us */
    uint32_t part;               /* fraction of a us, in 1/FT_TICK_HZ */
    volatile uint32_t playing;   /* sender's time that is played now, us */
    ft_real rest;                /* of a us */
    ft_real pace;                /* pace of the played clock minus 1 */
    uint32_t turned;             /* number of the last target with a velocity */
    uint32_t waited;             /* ticks since the first target */
    uint32_t heard;              /* number of targets before this tick */
    uint32_t idle;               /* ticks without a target ahead */
    volatile bool fresh;         /* asks the main loop to forget targets */
    uint32_t delay, frame;       /* requested times, us */
    volatile bool running;       /* a target has come */
    bool stop;                   /* brake, and end at rest */
    bool starved;                /* the stop is due to a lack of targets */
    uint8_t phase;               /* FT_FOLLOW_PHASE_ */
    volatile uint8_t limits[FT_JOINTS]; /* limits that acted, until reported */
    ft_moving joint[FT_JOINTS];  /* p is the displacement in the last tick */
    int64_t q[FT_JOINTS];        /* wire */
    bool wary[FT_JOINTS];        /* the reference has exceeded a limit */
    ft_real behind[FT_JOINTS];   /* position minus reference, rad or m */
    FT_IF(FT_GOES,
    bool parks;                  /* moves to `place` and ignores live targets */
    int64_t place[FT_JOINTS];    /* wire */)
    ft_regular regular;
    ft_targets targets;
    ft_reference reference;
    ft_outlook outlook;
} ft_follow;

/* of the tick */
void ft_follow_begin(ft_follow *f, const int64_t held[FT_JOINTS],
                     uint32_t delay, uint32_t frame);
void ft_follow_park(ft_follow *f, const int64_t held[FT_JOINTS]);
void ft_follow_keep(ft_follow *f, const int64_t place[FT_JOINTS]);
void ft_follow_return(ft_follow *f, const int64_t held[FT_JOINTS]);
void ft_follow_stop(ft_follow *f);
uint32_t ft_follow_tick(ft_follow *f, ft_motion *m, const ft_step_state *s);

/* of the main loop */
void ft_follow_take(ft_follow *f, const ft_msg_target *m);
uint32_t ft_follow_playing(const ft_follow *f);
uint8_t ft_follow_take_limits(ft_follow *f, uint32_t joint);

#endif
