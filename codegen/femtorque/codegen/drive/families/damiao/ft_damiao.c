/* Damiao's drives; see ft_damiao.h. */
#include "ft_damiao.h"

#include "ft_mit.h" /* ft_mit_command, ft_mit_state */

#define EVERYBODY 0x7FFu /* frames about registers have the broadcast id */
#define READ_REGISTER 0x33u
#define WRITE_REGISTER 0x55u
#define ENABLED 1u /* larger codes are errors */

void ft_damiao_enable(ft_frame *f, const ft_drive_config *c)
{
    ft_mit_special(f, c, FT_MIT_ENTER);
}

/* Disable a drive. clear: instead, clear the errors of a disabled drive. */
void ft_damiao_disable(ft_frame *f, const ft_drive_config *c, bool clear)
{
    ft_mit_special(f, c, (uint8_t)(clear ? FT_MIT_CLEAR : FT_MIT_EXIT));
}

void ft_damiao_command(ft_frame *f, const ft_drive_config *c,
                       const ft_drive_target *t, float *carried)
{
    ft_mit_command(f, c, t, carried);
}

/* Pack a frame that reads or writes a register. */
static void about_register(ft_frame *f, const ft_drive_config *c,
                           uint8_t does, uint32_t number, uint32_t value)
{
    uint32_t i;

    f->id = EVERYBODY;
    f->size = 8u;
    f->data[0] = (uint8_t)c->id;
    f->data[1] = (uint8_t)(c->id >> 8);
    f->data[2] = does;
    f->data[3] = (uint8_t)number;
    for (i = 0; i < 4u; i++)
        f->data[4u + i] = (uint8_t)(value >> (8u * i));
}

/* Ask for a register. Every register has four bytes. */
void ft_damiao_ask(ft_frame *f, const ft_drive_config *c, uint32_t number,
                   uint32_t size)
{
    (void)size;
    about_register(f, c, READ_REGISTER, number, 0u);
}

void ft_damiao_write(ft_frame *f, const ft_drive_config *c, uint32_t number,
                     uint32_t size, uint32_t value)
{
    (void)size;
    about_register(f, c, WRITE_REGISTER, number, value);
}

/* Return true if a reply reports a register. A state with these bytes would
 * report a position at the end of the field, outside the joint's limits. */
static bool is_setting(const ft_frame *f, const ft_drive_config *c)
{
    return (f->data[2] == READ_REGISTER || f->data[2] == WRITE_REGISTER)
           && f->data[0] == (c->id & 0xFFu) && f->data[1] == c->id >> 8;
}

/* Read a register's value from a frame. */
static ft_drive_heard setting(const ft_frame *f, ft_drive_said *said)
{
    said->setting = f->data[3];
    said->value = (uint32_t)f->data[4] | (uint32_t)f->data[5] << 8
                  | (uint32_t)f->data[6] << 16 | (uint32_t)f->data[7] << 24;
    return f->data[2] == READ_REGISTER ? FT_HEARD_SETTING : FT_HEARD_ECHO;
}

/* Read a frame from this drive. */
ft_drive_heard ft_damiao_hear(const ft_frame *f, const ft_drive_config *c,
                              ft_drive_said *said)
{
    const uint8_t code = (uint8_t)(f->data[0] >> 4);

    if (f->id != c->reply || f->size != 8u)
        return FT_HEARD_NOTHING;
    if (is_setting(f, c))
        return setting(f, said);
    if ((f->data[0] & 15u) != (c->id & 15u))
        return FT_HEARD_NOTHING;
    ft_mit_state(f, c, said);
    said->enabled = code == ENABLED;
    said->error = code > ENABLED ? code : 0u;
    said->warmth = f->data[6];
    return FT_HEARD_STATE;
}
