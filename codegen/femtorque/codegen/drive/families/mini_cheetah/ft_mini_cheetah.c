/* The mini-cheetah's drives; see ft_mini_cheetah.h. */
#include "ft_mini_cheetah.h"

#include "ft_mit.h" /* ft_mit_... */

#define LEAST 6u /* minimum bytes of a reply; later firmware sends more */
#define RELEASE_TICKS 8u /* ticks between commands without torque */

void ft_mini_cheetah_enable(ft_frame *f, const ft_drive_config *c)
{
    ft_mit_special(f, c, FT_MIT_ENTER);
}

/* Disable the drive: it leaves the MIT mode. Only this command clears
 * errors. */
void ft_mini_cheetah_disable(ft_frame *f, const ft_drive_config *c,
                             bool clear)
{
    (void)clear;
    ft_mit_special(f, c, FT_MIT_EXIT);
}

void ft_mini_cheetah_command(ft_frame *f, const ft_drive_config *c,
                             const ft_drive_target *t, float *carried)
{
    ft_mit_command(f, c, t, carried);
}

/* Read a frame from this drive. Several drives may answer with equal ids, so
 * the first byte names the drive. */
ft_drive_heard ft_mini_cheetah_hear(const ft_frame *f,
                                    const ft_drive_config *c,
                                    ft_drive_said *said)
{
    if (f->id != c->reply || f->data[0] != (c->id & 0xFFu) || f->size < LEAST)
        return FT_HEARD_NOTHING;
    ft_mit_state(f, c, said);
    said->enabled = false;
    said->warmth = 0u;
    said->error = 0u;
    return FT_HEARD_STATE;
}

/* Send a command with zero torque in some ticks. Early firmware leaves the
 * motor mode only at a small current. The firmware measures the current only
 * while it commutates, and commutates only after commands. */
void ft_mini_cheetah_release(ft_frame *f, const ft_drive_config *c,
                             uint32_t tick)
{
    const ft_drive_target nothing = { 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f,
                                      0.0f, 0.0f, 0.0f };
    float carried = 0.0f;

    if (tick % RELEASE_TICKS == 0u)
        ft_mit_command(f, c, &nothing, &carried);
}
