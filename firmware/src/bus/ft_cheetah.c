/* The mini-cheetah's drives and CubeMars'; see ft_cheetah.h. */
#include "ft_cheetah.h"

#include "ft_mit.h" /* ft_mit_command, ft_mit_state */

#define LEAST 6u /* bytes of a reply: more came with later firmware */
#define WHOLE 8u
#define COLDEST 40u /* deg C below zero that a temperature of 0 tells */

/* Ask for torque, position and the rest. */
void ft_cheetah_command(ft_frame *f, const ft_drive_address *a,
                        const ft_drive_ranges *r, const ft_drive_target *t,
                        float *carried)
{
    f->id = a->id;
    f->size = WHOLE;
    ft_mit_command(f->data, r, t, carried);
}

/* Enable, disable. */
void ft_cheetah_special(ft_frame *f, const ft_drive_address *a, uint8_t last)
{
    f->id = a->id;
    f->size = WHOLE;
    ft_mit_special(f->data, last);
}

/* Take in a frame, if it is this drive's. Several may answer with one id: the
 * first byte tells who. */
ft_drive_heard ft_cheetah_hear(const ft_frame *f, const ft_drive_address *a,
                               const ft_drive_ranges *r, bool ails,
                               ft_drive_said *said)
{
    if (f->id != a->reply || f->data[0] != (a->id & 0xFFu)
        || f->size < (ails ? WHOLE : LEAST))
        return FT_HEARD_NOTHING;
    ft_mit_state(f->data, r, said);
    said->enabled = false;
    said->warmth = ails && f->data[6] > COLDEST
                       ? (uint8_t)(f->data[6] - COLDEST) : 0u;
    said->error = ails ? f->data[7] : 0u;
    return FT_HEARD_STATE;
}
