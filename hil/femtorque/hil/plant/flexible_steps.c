/* Integration steps of hil/plant/flexible.py with the planar equations of
 * hil/plant/flexible_arm.py. The two C files explain the steps. The steps are
 * in C because each step solves the equations three times. */
#include "flexible_steps.h"

#include "dry_friction.h"

#include <math.h>
#include <string.h>

#define ROUNDS 3 /* of the speed terms */

/* The frame of a body: its first axis, its origin, its angular velocity, and
 * the acceleration of the origin if no joint accelerates. */
typedef struct {
    double axis[2], origin[2], rate, bias[2];
} frame;

/* The equations at a state: mass matrix, negative forces of motion. */
typedef struct {
    frame frames[MOST];
    double mass[MOST * MOST], force[MOST];
} equations;

static double dot(int64_t n, const double *a, const double *b)
{
    double sum = 0.0;
    int64_t i;
    for (i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* -- the equations ------------------------------------------------------- */

/* Compute r = first e1 + second e2 from the axes of a frame. */
static void turned(const frame *f, double first, double second, double *r)
{
    r[0] = first * f->axis[0] - second * f->axis[1];
    r[1] = first * f->axis[1] + second * f->axis[0];
}

/* Place the frames. */
static void place(const flexible_model *m, const double *q, const double *v,
                  frame *frames)
{
    frame base = {{1.0, 0.0}, {0.0, 0.0}, 0.0, {0.0, 0.0}};
    const frame *before = &base;
    double angle = 0.0, shift[2];
    int64_t j;
    int c;
    for (j = 0; j < m->J; j++) {
        frame *f = frames + j;
        turned(before, m->offset[2 * j], m->offset[2 * j + 1], shift);
        for (c = 0; c < 2; c++) {
            f->origin[c] = before->origin[c] + shift[c];
            f->bias[c] = before->bias[c] -
                         before->rate * before->rate * shift[c];
        }
        angle += q[j];
        f->rate = before->rate + v[j];
        f->axis[0] = cos(angle);
        f->axis[1] = sin(angle);
        before = f;
    }
}

/* Compute the velocities (2) of a point per unit velocity of each joint up to
 * its body's joint. r: vector from the body's origin to the point. */
static void lever(const frame *frames, int64_t body, const double *r,
                  double (*jac)[2])
{
    int64_t i;
    for (i = 0; i <= body; i++) {
        jac[i][0] = -(frames[body].origin[1] + r[1] - frames[i].origin[1]);
        jac[i][1] = frames[body].origin[0] + r[0] - frames[i].origin[0];
    }
}

/* Add m J'J and m J'a of a point. */
static void add(equations *e, int64_t size, int64_t count, double mass,
                double (*jac)[2], const double *a)
{
    int64_t i, k;
    for (i = 0; i < count; i++) {
        double first = mass * jac[i][0], second = mass * jac[i][1];
        for (k = 0; k < count; k++)
            e->mass[i * size + k] += first * jac[k][0] + second * jac[k][1];
        e->force[i] += first * a[0] + second * a[1];
    }
}

/* Add a point of a rigid body. */
static void add_rigid(const flexible_model *m, equations *e,
                      const flexible_rigid *p)
{
    const frame *f = e->frames + p->body;
    double r[2], a[2], jac[MOST][2];
    int c;
    turned(f, p->place[0], p->place[1], r);
    for (c = 0; c < 2; c++)
        a[c] = f->bias[c] - f->rate * f->rate * r[c] - m->gravity[c];
    lever(e->frames, p->body, r, jac);
    add(e, m->J + m->n, p->body + 1, p->mass, jac, a);
}

/* Add point p of the flexible link, with deflections U and rates V. */
static void add_flexible(const flexible_model *m, equations *e, int64_t p,
                         const double *U, const double *V)
{
    const double *N = m->across + p * m->n, *D = m->drawn + p * m->n * m->n;
    const frame *f = e->frames + m->J - 1;
    double pulled[MOST], pulling[MOST], r[2], relative[2], own[2], a[2];
    double jac[MOST][2], drawing, w = f->rate;
    int64_t i;
    int c;
    linear_times(m->n, D, U, pulled);
    linear_times(m->n, D, V, pulling);
    drawing = dot(m->n, pulled, V);
    turned(f, m->along[p] - 0.5 * dot(m->n, pulled, U), dot(m->n, N, U), r);
    turned(f, -dot(m->n, N, V), -drawing, relative);
    turned(f, -dot(m->n, pulling, V), 0.0, own);
    for (c = 0; c < 2; c++)
        a[c] = f->bias[c] - w * w * r[c] + 2.0 * w * relative[c] + own[c] -
               m->gravity[c];
    lever(e->frames, m->J - 1, r, jac);
    for (i = 0; i < m->n; i++)
        turned(f, -pulled[i], N[i], jac[m->J + i]);
    add(e, m->J + m->n, m->J + m->n, m->mass[p], jac, a);
}

/* Subtract the forces of bending by U: the linear terms with the dampers, and
 * the nonlinear terms. */
static void add_bending(const flexible_model *m, const double *U,
                        const double *V, double *force)
{
    double elastic[MOST], damped[MOST];
    int64_t n = m->n, i, g;
    linear_times(n, m->stiffness, U, elastic);
    linear_times(n, m->loss, V, damped);
    for (i = 0; i < n; i++)
        force[i] += elastic[i] + damped[i];
    for (g = 0; g < m->stations; g++) {
        const double *bend = m->bend + g * n, *lean = m->lean + g * n;
        double k = dot(n, bend, U), s = dot(n, lean, U), each;
        each = m->EI[g] * k * s;
        for (i = 0; i < n; i++)
            force[i] += bend[i] * each * s + lean[i] * each * k;
    }
}

/* Set up the equations at a state. */
static void form(const flexible_model *m, const double *x, const double *v,
                 equations *e)
{
    int64_t size = m->J + m->n, i;
    memset(e->mass, 0, (size_t)(size * size) * sizeof *e->mass);
    memset(e->force, 0, (size_t)size * sizeof *e->force);
    place(m, x, v, e->frames);
    for (i = 0; i < m->rigids; i++)
        add_rigid(m, e, m->rigid + i);
    for (i = 0; i < m->points; i++)
        add_flexible(m, e, i, x + m->J, v + m->J);
    add_bending(m, x + m->J, v + m->J, e->force + m->J);
}

/* -- one step ------------------------------------------------------------ */

/* The data of a step. soft: masses added by elasticity and dampers. */
typedef struct {
    double h, soft[MOST * MOST], system[MOST * MOST];
    double active[MOST], damping[MOST]; /* of the joints */
    double x[MOST], v[MOST], a[MOST], dry[MOST];
} step;

/* Compute the torques on the joints, and the effective mass `soft`. */
static void begin(const flexible_arm *a, const motors_at *at, double h, step *s)
{
    const flexible_model *m = a->model;
    int64_t size = m->J + m->n, i, k;
    s->h = h;
    memset(s->soft, 0, sizeof s->soft);
    for (i = 0; i < m->J; i++) {
        s->active[i] = motors_torque(&a->motors, at, i) + a->torque[i];
        s->damping[i] = a->viscous[i] + at->damping[i];
        s->soft[i * size + i] = 0.5 * h * s->damping[i];
        s->dry[i] = 0.0;
    }
    for (i = 0; i < m->n; i++)
        for (k = 0; k < m->n; k++)
            s->soft[(m->J + i) * size + m->J + k] =
                0.25 * h * h * m->stiffness[i * m->n + k] +
                0.5 * h * m->loss[i * m->n + k];
    memcpy(s->a, a->a, (size_t)size * sizeof *s->a);
}

/* Apply the mean of the old and the new accelerations. */
static void advance(const flexible_arm *a, step *s)
{
    int64_t i;
    double h = s->h;
    for (i = 0; i < a->model->J + a->model->n; i++) {
        double twice = a->a[i] + s->a[i];
        s->x[i] = a->x[i] + h * a->v[i] + 0.25 * h * h * twice;
        s->v[i] = a->v[i] + 0.5 * h * twice;
    }
}

/* Compute the accelerations at the step's end again. Return 0 for a
 * wall or equations without a solution. */
static int find(const flexible_arm *a, step *s)
{
    const flexible_model *m = a->model;
    int64_t size = m->J + m->n, i;
    double right[MOST];
    equations e;
    form(m, s->x, s->v, &e);
    if (a->wall && !a->wall(s->x, s->v))
        return 0;
    linear_times(size, s->soft, s->a, right);
    for (i = 0; i < size; i++)
        right[i] += a->pushed[i] - e.force[i];
    for (i = 0; i < m->J; i++) {
        right[i] += s->active[i] - s->damping[i] * s->v[i];
        e.mass[i * size + i] += a->rotor[i];
    }
    for (i = 0; i < size * size; i++)
        s->system[i] = e.mass[i] + s->soft[i];
    return linear_solve(size, s->system, 1, right, s->a);
}

/* Apply dry friction to the velocities. Return 0 for NaN. */
static int rub(const flexible_arm *a, step *s)
{
    int64_t J = a->model->J, size = J + a->model->n, i, j;
    double inverse[MOST * MOST], compliance[MOST * MOST];
    if (!linear_invert(size, s->system, inverse))
        return 0;
    for (i = 0; i < J; i++)
        for (j = 0; j < J; j++)
            compliance[i * J + j] = s->h * inverse[i * size + j];
    if (!friction_found(J, compliance, s->v, a->coulomb, s->dry))
        return 0;
    for (i = 0; i < size; i++)
        s->v[i] += s->h * dot(J, inverse + i * size, s->dry);
    for (i = 0; i < J; i++)
        if (fabs(s->dry[i]) < a->coulomb[i])
            s->v[i] = 0.0;
    return 1;
}

/* Advance the state to the end of the step. */
static void go_on(flexible_arm *a, const motors_at *at, const step *s)
{
    int64_t J = a->model->J, i;
    size_t bytes = (size_t)(J + a->model->n) * sizeof(double);
    for (i = 0; i < J; i++) {
        double mean = (s->x[i] - a->x[i]) / s->h;
        motors_turn(&a->motors, at, i, mean);
    }
    memcpy(a->x, s->x, bytes);
    memcpy(a->v, s->v, bytes);
    memcpy(a->a, s->a, bytes);
}

/* Take one step, or return 0 and leave the state unchanged. */
static int take_step(void *arm, const motors_at *at, double h)
{
    flexible_arm *a = arm;
    step s;
    int64_t i;
    int round, rubs = 0;
    begin(a, at, h, &s);
    advance(a, &s);
    for (round = 0; round < ROUNDS; round++) {
        if (!find(a, &s))
            return 0;
        advance(a, &s);
    }
    for (i = 0; i < a->model->J; i++)
        rubs |= a->coulomb[i] != 0.0;
    if (!linear_finite(a->model->J + a->model->n, s.v) ||
        (rubs && !rub(a, &s)))
        return 0;
    go_on(a, at, &s);
    a->time += h;
    return 1;
}

int64_t flexible_steps(void *arm, double h, int64_t count)
{
    flexible_arm *a = arm;
    return motors_steps(&a->motors, h, count, a, take_step);
}
