/* Inverse dynamics of a serial arm by Newton and Euler's recursion, as one
 * writes it by hand: a loop over a table of links (arm.h). Every joint turns
 * about the z axis of its own frame. */
#include <math.h>

#include "arm.h" /* LINKS, link, arm, gravity */

typedef struct {
    float x, y, z;
} vec;

void loop_rnea(const float *q, const float *qd, const float *qdd, float *tau);

static inline vec add(vec a, vec b)
{
    return (vec){ a.x + b.x, a.y + b.y, a.z + b.z };
}

static inline vec cross(vec a, vec b)
{
    return (vec){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z,
                  a.x * b.y - a.y * b.x };
}

/* R v. */
static inline vec turn(const float R[9], vec v)
{
    return (vec){ R[0] * v.x + R[1] * v.y + R[2] * v.z,
                  R[3] * v.x + R[4] * v.y + R[5] * v.z,
                  R[6] * v.x + R[7] * v.y + R[8] * v.z };
}

/* R' v. */
static inline vec turn_back(const float R[9], vec v)
{
    return (vec){ R[0] * v.x + R[3] * v.y + R[6] * v.z,
                  R[1] * v.x + R[4] * v.y + R[7] * v.z,
                  R[2] * v.x + R[5] * v.y + R[8] * v.z };
}

/* I v, I symmetric: xx yy zz xy xz yz. */
static inline vec inertia_times(const float I[6], vec v)
{
    return (vec){ I[0] * v.x + I[3] * v.y + I[4] * v.z,
                  I[3] * v.x + I[1] * v.y + I[5] * v.z,
                  I[4] * v.x + I[5] * v.y + I[2] * v.z };
}

/* R = R0 Rz(q). */
static inline void rotation(const float R0[9], float q, float R[9])
{
    const float c = cosf(q), s = sinf(q);
    int row;

    for (row = 0; row < 9; row += 3) {
        R[row] = R0[row] * c + R0[row + 1] * s;
        R[row + 1] = R0[row + 1] * c - R0[row] * s;
        R[row + 2] = R0[row + 2];
    }
}

/* wd x r + w x (w x r). */
static inline vec carried(vec w, vec wd, vec r)
{
    return add(cross(wd, r), cross(w, cross(w, r)));
}

void loop_rnea(const float *q, const float *qd, const float *qdd, float *tau)
{
    float R[LINKS][9];
    vec F[LINKS], N[LINKS];
    vec w = { 0.0f, 0.0f, 0.0f }, wd = w, f = w, n = w;
    vec a = { -gravity[0], -gravity[1], -gravity[2] };
    int i;

    for (i = 0; i < LINKS; i++) {
        const link *l = &arm[i];
        const vec p = { l->p[0], l->p[1], l->p[2] };
        const vec c = { l->com[0], l->com[1], l->com[2] };
        vec at_com;

        rotation(l->R0, q[i], R[i]);
        a = turn_back(R[i], add(a, carried(w, wd, p)));
        w = turn_back(R[i], w);
        wd = turn_back(R[i], wd);
        wd.x += w.y * qd[i];
        wd.y -= w.x * qd[i];
        wd.z += qdd[i];
        w.z += qd[i];
        at_com = add(a, carried(w, wd, c));
        F[i] = (vec){ l->mass * at_com.x, l->mass * at_com.y,
                      l->mass * at_com.z };
        N[i] = add(add(inertia_times(l->I, wd),
                       cross(w, inertia_times(l->I, w))), cross(c, F[i]));
    }
    for (i = LINKS - 1; i >= 0; i--) {
        const vec p = { arm[i].p[0], arm[i].p[1], arm[i].p[2] };

        f = add(f, F[i]);
        n = add(n, N[i]);
        tau[i] = n.z;
        f = turn(R[i], f);
        n = add(turn(R[i], n), cross(p, f));
    }
}
