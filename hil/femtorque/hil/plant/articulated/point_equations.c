/* The equations of motion, as hil/plant/articulated/equations.py explains them.
 * C contains the K rows of mechanisms, rotors and couplings. G contains the n
 * gradients of the coordinates. W gives the accelerations of free solids for
 * unit forces. The matrix C W C' C W G' L G W C' G W G' is factorised as: B
 * compliance, L L' = C W C' The factorisation ends after the first K columns.
 * The matrix that remains of G W G' is the compliance of the joined system. A
 * row depends on one or two solids, so most elements of the factor are zero.
 * Each row has ranges of non-zero columns. The other columns are never
 * assigned. */
#include "point_equations.h"

#include "point_forms.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-12 /* see equations.py */

static double *gradient(const point_equations *e, int64_t row, int64_t block)
{
    return e->gradient + BLOCK * (TOUCHED * row + block);
}

static double *reduced(const point_equations *e, int64_t row, int64_t block)
{
    return e->reduced + MOTIONS * (TOUCHED * row + block);
}

/* -- rows ---------------------------------------------------------------- */

/* Add `by` times the gradient with respect to one factor of a form, for the
 * points of a. other: the other factor, which weights the gradient. */
static void add_side(const point_row *r, const point_vector *a, double by,
                     const double *other, double *blocks)
{
    int64_t i, b;
    int p, c;
    for (i = 0; i < a->count; i++) {
        for (b = 0; r->solid[b] != a->solid[i]; b++)
            ;
        for (p = 0; p < 4; p++)
            for (c = 0; c < 3; c++)
                blocks[BLOCK * b + 3 * p + c] += a->share[i][p] *
                                                 (by * other[c]);
    }
}

/* Add `by` times the gradient of form f to a row. */
static void add_form(const point_system *s, point_equations *e, int64_t row,
                     int64_t f, double by)
{
    double *blocks = gradient(e, row, 0);
    add_side(s->row + row, &s->forms[f].u, by, e->w + 3 * f, blocks);
    add_side(s->row + row, &s->forms[f].w, by, e->u + 3 * f, blocks);
}

/* Add `by` times the gradient of a coordinate to a row. */
static void add_coordinate(const point_system *s, point_equations *e,
                           int64_t row, int64_t coordinate, double by)
{
    int64_t first = s->rows + coordinate, second = first + s->n;
    double weights[2];
    coordinate_weights(s->turns[coordinate], e->form[first], e->form[second],
                       weights);
    add_form(s, e, row, first, by * weights[0]);
    add_form(s, e, row, second, by * weights[1]);
}

/* Compute the factors and the values of the forms. */
static void form_forms(const point_system *s, point_equations *e)
{
    int64_t f, i;
    for (f = 0; f < s->rows + 2 * s->n; f++) {
        point_place(&s->forms[f].u, e->z, e->u + 3 * f);
        point_place(&s->forms[f].w, e->z, e->w + 3 * f);
        e->form[f] = point_dot(e->u + 3 * f, e->w + 3 * f);
    }
    for (i = 0; i < s->n; i++)
        e->q[i] = coordinate_value(s->turns[i], e->form[s->rows + i],
                                   e->form[s->rows + s->n + i]);
}

/* Fill the constraint rows, without a rotor's coefficient of -1. */
static void form_rows(const point_system *s, point_equations *e)
{
    int64_t k, row = s->rows;
    memset(e->gradient, 0,
           (size_t)((s->K + s->n) * TOUCHED * BLOCK) * sizeof(double));
    for (k = 0; k < s->rows; k++)
        add_form(s, e, k, k, 1.0);
    for (k = 0; k < s->rotors; k++)
        add_coordinate(s, e, row++, s->geared[k], 1.0);
    for (k = 0; k < s->couplings; k++, row++) {
        const point_coupling *c = s->coupling + k;
        add_coordinate(s, e, row, c->follower, 1.0);
        add_coordinate(s, e, row, c->leader, -c->ratio);
    }
    for (k = 0; k < s->n; k++)
        add_coordinate(s, e, row++, k, 1.0);
}

/* Compute a row's product with velocities or forces (size). */
double point_row_times(const point_system *s, const point_equations *e,
                       int64_t row, const double *v)
{
    const point_row *r = s->row + row;
    double even = r->rotor < 0 ? 0.0 : -v[BLOCK * s->solids + r->rotor];
    double odd = 0.0;
    int64_t b;
    int i;
    for (b = 0; b < r->count; b++) {
        const double *c = gradient(e, row, b), *of = v + BLOCK * r->solid[b];
        for (i = 0; i < BLOCK; i += 2) {
            even += c[i] * of[i];
            odd += c[i + 1] * of[i + 1];
        }
    }
    return even + odd;
}

/* -- the factor ---------------------------------------------------------- */

/* Finish the previous row's ranges of columns, and begin a row's ranges. */
static const point_run *runs_of(const point_system *s, int64_t row)
{
    return s->run + s->runs[row];
}

/* Compute W for all rows that share a solid. */
static void form_mobility(const point_system *s, point_equations *e)
{
    int64_t width = s->K + s->n, i, j, k;
    int c;
    for (i = 0; i < width; i++) {
        double *row = e->factor + i * width;
        const point_run *r;
        for (r = runs_of(s, i); r < runs_of(s, i + 1); r++)
            memset(row + r->from, 0, (size_t)(r->to - r->from) * sizeof *row);
        for (k = i < s->K ? i : s->K; k <= i; k++)
            row[k] = 0.0;
        for (k = 0; k < s->row[i].count; k++)
            free_solid_reduce(e->solid + s->row[i].solid[k], gradient(e, i, k),
                              reduced(e, i, k));
    }
    for (k = 0; k < s->solids; k++)
        for (i = s->begin[k]; i < s->begin[k + 1]; i++) {
            const point_part *a = s->part + i;
            const double *one = reduced(e, a->row, a->block);
            double by = s->inverse[BLOCK * k];
            for (j = s->begin[k]; j <= i; j++) {
                const point_part *b = s->part + j;
                const double *other = reduced(e, b->row, b->block);
                double even = 0.0, odd = 0.0;
                for (c = 0; c < MOTIONS; c += 2) {
                    even += one[c] * other[c];
                    odd += one[c + 1] * other[c + 1];
                }
                e->factor[a->row * width + b->row] += by * (even + odd);
            }
        }
    for (k = 0; k < s->rotors; k++)
        e->factor[(s->rows + k) * (width + 1)] +=
            s->inverse[BLOCK * s->solids + k];
}

/* From element j of a row, subtract the contributions of the columns that are
 * left of column j. other: row j. */
static double left(const point_system *s, const double *one, int64_t j,
                   const double *other)
{
    double even = 0.0, odd = 0.0;
    const point_run *r;
    for (r = runs_of(s, j); r < runs_of(s, j + 1); r++) {
        int64_t k = r->from;
        for (; k + 1 < r->to; k += 2) {
            even += one[k] * other[k];
            odd += one[k + 1] * other[k + 1];
        }
        if (k < r->to)
            even += one[k] * other[k];
    }
    return one[j] - (even + odd);
}

/* Factorise a row up to K columns. Return 0 if it depends on others. */
static int factor_row(const point_system *s, point_equations *e, int64_t i)
{
    int64_t width = s->K + s->n, j;
    double *one = e->factor + i * width, sum;
    const point_run *r;
    for (r = runs_of(s, i); r < runs_of(s, i + 1); r++)
        for (j = r->from; j < r->to; j++) {
            const double *other = e->factor + j * width;
            one[j] = left(s, one, j, other) / other[j];
        }
    for (j = s->K; j <= i; j++)
        one[j] = left(s, one, j, e->factor + j * width);
    if (i >= s->K)
        return 1;
    sum = left(s, one, i, one);
    if (!(sum >= SINGULAR * one[i]))
        return 0;
    one[i] = sqrt(sum);
    return 1;
}

/* Factorise all rows up to K columns. Return 0 if one depends on others. */
static int factor(const point_system *s, point_equations *e)
{
    int64_t i;
    for (i = 0; i < s->K + s->n; i++)
        if (!factor_row(s, e, i))
            return 0;
    return 1;
}

/* Solve L' x = b; initially x contains b. */
static void substitute_back(const point_system *s, const point_equations *e,
                            double *x)
{
    int64_t i, k;
    for (i = s->K - 1; i >= 0; i--) {
        const double *row = e->factor + i * (s->K + s->n);
        const point_run *r;
        double by = x[i] / row[i];
        for (r = runs_of(s, i); r < runs_of(s, i + 1); r++)
            for (k = r->from; k < r->to; k++)
                x[k] -= row[k] * by;
        x[i] = by;
    }
}

/* Solve L x = b; initially x contains b. */
static void substitute(const point_system *s, const point_equations *e,
                       double *x)
{
    int64_t i;
    for (i = 0; i < s->K; i++) {
        const double *row = e->factor + i * (s->K + s->n);
        x[i] = left(s, x, i, row) / row[i];
    }
}

/* -- what the system answers --------------------------------------------- */

/* Add W (rows of C times multipliers (K) + rows of G times torques (n)). */
static void add_answers(const point_system *s, const point_equations *e,
                        const double *multipliers, const double *torque,
                        double *out)
{
    int64_t k, i;
    int c;
    for (k = 0; k < s->solids; k++) {
        double sum[MOTIONS] = {0.0};
        for (i = s->begin[k]; i < s->begin[k + 1]; i++) {
            const point_part *a = s->part + i;
            const double *of = reduced(e, a->row, a->block);
            double by;
            if (a->row >= s->K && torque == 0)
                break;
            by = a->row < s->K ? multipliers[a->row] : torque[a->row - s->K];
            for (c = 0; c < MOTIONS; c++)
                sum[c] += by * of[c];
        }
        free_solid_expand(e->solid + k, s->inverse[BLOCK * k], sum,
                          out + BLOCK * k);
    }
    for (k = 0; k < s->rotors; k++) {
        i = BLOCK * s->solids + k;
        out[i] -= s->inverse[i] * multipliers[s->rows + k];
    }
}

/* Set up the equations at z. Return 0 if the pose is singular. */
int point_equations_at(const point_system *s, point_equations *e,
                       const double *z)
{
    size_t bytes = (size_t)s->size * sizeof(double);
    int64_t k;
    if (e->known && memcmp(e->z, z, bytes) == 0)
        return 1;
    e->known = 0;
    memcpy(e->z, z, bytes);
    for (k = 0; k < s->solids; k++)
        if (!free_solid_at(e->solid + k, z + BLOCK * k,
                           s->lengths + MOTIONS * k))
            return 0;
    form_forms(s, e);
    form_rows(s, e);
    form_mobility(s, e);
    e->known = factor(s, e);
    return e->known != 0;
}

/* Compute the mass-weighted minimum change (size) of velocities that changes
 * the rates of the distances, six per solid, and of the other rows (K) by given
 * values. Compute its multipliers too. */
void point_change(const point_system *s, const point_equations *e,
                  const double *distances, const double *others, double *change,
                  double *multipliers)
{
    int64_t k;
    for (k = 0; k < s->solids; k++)
        free_solid_change(e->solid + k, distances + MOTIONS * k,
                          change + BLOCK * k);
    for (k = 0; k < s->rotors; k++)
        change[BLOCK * s->solids + k] = 0.0;
    for (k = 0; k < s->K; k++)
        multipliers[k] = others[k] - point_row_times(s, e, k, change);
    substitute(s, e, multipliers);
    substitute_back(s, e, multipliers);
    add_answers(s, e, multipliers, 0, change);
}

/* Compute `by` times the accelerations (n, n) along the coordinates for unit
 * torques along the coordinates. */
void point_compliance(const point_system *s, const point_equations *e,
                      double by, double *compliance)
{
    int64_t n = s->n, i, j;
    for (i = 0; i < n; i++) {
        const double *row = e->factor + (s->K + i) * (s->K + n) + s->K;
        for (j = 0; j <= i; j++)
            compliance[i * n + j] = compliance[j * n + i] = by * row[j];
    }
}

/* Add the effect of torques (n) to velocities or accelerations. */
void point_answer(const point_system *s, const point_equations *e,
                  const double *torque, double *v)
{
    int64_t i, k;
    const point_run *r;
    memset(e->push, 0, (size_t)s->K * sizeof(double));
    for (i = s->K; i < s->K + s->n; i++) {
        const double *row = e->factor + i * (s->K + s->n);
        for (r = runs_of(s, i); r < runs_of(s, i + 1); r++)
            for (k = r->from; k < r->to; k++)
                e->push[k] -= row[k] * torque[i - s->K];
    }
    substitute_back(s, e, e->push);
    add_answers(s, e, e->push, torque, v);
}

/* Compute a form's second derivative at v when no point accelerates. */
static double curvature(const point_system *s, const double *v, int64_t f)
{
    double du[3], dw[3];
    point_move(&s->forms[f].u, v, du);
    point_move(&s->forms[f].w, v, dw);
    return 2.0 * point_dot(du, dw);
}

/* Compute a coordinate's acceleration at v when no point accelerates. */
double point_turning(const point_system *s, const point_equations *e,
                     const double *v, int64_t coordinate)
{
    int64_t first = s->rows + coordinate, second = first + s->n;
    double weights[2];
    coordinate_weights(s->turns[coordinate], e->form[first], e->form[second],
                       weights);
    return weights[0] * curvature(s, v, first) +
           weights[1] * curvature(s, v, second);
}

/* Add `by` times a row of G to forces (size). */
void point_row_add(const point_system *s, const point_equations *e, int64_t row,
                   double by, double *forces)
{
    const point_row *r = s->row + row;
    int64_t b;
    int i;
    for (b = 0; b < r->count; b++)
        for (i = 0; i < BLOCK; i++)
            forces[BLOCK * r->solid[b] + i] += by * gradient(e, row, b)[i];
}
