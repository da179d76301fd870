"""Errors put into the firmware on purpose: each must be refuted by the proof that is named with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seeded:
    """An error in one file, the theorem that it breaks, and whether that is shown in `make test`."""

    theorem: str
    file: str
    old: str
    new: str
    quick: bool = False
    mechanism: str = "three_link"


SEEDED = (
    Seeded("crc_step", "ft_crc.c", "0x1db71064u", "0x1db71065u", quick=True),
    Seeded("crc_reads", "ft_crc.c", "i < size", "i <= size"),
    Seeded("cobs_decode_any", "ft_cobs.c", "run > size - from", "run > size", quick=True),
    Seeded("cobs_decode_gives_back", "ft_cobs.c", "code < 255u && from < size", "from < size || code < 255u"),
    Seeded("cobs_encode", "ft_cobs.c", "code++;", ";"),
    Seeded("messages_in", "ft_messages.c", "ft_msg_get_u16(b + 2) << 16", "ft_msg_get_u16(b + 2) << 15", quick=True),
    Seeded("safety_start", "ft_config.c", "[FT_FAULT_CODE] =", "[FT_FAULT_SUPPLY] =", quick=True),
    Seeded("safety_states", "ft_safety.c", "        outputs_off(s, c);\n    else if (how == FT_REACTION_BRAKE)",
           "        brake(s, c);\n    else if (how == FT_REACTION_BRAKE)"),
    Seeded("safety_states", "ft_safety.c", "[FT_EVENT_PAUSED] = { outputs_off, DISARMED }",
           "[FT_EVENT_PAUSED] = { nothing, DISARMED }"),
    Seeded("safety_estop", "ft_safety.c", "if (v->sensors->estop)", "if (v->sensors->estop && s->state != FLOAT)"),
    Seeded("safety_faults", "ft_conditions.c", "{ FT_FAULT_ENCODER, FT_OF_JOINTS, FT_OFF,",
           "{ FT_FAULT_ENCODER, FT_OF_JOINTS, FT_STOP,"),
    Seeded("safety_faults", "ft_safety.c", "how >= s->reaction", "how <= s->reaction", mechanism="braked"),
    Seeded("safety_requests", "ft_conditions.c", "{ FT_COMMAND_ARM, FT_REFUSAL_NOT_HOMED, homed },", ""),
    Seeded("safety_requests", "ft_conditions.c", "    { FT_EVENT_JOG, FT_REFUSAL_OUT_OF_BOUNDS, jog_allowed },\n", ""),
    Seeded("safety_requests", "ft_conditions.c", "{ FT_COMMAND_CLEAR, FT_REFUSAL_ESTOP_ACTIVE, estop_released },", ""),
    Seeded("app_outputs", "ft_app.c", "armed ? l->duty : none", "l->duty", quick=True),
    Seeded("app_watchdog", "ft_app.c", "if (tick == fed)", "if (tick < fed)", quick=True),
    Seeded("lab_plan", "ft_lab.c", "0u - displacement : displacement",
           "(uint32_t)-lab->travelled : displacement", quick=True),
    Seeded("lab_plan", "ft_lab.c", "ft_clamp(wanted - lab->velocity, step)", "wanted + step"),
    Seeded("lab_requests", "ft_lab.c", "lab->wanted = velocity;", "lab->wanted = velocity + velocity;"),
    Seeded("lab_law", "ft_lab.c", "l->torque[j] = ft_clamp(torque, most(lab, state, j));", "l->torque[j] = torque;"),
    Seeded("pace_stops", "ft_pace.c", "triangle(-s) > left", "triangle(-s) > left + 1"),
    Seeded("angles_sines", "ft_trig.h", "0.0807454348f", "0.0807455348f"),
)
