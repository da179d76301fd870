/* Calls functions with numbers at the ends of their types. The program is built
 * with sanitizers and runs one case. */
#include "ft_bus.c"
#include "ft_lab.c"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Check a silent drive whose joint seems to move at u, rad or m in half a tick.
 * The observer must get no more counts than a joint can move. */
static int silent(ft_real u)
{
    static ft_bus bus;
    static ft_observer seen;
    static bool homed[FT_JOINTS];
    int32_t counts[FT_JOINTS];

    bus.drive[0].held = true;
    bus.drive[0].fed = INT32_MAX;
    seen.u[0] = u;
    ft_bus_hear(&bus, &seen, homed, counts);
    return abs(counts[0]) > ft_joint[0].counts;
}

/* Check that a place before the field's first place is below this first
 * place. */
static int outside(void)
{
    return place_of(0, -20) >= place_of(0, 0);
}

/* Check an encoder that counts on from the end of a number's range. */
static int travelled(int32_t from, int32_t counts)
{
    static ft_lab lab;
    const ft_lab_input in = { .counts = &counts };

    lab.travelled = from;
    return travel(&lab, &in) != (uint32_t)INT32_MAX + 1u;
}

/* Check a joint that is led by hand to the farthest place outside its
 * limits. */
static int led_outside(int32_t at)
{
    static ft_lab lab;
    static ft_observer seen;
    static ft_findings found;
    static const ft_real tau[FT_JOINTS];
    const ft_law_input in = { .tau = tau, .seen = &seen };

    seen.coarse[0] = at;
    return (floating(&lab, 0, &in, &found) < FT_C(0.0)) != (at > 0)
           || !found.any;
}

int main(int argc, char **argv)
{
    switch (argc > 1 ? atoi(argv[1]) : -1) {
    case 0: return silent((ft_real)NAN);
    case 1: return silent(FT_C(-1e30));
    case 2: return outside();
    case 3: return travelled(INT32_MAX, 1);
    case 4: return travelled(INT32_MIN, 0);
    case 5: return led_outside(INT32_MIN);
    case 6: return led_outside(INT32_MAX);
    default: return 99;
    }
}
