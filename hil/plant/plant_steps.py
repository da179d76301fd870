"""What a plant that C moves on looks like from the outside (plant_steps.h)."""

from __future__ import annotations

from pathlib import Path

MOST = 32  # joints, as in linear.h; plants of more are NumPy's
PLANT_STEPS = {"plant_steps.h": Path(__file__).with_name("plant_steps.h").read_text(encoding="utf-8")}
PLANT_STEPS_CDEF = """
typedef struct {
    void *arm; int64_t (*take)(void *, double, int64_t); int64_t n; double *q, *v, *current, *volts;
    double max_step, time;
} plant_steps;
"""
