/* The torque that a motion needs, on this computer and on the chip, for the
 * tests. */
#include "ft_law.h"

void law_needed(long n, const ft_real *before, const ft_real *after,
                const ft_real *tau, ft_real *out);

/* Compute this torque for n rows of all joints. */
void law_needed(long n, const ft_real *before, const ft_real *after,
                const ft_real *tau, ft_real *out)
{
    long i, j;

    for (i = 0; i < n; i++)
        for (j = 0; j < FT_JOINTS; j++)
            out[i * FT_JOINTS + j] =
                ft_law_needed((uint32_t)j, before[i * FT_JOINTS + j],
                              after[i * FT_JOINTS + j],
                              tau[i * FT_JOINTS + j]);
}
