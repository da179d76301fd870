"""The torque of a warm motor, by voltage, with and without a correction of R by the heat that the board counts.

The motor has two nodes, winding and housing, with the numbers of its data sheet:

    C_w T_w' = R I^2 - (T_w - T_h) / R_wh,    C_h T_h' = (T_w - T_h) / R_wh - (T_h - T_a) / R_ha

FAULHABER 3863 H 024 CR, edition May 2012: Rth1 / Rth2 = 2.5 / 6 K/W, time constants 50 / 900 s, rotor up to 155 deg C.
The copper's resistance rises by 0.393 % per K.
"""

import numpy as np
import pytest

from femtorque.codegen.mechanism import motors

WINDING, HOUSING, WINDING_S, HOUSING_S = 2.5, 6.0, 50.0, 900.0  # K/W, K/W, s, s
COLD, HOT, COPPER = 25.0, 155.0, 0.00393  # deg C, deg C, 1/K
MOUNTED = 0.45  # of HOUSING: on a metal plate
STEP, MINUTES = 0.5, (0.5, 5, 15, 120)  # s


def torques(load: float, housing: float) -> np.ndarray:
    """Return the relative errors of the torque (3, minutes). The first row has the file's R. The second row has an R
    that the counted heat corrects, as if a heat of 1 meant HOT. The third row has only the winding's part of this
    correction. load: fraction of the continuous current. housing: thermal resistance of the housing, K/W."""
    sold = motors.named("faulhaber-3863-024cr")
    assert sold.continuous is not None and sold.thermal_s == WINDING_S
    winding, case, heat, errors = COLD, COLD, 0.0, []
    for k in range(round(60.0 * MINUTES[-1] / STEP) + 1):
        warm = 1.0 + COPPER * (winding - COLD)
        if k * STEP / 60.0 in MINUTES:
            part = WINDING / (WINDING + HOUSING)
            errors.append([(1.0 + COPPER * (HOT - COLD) * share * heat) / warm - 1.0 for share in (0.0, 1.0, part)])
        power, flow = sold.R * warm * (load * sold.continuous) ** 2, (winding - case) / WINDING
        winding += STEP * (power - flow) * WINDING / WINDING_S
        case += STEP * (flow - (case - COLD) / housing) * HOUSING / HOUSING_S
        heat += STEP / sold.thermal_s * (load**2 - heat)  # codegen/control/thermal_limits.py
    return np.transpose(errors)


@pytest.mark.bench
def test_the_heat_that_the_board_counts_is_no_temperature_of_the_winding() -> None:
    """Prints the table of THEORY.md, section 7. A correction by the counted heat errs more than no correction."""
    for load in (1.0, 0.5):
        for housing in (HOUSING, MOUNTED * HOUSING):
            found = torques(load, housing)
            print(f"{load:g} of the current, {housing:g} K/W:", *(f"{x:+.0%}" for x in found.ravel()))
            assert np.all(np.abs(found[1, :2]) > 1.5 * np.abs(found[0, :2]))
            assert abs(found[2, -1]) < 0.75 * abs(found[0, -1])
