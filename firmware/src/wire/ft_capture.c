/* The recording; see ft_port.h. The main loop sets a recording up while
 * recording is off. The tick writes the samples, and ends the recording when it
 * is complete. */
#include "ft_port.h"

#include "ft_queue.h"  /* FT_STORED */

#include <string.h> /* memcpy, memset */

#define ROWS (32u / FT_CAPTURE_COLUMNS) /* samples in one DATA */

volatile bool ft_capture_on;

static struct {
    uint8_t id, mode;
    uint32_t every, word[FT_CAPTURE_COLUMNS];
    uint32_t next;             /* ticks until the next sample */
    volatile uint32_t taken;   /* samples of this recording so far */
    volatile uint32_t last_tick;
    uint32_t sample[FT_CAPTURE_SAMPLES][FT_CAPTURE_COLUMNS];
} capture;

/* Begin or end a recording, once for each id. */
void ft_capture_start(const ft_msg_capture *m)
{
    uint32_t i;

    if (m->mode == FT_CAPTURE_OFF)
        ft_capture_on = false;
    if (m->id == 0u || m->id == capture.id || m->every == 0u
        || (m->mode != FT_CAPTURE_ONCE && m->mode != FT_CAPTURE_RING))
        return;
    for (i = 0; i < FT_CAPTURE_COLUMNS; i++)
        if (m->word[i] >= FT_REPORT_WORDS)
            return;
    ft_capture_on = false;
    FT_STORED();
    for (i = 0; i < FT_CAPTURE_COLUMNS; i++)
        capture.word[i] = m->word[i];
    capture.id = m->id;
    capture.mode = m->mode;
    capture.every = m->every;
    capture.next = capture.taken = capture.last_tick = 0;
    FT_STORED();
    ft_capture_on = true;
}

/* Return the number of samples. */
static uint32_t count(void)
{
    uint32_t taken = capture.taken;

    return taken < FT_CAPTURE_SAMPLES ? taken : FT_CAPTURE_SAMPLES;
}

/* Copy samples, beginning with the first sample that was requested. */
void ft_capture_read(uint32_t first, ft_msg_data *m)
{
    uint32_t n = count(), oldest = capture.taken - n, row;

    memset(m, 0, sizeof *m);
    m->id = capture.id;
    m->running = ft_capture_on ? 1u : 0u;
    m->count = (uint16_t)n;
    m->first = (uint16_t)first;
    m->last_tick = capture.last_tick;
    for (row = 0; row < ROWS && first + row < n; row++) {
        uint32_t i = (oldest + first + row) & (FT_CAPTURE_SAMPLES - 1u);

        memcpy(&m->words[row * FT_CAPTURE_COLUMNS], capture.sample[i],
               sizeof capture.sample[i]);
    }
}

/* Return whether the recording is over. */
static bool over(uint32_t state)
{
    if (capture.mode == FT_CAPTURE_ONCE)
        return capture.taken >= FT_CAPTURE_SAMPLES;
    return state == FT_STATE_FAULT || state == FT_STATE_ESTOP;
}

/* Take a sample if one is due. state: at the end of the tick. */
void ft_capture_tick(const ft_control *c, uint32_t tick, uint32_t state)
{
    uint32_t *to = capture.sample[capture.taken & (FT_CAPTURE_SAMPLES - 1u)];
    uint32_t i;

    if (capture.next > 0u) {
        capture.next--;
        return;
    }
    capture.next = capture.every - 1u;
    for (i = 0; i < FT_CAPTURE_COLUMNS; i++)
        to[i] = ft_report_word(c, tick, capture.word[i]);
    capture.last_tick = tick;
    capture.taken++;
    if (over(state))
        ft_capture_on = false;
}
