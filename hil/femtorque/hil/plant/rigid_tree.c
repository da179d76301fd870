/* A tree of rigid bodies at one pose and its velocities, in the world frame.
 * hil/plant/rigid_tree.py explains the sums. The sums are in C because a
 * control tick has several steps of the plant, and each step has thousands of
 * small products. Vectors are three numbers, and matrices are nine numbers, row
 * by row. Body 0 is the base. Joint k moves body k. The data of the joint are
 * at index k - 1. */
#include "rigid_tree.h"

#include <math.h>

typedef struct {
    double *mass, *coriolis, *gravity;
} dynamics;

/* Form a . b. */
static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Add s (a x b). */
static void add_cross(double *out, double s, const double *a, const double *b)
{
    out[0] += s * (a[1] * b[2] - a[2] * b[1]);
    out[1] += s * (a[2] * b[0] - a[0] * b[2]);
    out[2] += s * (a[0] * b[1] - a[1] * b[0]);
}

/* Add s a. */
static void add(double *out, double s, const double *a)
{
    out[0] += s * a[0];
    out[1] += s * a[1];
    out[2] += s * a[2];
}

/* Set a vector to zero. */
static void clear(double *out)
{
    out[0] = out[1] = out[2] = 0.0;
}

/* Form m a, m a matrix. */
static void turned(double *out, const double *m, const double *a)
{
    int x;
    for (x = 0; x < 3; x++)
        out[x] = dot(m + 3 * x, a);
}

/* Form r' a, r a rotation. */
static void turned_back(double *out, const double *r, const double *a)
{
    int x;
    for (x = 0; x < 3; x++)
        out[x] = r[x] * a[0] + r[3 + x] * a[1] + r[6 + x] * a[2];
}

/* Compute the rotation of body k: R_k = R_p (F + C cos q + S sin q). */
static void turn(const rigid_tree *t, int64_t k, double q)
{
    const double *from = t->rotation + 9 * t->parent[k - 1];
    double c = cos(q), s = sin(q), local[9];
    double *to = t->rotation + 9 * k;
    int64_t at = 9 * (k - 1);
    int x, y;
    for (x = 0; x < 9; x++)
        local[x] = t->fixed[at + x] + c * t->cosine[at + x] +
                   s * t->sine[at + x];
    for (x = 0; x < 3; x++)
        for (y = 0; y < 3; y++)
            to[3 * x + y] = from[3 * x] * local[y] +
                            from[3 * x + 1] * local[3 + y] +
                            from[3 * x + 2] * local[6 + y];
}

/* Set the pose of body k and its angular velocity. */
static void place(const rigid_tree *t, int64_t k, double q, double v)
{
    int64_t j = k - 1, p = t->parent[j];
    double shift[3], axis[3];
    turn(t, k, q);
    clear(shift);
    add(shift, 1.0, t->offset + 3 * j);
    add(shift, q, t->slide + 3 * j);
    turned(t->origin + 3 * k, t->rotation + 9 * p, shift);
    add(t->origin + 3 * k, 1.0, t->origin + 3 * p);
    turned(axis, t->rotation + 9 * k, t->axis + 3 * j);
    clear(t->omega + 3 * k);
    add(t->omega + 3 * k, 1.0, t->omega + 3 * p);
    add(t->omega + 3 * k, v * t->turns[j], axis);
}

/* Compute I a of body i in the world frame. */
static void spun(const rigid_tree *t, int64_t i, const double *a, double *out)
{
    const double *rotation = t->rotation + 9 * i;
    double within[3], of[3];
    turned_back(within, rotation, a);
    turned(of, t->inertia + 9 * (i - 1), within);
    turned(out, rotation, of);
}

/* Compute the velocities of body i for a unit velocity of joint j: jv of its
 * centre of gravity, angular velocity jw. spun: the angular momentum of jw. */
static void reach(const rigid_tree *t, int64_t i, int64_t j,
                  const double *centre)
{
    double *jv = t->jv + 3 * j, *jw = t->jw + 3 * j, axis[3], lever[3];
    turned(axis, t->rotation + 9 * j, t->axis + 3 * (j - 1));
    clear(lever);
    add(lever, 1.0, centre);
    add(lever, -1.0, t->origin + 3 * j);
    clear(jw);
    add(jw, t->turns[j - 1], axis);
    clear(jv);
    add(jv, 1.0 - t->turns[j - 1], axis);
    add_cross(jv, 1.0, jw, lever);
    spun(t, i, jw, t->spun + 3 * j);
}

/* Compute the rates of these velocities, nv and nw, and the gyroscopic term.
 * beyond: velocity of the centre of gravity due to the joints after j. */
static void change(const rigid_tree *t, int64_t i, int64_t j,
                   const double *beyond)
{
    const double *jv = t->jv + 3 * j, *jw = t->jw + 3 * j;
    const double *of_i = t->omega + 3 * i, *of_j = t->omega + 3 * j;
    double *nv = t->nv + 3 * j, *nw = t->nw + 3 * j, *gyro = t->gyro + 3 * j;
    double rest[3], momentum[3];
    clear(nv);
    add_cross(nv, 1.0, of_j, jv);
    add_cross(nv, 1.0, jw, beyond);
    clear(rest);
    add(rest, 1.0, of_i);
    add(rest, -1.0, of_j);
    clear(nw);
    add_cross(nw, 0.5, of_j, jw);
    add_cross(nw, 0.5, jw, rest);
    spun(t, i, of_i, momentum);
    clear(gyro);
    add_cross(gyro, 0.5, of_i, t->spun + 3 * j);
    add_cross(gyro, -0.5, momentum, jw);
}

/* Add the contribution of body i to M and C at joints j and k. */
static void join(const rigid_tree *t, int64_t i, int64_t j, int64_t k,
                 const dynamics *found)
{
    const double *jv = t->jv + 3 * j, *jw = t->jw + 3 * j;
    int64_t at = (j - 1) * t->n + k - 1;
    double m = t->mass[i - 1];
    found->mass[at] += m * dot(jv, t->jv + 3 * k) + dot(jw, t->spun + 3 * k);
    found->coriolis[at] += m * dot(jv, t->nv + 3 * k) +
                           dot(t->spun + 3 * j, t->nw + 3 * k) +
                           dot(jw, t->gyro + 3 * k);
}

/* Return 1 if a body has mass. Gears between two joints are massless. */
static int is_there(const rigid_tree *t, int64_t i)
{
    int x;
    for (x = 0; x < 9; x++)
        if (t->inertia[9 * (i - 1) + x] != 0.0)
            return 1;
    return t->mass[i - 1] != 0.0;
}

/* Add body i's part. */
static void add_body(const rigid_tree *t, int64_t i, const double *v,
                     const dynamics *found)
{
    double centre[3], beyond[3], m = t->mass[i - 1];
    int64_t j, k;
    turned(centre, t->rotation + 9 * i, t->centre + 3 * (i - 1));
    add(centre, 1.0, t->origin + 3 * i);
    clear(beyond);
    for (j = i; j > 0; j = t->parent[j - 1]) {
        reach(t, i, j, centre);
        change(t, i, j, beyond);
        add(beyond, v[j - 1], t->jv + 3 * j);
        found->gravity[j - 1] += m * dot(t->jv + 3 * j, t->gravity);
    }
    for (j = i; j > 0; j = t->parent[j - 1])
        for (k = i; k > 0; k = t->parent[k - 1])
            join(t, i, j, k, found);
}

/* Add M, C and the gravity torque, in this order, to zeros. */
void rigid_tree_at(const rigid_tree *t, const double *q, const double *v,
                   double *found)
{
    int64_t k, square = t->n * t->n;
    const dynamics parts = {found, found + square, found + 2 * square};
    for (k = 1; k <= t->n; k++)
        place(t, k, q[k - 1], v[k - 1]);
    for (k = 1; k <= t->n; k++)
        if (is_there(t, k))
            add_body(t, k, v, &parts);
}
