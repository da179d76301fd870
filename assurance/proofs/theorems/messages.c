/* The codec of messages, ft_messages.c, emitted for a given number of
 * joints. */
#include "proof.h"

#include "ft_messages.c"

/* Unpack and pack any payload of one type. Every byte is restored. */
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

/* For any bytes of any message, unpacking reads no byte outside the message,
 * and packing the result gives the same bytes. A message has as many possible
 * values as its bytes have. So unpacking a packed message also gives the same
 * message.
 * Run: unwind=66 mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_both_ways(void)
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
    THERE_AND_BACK(ident, IDENT)
    THERE_AND_BACK(drive, DRIVE)
    THERE_AND_BACK(drives, DRIVES)
    THERE_AND_BACK(data, DATA)
    THERE_AND_BACK(about, ABOUT)
    THERE_AND_BACK(followed, FOLLOWED)
    THERE_AND_BACK(felt, FELT)
    THERE_AND_BACK(status, STATUS)
    END;
}

/* The size of each message type fits into a frame, or indicates that the type
 * does not exist.
 * Run: mechanisms=three_link,six_axis,five_bar,flexible_arm */
void prove_messages_sizes(void)
{
    size_t size = ft_msg_size(nondet_u8());

    CLAIM(size == FT_MSG_NO_SIZE
          || size <= FT_FRAME_TX_MAX - FT_FRAME_HEADER - FT_FRAME_CRC);
    END;
}
