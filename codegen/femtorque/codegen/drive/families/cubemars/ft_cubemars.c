/* CubeMars' drives; see ft_cubemars.h. */
#include "ft_cubemars.h"

#include "ft_mit.h" /* ft_mit_... */

#define WHOLE 8u
#define COLDEST 40u /* in a reply, the number 0 means -40 deg C */

void ft_cubemars_enable(ft_frame *f, const ft_drive_config *c)
{
    ft_mit_special(f, c, FT_MIT_ENTER);
}

/* Disable the drive by leaving the MIT mode. Only this command clears
 * errors. */
void ft_cubemars_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    (void)clear;
    ft_mit_special(f, c, FT_MIT_EXIT);
}

void ft_cubemars_command(ft_frame *f, const ft_drive_config *c,
                         const ft_drive_target *t, float *carried)
{
    ft_mit_command(f, c, t, carried);
}

ft_drive_heard ft_cubemars_hear(const ft_frame *f, const ft_drive_config *c,
                                ft_drive_said *said)
{
    if (f->id != c->reply || f->data[0] != (c->id & 0xFFu) || f->size < WHOLE)
        return FT_HEARD_NOTHING;
    ft_mit_state(f, c, said);
    said->enabled = false;
    said->warmth = f->data[6] > COLDEST ? (uint8_t)(f->data[6] - COLDEST) : 0u;
    said->error = f->data[7];
    return FT_HEARD_STATE;
}
