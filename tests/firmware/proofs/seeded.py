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
    Seeded("safety_start", "ft_safety.c", "if (code != FT_FAULT_NONE)", "if (code == FT_FAULT_NONE)", quick=True),
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
    Seeded("safety_faults", "ft_conditions.c", "kinds |= FT_POWERED;", "kinds |= 0u;", mechanism="braked"),
    Seeded("law_torque", "ft_law.c", "return cut(l, j, torque, c->effort, in, found);", "return torque;"),
    Seeded("law_wild", "ft_law.c", "    if (!(ft_size(x) < BOUNDLESS)) {\n        ft_found(found, &found->wild, j);\n"
           "        return FT_C(0.0);\n    }\n", ""),
    Seeded("law_overlay", "ft_law.c", "l->overlay[i][joint] = share[i];", "l->overlay[i][joint] = share[0];"),
    Seeded("law_streak", "ft_findings.h", "tick - s->last > 1u", "tick > s->last + 1u", quick=True),
    Seeded("observer_tick", "ft_observer.c", "(int64_t)counts * ft_joint[j].step",
           "(int64_t)(counts * ft_joint[j].step)", quick=True),
    Seeded("observer_place", "ft_observer.c", "^ sign) - sign", "^ sign) + sign"),
    Seeded("motion_tick", "ft_motion.c", "boundary + 2 * on.half, on", "boundary, on"),
    Seeded("motion_requests", "ft_motion.c", "(ft_queue_whole(q) || can_stop(m, 0, one))", "true", quick=True),
    Seeded("motion_prepare", "ft_motion.c", "return buffered > 2u ? 2u : 1u;", "return 2u;"),
    Seeded("knots_taken", "ft_knots.c", "at <= c->upper && ", ""),
    Seeded("knots_taken", "ft_knots.c", "<= FT_C(1.05) * c->speed", ">= FT_C(1.05) * c->speed"),
    Seeded("knots_full", "ft_knots.c", "!q->open || ft_queue_credit(q) == 0u", "!q->open", quick=True),
    Seeded("queue_push", "ft_queue.c", "q->ends += end ? 1u : 0u;", "q->ends++;"),
    Seeded("port_receive", "ft_port.c", "rx.size < sizeof rx.bytes", "rx.size <= sizeof rx.bytes"),
    Seeded("port_sequence", "ft_port.c", "beyond < 0x8000u", "seq > rx.wanted", quick=True),
    Seeded("port_request", "ft_port.c", "s->request.posted || request->token == s->token", "s->request.posted"),
    Seeded("port_heard", "ft_port.c", "    if (!good(frame, size)) {",
           "    to->safety->silent = 0;\n    if (!good(frame, size)) {"),
    Seeded("port_status", "ft_port.c", "to->view->time->tick - rx.status_at >= STATUS_TICKS",
           "to->view->time->tick >= rx.status_at + STATUS_TICKS", quick=True),
    Seeded("report_all", "ft_report.c", "x > -2e6f", "x > -3e6f"),
    Seeded("capture_ring", "ft_capture.c", "(oldest + first + row) & (FT_CAPTURE_SAMPLES - 1u)",
           "oldest + first + row"),
    Seeded("watch_idle", "ft_watch.c", "!((ft_real)sensors->temperature <= FT_TEMPERATURE_MAX)",
           "(ft_real)sensors->temperature > FT_TEMPERATURE_MAX"),
    Seeded("watch_sums", "ft_watch.c", "left < CODE_PIECE ? left : CODE_PIECE", "CODE_PIECE", quick=True),
    Seeded("heat_told", "ft_heat.c", "if (warm.over[i])", "if (warm.over[0])", mechanism="warm", quick=True),
    Seeded("silence_stops", "ft_safety.c", "[FT_EVENT_SILENT] = { stay, HOLD },", ""),
    Seeded("silence_ends", "ft_conditions.c", "    { FT_FAULT_HOST_LOST, FT_ARMED, FT_STOP, host_there },\n", ""),
    Seeded("silence_counted", "ft_safety.c", "if (silent <= FT_HOST_LOST)", "if (silent < FT_HOST_LOST)"),
    Seeded("jog_slows", "ft_lab.c", "wanted - lab->velocity, step)", "wanted + lab->velocity, step)"),
    Seeded("outputs_duties", "ft_outputs.c", "float x = ft_bounded(duty[i], FT_DUTY_BOUND);", "float x = duty[i];",
           quick=True, mechanism="f405rg-4:voltage"),
    Seeded("outputs_duties", "ft_outputs.c", "ft_bounded(share * ft_bus_ratio(), 1.0f)", "share * ft_bus_ratio()",
           mechanism="odrive-v3.6:current"),
    Seeded("bus_frame", "ft_dialect.c", "step >= count || ", "", mechanism="drives"),
    Seeded("bus_hear", "ft_bus.c", "ft_size(counts) <= (ft_real)ft_joint[j].counts ? (int32_t)counts : 0",
           "(int32_t)counts", mechanism="drives"),
    Seeded("bus_hear", "ft_bus.c", "    if (d->state != FT_BUS_SILENT)\n        homed[joint] = false;\n", "",
           mechanism="drives"),
    Seeded("bus_find", "ft_bus.c", "d->state == FT_BUS_FAULTED || d->waited", "d->waited", mechanism="drives"),
    Seeded("bus_arming", "ft_bus.c", "b->drive[i].state == FT_BUS_SILENT || b->off", "b->off", quick=True,
           mechanism="drives"),
    Seeded("bus_rests", "ft_bus.c", "    } else {\n        ft_dialect_disable(i, false, f);",
           "    } else {\n        ft_dialect_enable(i, f);", mechanism="drives"),
    Seeded("bus_rests", "ft_bus.c", "if (falls)", "if (!falls)", mechanism="drives"),
    Seeded("bus_commands", "ft_bus.c", "if (d->state != FT_BUS_ENABLED || unsure(d, i))",
           "if (d->state != FT_BUS_ENABLED)", mechanism="drives"),
    Seeded("bus_fields", "ft_mit.c", "(v & 15u) << 4 | kp >> 8", "v << 4 | kp >> 4", quick=True, mechanism="drives"),
    Seeded("bus_brakes", "ft_bus.c", "t.kd = ft_drive[i].damping;", "t.kp = ft_drive[i].damping;", mechanism="drives"),
    Seeded("bus_torque", "ft_bus.c", "ft_drive[i].closes != 0u && drive", "drive", mechanism="drives"),
    Seeded("fields_carry", "ft_field.h", "left <= step && left >= -step ? left : 0.0f", "left", quick=True,
           mechanism="drives"),
    Seeded("fields_numbers", "ft_field.h", "x < r->low ? r->low : x > r->high ? r->high : x", "x < r->low ? r->low : x",
           mechanism="drives"),
    Seeded("pace_stops", "ft_pace.c", "triangle(-s) > left", "triangle(-s) > left + 1"),
    Seeded("angles_sines", "ft_trig.h", "0.0807454348f", "0.0807455348f"),
)
