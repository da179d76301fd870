/* Frames of the MIT mode; see ft_mit.h. */
#include "ft_mit.h"

#include "ft_field.h" /* ft_field_encode, ft_field_carry */

#include <string.h> /* memset */

#define WHOLE 8u

/* Pack a command. A frame whose position, velocity and kp have only 1 bits is a
 * special frame. A command with these values is sent with a position that is
 * one step less. */
void ft_mit_command(ft_frame *f, const ft_drive_config *c,
                    const ft_drive_target *t, float *carried)
{
    const ft_field_range places = ft_field_about(c->position, FT_FIELD_16);
    const ft_field_range velocities = ft_field_about(c->velocity, FT_FIELD_12);
    const ft_field_range stiff = ft_field_upto(c->kp, FT_FIELD_12);
    const ft_field_range damped = ft_field_upto(c->kd, FT_FIELD_12);
    const ft_field_range torques = ft_field_about(c->torque, FT_FIELD_12);
    uint8_t *data = f->data;
    uint32_t p = ft_field_encode(&places, t->position);
    const uint32_t v = ft_field_encode(&velocities, t->velocity);
    const uint32_t kp = ft_field_encode(&stiff, t->kp);
    const uint32_t kd = ft_field_encode(&damped, t->kd);
    const uint32_t torque = ft_field_carry(&torques, t->torque, carried);

    if (p == FT_FIELD_16 && v == FT_FIELD_12 && kp == FT_FIELD_12)
        p--;
    f->id = c->id;
    f->size = WHOLE;
    data[0] = (uint8_t)(p >> 8);
    data[1] = (uint8_t)p;
    data[2] = (uint8_t)(v >> 4);
    data[3] = (uint8_t)((v & 15u) << 4 | kp >> 8);
    data[4] = (uint8_t)kp;
    data[5] = (uint8_t)(kd >> 4);
    data[6] = (uint8_t)((kd & 15u) << 4 | torque >> 8);
    data[7] = (uint8_t)torque;
}

/* Pack a special frame: enable, disable or clear. */
void ft_mit_special(ft_frame *f, const ft_drive_config *c, uint8_t last)
{
    f->id = c->id;
    f->size = WHOLE;
    memset(f->data, 0xFF, 7);
    f->data[7] = last;
}

/* Read position, velocity and torque from a reply. */
void ft_mit_state(const ft_frame *f, const ft_drive_config *c,
                  ft_drive_said *said)
{
    const uint8_t *data = f->data;
    const ft_field_range velocities = ft_field_about(c->velocity, FT_FIELD_12);
    const ft_field_range torques = ft_field_about(c->torque, FT_FIELD_12);

    said->position = (uint32_t)data[1] << 8 | data[2];
    said->velocity = ft_field_decode(&velocities,
                                     (uint32_t)data[3] << 4 | data[4] >> 4);
    said->torque = ft_field_decode(&torques, (data[4] & 15u) << 8 | data[5]);
}
