/* The codec, ft_messages.c, which is emitted for a number of joints. */
#include "proof.h"

#include "ft_messages.c"

/* Whatever bytes a payload has, it is taken apart and put together again
 * within its size, and every byte comes back: no value of a field is lost, on
 * the way out or in. */
#define THERE_AND_BACK(name, NAME) \
    { \
        uint8_t in[FT_MSG_##NAME##_SIZE], out[FT_MSG_##NAME##_SIZE]; \
        ft_msg_##name m; \
        size_t k = nondet_size(); \
        \
        ANYTHING(in); \
        ft_msg_##name##_unpack(in, &m); \
        ft_msg_##name##_pack(&m, out); \
        GIVEN(k < sizeof in); \
        CLAIM(in[k] == out[k]); \
    }

/* Every message to the board, any bytes of it: unpacking reads no byte beyond
 * its size, and packing what was unpacked gives the same bytes. As a message
 * has as many values as its bytes have, unpacking what was packed gives the
 * same message.
 * Run: unwind=34 mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_in(void)
{
    THERE_AND_BACK(knot, KNOT)
    THERE_AND_BACK(command, COMMAND)
    THERE_AND_BACK(home, HOME)
    THERE_AND_BACK(sense, SENSE)
    THERE_AND_BACK(float, FLOAT)
    THERE_AND_BACK(jog, JOG)
    THERE_AND_BACK(seek, SEEK)
    THERE_AND_BACK(probe, PROBE)
    THERE_AND_BACK(gains, GAINS)
    THERE_AND_BACK(capture, CAPTURE)
    THERE_AND_BACK(read, READ)
    THERE_AND_BACK(follow, FOLLOW)
    THERE_AND_BACK(target, TARGET)
    END;
}

/* So is every message that the board sends, but STATUS.
 * Run: unwind=66 mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_out(void)
{
    THERE_AND_BACK(ident, IDENT)
    THERE_AND_BACK(drive, DRIVE)
    THERE_AND_BACK(drives, DRIVES)
    THERE_AND_BACK(data, DATA)
    THERE_AND_BACK(about, ABOUT)
    THERE_AND_BACK(followed, FOLLOWED)
    THERE_AND_BACK(felt, FELT)
    END;
}

/* So is STATUS.
 * Run: unwind=66 mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_status(void)
{
    THERE_AND_BACK(status, STATUS)
    END;
}

/* The size that a type of message has is that of one which a frame has room
 * for, or says that there is no such type.
 * Run: mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_sizes(void)
{
    size_t size = ft_msg_size(nondet_u8());

    CLAIM(size == FT_MSG_NO_SIZE
          || size <= FT_FRAME_TX_MAX - FT_FRAME_HEADER - FT_FRAME_CRC);
    END;
}
