/* Calls functions with the extreme values of their types. The program is built
 * with sanitizers and runs one case. */
#include "ft_bus.c"
#include "ft_lab.c"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Check a silent drive whose observer has the velocity u, rad or m in half a
 * tick. The observer must not receive more counts than a joint can move in a
 * tick. */
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

/* Check that an extrapolated position below the field's first position is
 * smaller than the first position. */
static int outside(void)
{
    return place_of(0, -20) >= place_of(0, 0);
}

/* Check an encoder whose count passes the end of the number's range. */
static int travelled(int32_t from, int32_t counts)
{
    static ft_lab lab;
    const ft_lab_input in = { .counts = &counts };

    lab.travelled = from;
    return travel(&lab, &in) != (uint32_t)INT32_MAX + 1u;
}

/* Check a joint that is moved by hand to the farthest representable position
 * outside its limits. */
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
