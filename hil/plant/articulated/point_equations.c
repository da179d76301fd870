/* What hil/plant/articulated/equations.py and the Along of drives.py explain.
 *
 * C are the K rows of mechanisms, rotors and couplings, G the n gradients of
 * the coordinates, W the accelerations of free solids under unit forces. The
 * matrix
 *
 *     C W C'  C W G'                 L
 *     G W C'  G W G'   is factored:  B  compliance,   L L' = C W C'
 *
 * as far as its first K columns; what is left of G W G' is the compliance of
 * the joined system. A row touches one solid or two, so the factor has zeros to
 * the left of the first row that shares a solid with its own; they are never
 * written. */
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

/* Add by times the gradient of one factor's side of a form: where a's points
 * move, the other factor says how much that counts. */
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

/* Add by times the gradient of form f to a row. */
static void add_form(const point_system *s, point_equations *e, int64_t row,
                     int64_t f, double by)
{
    double *blocks = gradient(e, row, 0);
    add_side(s->row + row, &s->forms[f].u, by, e->w + 3 * f, blocks);
    add_side(s->row + row, &s->forms[f].w, by, e->u + 3 * f, blocks);
}

/* Add by times the gradient of a coordinate to a row. */
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

/* Form factors and values of the forms. */
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

/* Form the rows but for the rotors' own part, which is -1. */
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

/* Form a row's product with velocities or forces (size). */
double point_row_times(const point_system *s, const point_equations *e,
                       int64_t row, const double *v)
{
    const point_row *r = s->row + row;
    double sum = r->rotor < 0 ? 0.0 : -v[BLOCK * s->solids + r->rotor];
    int64_t b;
    int i;
    for (b = 0; b < r->count; b++) {
        const double *c = gradient(e, row, b), *of = v + BLOCK * r->solid[b];
        double part[3] = {0.0};
        for (i = 0; i < BLOCK; i++)
            part[i % 3] += c[i] * of[i];
        sum += (part[0] + part[1]) + part[2];
    }
    return sum;
}

/* -- the factor ---------------------------------------------------------- */

/* Form W between all rows that share a solid. */
static void form_mobility(const point_system *s, point_equations *e)
{
    int64_t width = s->K + s->n, i, j, k;
    int c;
    for (i = 0; i < width; i++) {
        memset(e->factor + i * width + s->first[i], 0,
               (size_t)(i - s->first[i] + 1) * sizeof(double));
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
                double sum = 0.0;
                for (c = 0; c < MOTIONS; c++)
                    sum += one[c] * other[c];
                e->factor[a->row * width + b->row] += by * sum;
            }
        }
    for (k = 0; k < s->rotors; k++)
        e->factor[(s->rows + k) * (width + 1)] +=
            s->inverse[BLOCK * s->solids + k];
}

/* Take from an element what the columns before `end` say. */
static double left(const point_system *s, const double *one, int64_t i,
                   const double *other, int64_t j, int64_t end)
{
    int64_t k = s->first[i] > s->first[j] ? s->first[i] : s->first[j];
    double even = 0.0, odd = 0.0;
    for (; k + 1 < end; k += 2) {
        even += one[k] * other[k];
        odd += one[k + 1] * other[k + 1];
    }
    if (k < end)
        even += one[k] * other[k];
    return one[j] - (even + odd);
}

/* Factor as far as the first K columns; 0 if a row depends on others. */
static int factor(const point_system *s, point_equations *e)
{
    int64_t width = s->K + s->n, i, j;
    for (i = 0; i < width; i++) {
        double *one = e->factor + i * width;
        for (j = s->first[i]; j <= i; j++) {
            const double *other = e->factor + j * width;
            double sum = left(s, one, i, other, j, j < s->K ? j : s->K);
            if (i < s->K && i == j && !(sum >= SINGULAR * one[i]))
                return 0;
            if (j >= s->K)
                one[j] = sum;
            else
                one[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return 1;
}

/* Find L' x = b, b in x. */
static void substitute_back(const point_system *s, const point_equations *e,
                            double *x)
{
    int64_t i, k;
    for (i = s->K - 1; i >= 0; i--) {
        const double *row = e->factor + i * (s->K + s->n);
        x[i] /= row[i];
        for (k = s->first[i]; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

/* Find L x = b, b in x. */
static void substitute(const point_system *s, const point_equations *e,
                       double *x)
{
    int64_t i, k;
    for (i = 0; i < s->K; i++) {
        const double *row = e->factor + i * (s->K + s->n);
        for (k = s->first[i]; k < i; k++)
            x[i] -= row[k] * x[k];
        x[i] /= row[i];
    }
}

/* -- what the system answers --------------------------------------------- */

/* Add W times rows, those of C times multipliers (K), and one of G, or -1. */
static void add_answers(const point_system *s, const point_equations *e,
                        const double *multipliers, int64_t also, double *out)
{
    int64_t k, i;
    int c;
    for (k = 0; k < s->solids; k++) {
        double sum[MOTIONS] = {0.0};
        for (i = s->begin[k]; i < s->begin[k + 1]; i++) {
            const point_part *a = s->part + i;
            const double *of = reduced(e, a->row, a->block);
            double by = a->row < s->K ? multipliers[a->row]
                                      : (double)(a->row == s->K + also);
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

/* Form what unit torques along the coordinates cause. */
static void form_responses(const point_system *s, point_equations *e)
{
    int64_t i, k, width = s->K + s->n;
    memset(e->response, 0, (size_t)(s->n * s->size) * sizeof(double));
    for (i = 0; i < s->n; i++) {
        const double *row = e->factor + (s->K + i) * width;
        double *push = e->push + i * s->K;
        for (k = 0; k < s->K; k++)
            push[k] = -row[k];
        substitute_back(s, e, push);
        add_answers(s, e, push, i, e->response + i * s->size);
    }
}

/* Look at the system at degrees of freedom z; 0 if its pose is singular. */
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
    if (!factor(s, e))
        return 0;
    form_responses(s, e);
    e->known = 1;
    return 1;
}

/* Form the mass-weighted least change (size) of velocities that changes the
 * distances, six a solid, and the other rows (K) so, and its multipliers. */
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
    add_answers(s, e, multipliers, -1, change);
}

/* Tell the velocity along coordinate i that a unit torque along j causes. */
double point_compliance(const point_system *s, const point_equations *e,
                        int64_t i, int64_t j)
{
    int64_t width = s->K + s->n, low = s->K + (i < j ? i : j);
    int64_t high = s->K + (i < j ? j : i);
    return e->factor[high * width + low];
}

/* Form the second time derivative of a form at velocities v without
 * accelerations of the points. */
static double curvature(const point_system *s, const double *v, int64_t f)
{
    double du[3], dw[3];
    point_move(&s->forms[f].u, v, du);
    point_move(&s->forms[f].w, v, dw);
    return 2.0 * point_dot(du, dw);
}

/* Form the acceleration of a coordinate at velocities v without accelerations
 * of the points. */
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

/* Add by times a row of G to forces (size). */
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
