"""The wire: one table of messages, states, faults and refusals, from which the Python codec and the C come.

Frame, before COBS stuffing and a closing zero byte, little endian:

    type u8 | seq u16 | tag u16 | payload | crc32 u32        (CRC-32 of zlib over everything before it)

`tag` is the first two bytes of the configuration's digest (big endian in the digest, so it reads like its start).
HELLO, IDENT and ABOUT are valid under any tag: they are how two sides find out that they differ. KNOT is sequenced by
`seq` (go-back-N, STATUS.ack names the next one wanted); every other message is not, and carries seq 0. COMMAND and HOME
bypass the knot sequence: they carry a token, are repeated until STATUS.command_token echoes it, and are executed once.
So do all messages with a token. CAPTURE and READ change nothing that moves and are answered by DATA.
"""

from __future__ import annotations

from dataclasses import dataclass

PROTOCOL = 9  # raised with every change of the frame or of a message

J = "J"  # array length: the number of joints
BUSES = 3  # that DRIVES has room for
FAULT_NUMBERS = 64  # that ABOUT has room for: FAULTS' are all smaller


@dataclass(frozen=True)
class Field:
    """type: u8 u16 u32 i32 i64 f32; length: 1, a number, or J for one value per joint."""

    name: str
    type: str
    doc: str
    length: int | str = 1


@dataclass(frozen=True)
class Message:
    name: str
    type: int
    to: str  # "board" | "host"
    doc: str
    fields: tuple[Field, ...] = ()


MESSAGES = (
    Message("HELLO", 1, "board", "Who are you? Answered by IDENT and ABOUT, whatever the tag."),
    Message("KNOT", 2, "board", "One knot of the trajectory; sequenced.", (
        Field("flags", "u8", "bit 0 START: first of a motion; bit 1 END: last of a motion; bits 4..7: mode from it on"),
        Field("position", "i64", "2^-32 turn (revolute), 2^-28 m (prismatic); whole turns count", J),
        Field("rate", "f32", "rad/s or m/s", J),
        Field("acceleration", "f32", "rad/s^2 or m/s^2", J),
    )),
    Message("COMMAND", 3, "board", "One command, executed once for each new token.", (
        Field("token", "u8", "1..255, changes with every new command"),
        Field("command", "u8", "one of COMMANDS"),
    )),
    Message("HOME", 4, "board", "The position the joints are at now; makes them homed. Only while DISARMED.", (
        Field("token", "u8", "as in COMMAND"),
        Field("position", "i64", "as in KNOT", J),
    )),
    Message("POLL", 5, "board", "I am still here. Sent when there is nothing else to say."),
    Message("SENSE", 6, "board", "For a pil image: run this control tick with these counts. Answered by STATUS, DRIVE.",
            (
        Field("tick", "u32", "the tick it is for; if that is not the next one, nothing is run, only answered"),
        Field("counts", "i32", "encoder counts since the plant began; wraps", J),
    )),
    Message("FLOAT", 7, "board", "HOLD -> FLOAT: carry the arm's weight, let it be led by hand.", (
        Field("token", "u8", "as in COMMAND"),
        Field("friction", "u8", "per cent of the Coulomb friction to carry too, at most 80"),
    )),
    Message("JOG", 8, "board", "HOLD or JOG -> JOG: move one joint for as long as this is repeated with new tokens.", (
        Field("token", "u8", "as in COMMAND"),
        Field("joint", "u8", "its number"),
        Field("rate", "f32", "rad/s or m/s, bounded by the joint's jog rate"),
    )),
    Message("SEEK", 9, "board", "DISARMED or HOMING -> HOMING: find one joint's zero the way its encoder has it.", (
        Field("token", "u8", "as in COMMAND"),
        Field("joint", "u8", "its number"),
    )),
    Message("PROBE", 10, "board", "DISARMED or PROBE -> PROBE: give one joint a small torque for as long as this is "
            "repeated with new tokens; the others are given none.", (
        Field("token", "u8", "as in COMMAND"),
        Field("joint", "u8", "its number"),
        Field("torque", "f32", "N m or N, bounded by the joint's probe torque; 0 in the first one, while DISARMED"),
    )),
    Message("GAINS", 11, "board", "Overlay one joint's gains, within the file's bounds. While DISARMED or in HOLD.", (
        Field("token", "u8", "as in COMMAND"),
        Field("joint", "u8", "its number"),
        Field("ku", "u8", "64ths of the file's ku"),
        Field("kv", "u8", "64ths of the file's kv"),
        Field("ki", "u8", "64ths of the file's ki"),
    )),
    Message("CAPTURE", 12, "board", "Record signals on the board at the full tick rate. Executed once for each new id.",
            (
        Field("id", "u8", "1..255, changes with every new recording"),
        Field("mode", "u8", "one of CAPTURES"),
        Field("every", "u16", "ticks from one sample to the next, at least 1"),
        Field("word", "u16", "what each column records: signal (CAPTURED) times the number of joints, plus joint", 4),
    )),
    Message("READ", 13, "board", "Send samples of the recording. Answered by DATA.", (
        Field("first", "u16", "number of the first sample wanted; 0 is the oldest"),
    )),
    Message("FOLLOW", 14, "board", "HOLD -> FOLLOW: go where TARGETs say, from where the joints are held. Forgets all "
            "targets of before.", (
        Field("token", "u8", "as in COMMAND"),
        Field("delay", "u32", "us from when a target is due until the joints are there; FOLLOW_AUTO: as the file says. "
              "No less than two frames, but where chunks lie ahead or targets carry rates"),
        Field("frame", "u32", "us from one target to the next; 0: as the file says, which may be from their stamps"),
    )),
    Message("TARGET", 15, "board", "One target, while in FOLLOW; not sequenced. One that is late, stale or no number "
            "is counted, and no fault.", (
        Field("flags", "u8", "bit 0 END: the last one, where the motion ends at rest; bit 1 RATES: they count"),
        Field("chunk", "u8", "0: of a stream, due when it is sent. 1..255: of the chunk with this number; the first "
              "target of another number replaces all that are due when it is or later"),
        Field("stamp", "u32", "us, the sender's clock when it is sent; wraps"),
        Field("ahead", "u32", "us from the stamp until it is due; 0 of a stream"),
        Field("position", "i64", "as in KNOT", J),
        Field("rate", "f32", "as in KNOT, where the flag RATES says so", J),
    )),
    Message("IDENT", 64, "host", "Identity, sent on HELLO.", (
        Field("protocol", "u16", "PROTOCOL of the image"),
        Field("digest", "u8", "SHA-256 of the configuration", 32),
        Field("name", "u8", "mechanism name, zero padded", 32),
        Field("board", "u8", "board name, zero padded", 16),
        Field("joints", "u8", "number of joints; STATUS and KNOT arrays have this length"),
        Field("rate_hz", "u32", "control ticks per second"),
        Field("knot_hz", "u32", "knots per second"),
        Field("ring", "u16", "knots the ring can hold"),
        Field("reset_cause", "u8", "one of RESETS"),
        Field("last_fault", "u8", "the fault that was latched before the reset, 0 if none"),
    )),
    Message("STATUS", 65, "host", "Acknowledgement, credit and telemetry; FT_STATUS_HZ times per second.", (
        Field("tick", "u32", "control ticks since reset; wraps"),
        Field("state", "u8", "one of STATES"),
        Field("fault", "u8", "latched fault, one of FAULTS"),
        Field("fault_joint", "u8", "first joint that failed, 255 if none"),
        Field("refusal", "u8", "why the last command was refused, one of REFUSALS"),
        Field("refusal_joint", "u8", "the joint it names, 255 if none"),
        Field("command_token", "u8", "token of the last command taken or refused"),
        Field("flags", "u8", "bits of FLAGS"),
        Field("unhomed", "u8", "first joint without a zero, 255 if every joint has one"),
        Field("mode", "u8", "number of the mode that torque_ff is of; 0 is the first, or there is but one"),
        Field("limits", "u16", "bits of LIMITS that acted since the last STATUS"),
        Field("ack", "u16", "sequence number of the next knot wanted"),
        Field("credit", "u16", "knots there is room for"),
        Field("buffered", "u16", "knots not yet reached"),
        Field("knots_played", "u32", "knots passed since START"),
        Field("pace", "f32", "path time per tick: 1 in motion, 0 stopped"),
        Field("frames", "u32", "good frames received"),
        Field("bad_frames", "u16", "frames with a wrong check sum or length"),
        Field("wrong_tag", "u16", "frames of another configuration"),
        Field("out_of_order", "u16", "knots that came before one that was lost, or that there was no room for"),
        Field("line_errors", "u16", "bytes that the receiver found wrong: framing, noise, overrun"),
        Field("bus_mv", "u16", "bus voltage, mV"),
        Field("temperature", "i32", "of the hottest sensor, 0.001 deg C; 25000 where none is"),
        Field("driver_status", "u32",
              "what a gate driver last reported: its status register 1, register 2 from bit 16 on, "
              "its number from bit 28 on"),
        Field("cycles", "u32", "cycles of the last control tick"),
        Field("cycles_max", "u32", "largest since reset"),
        Field("position", "i64", "measured, as in KNOT; wraps, but not within 2^15 turns", J),
        Field("target", "i64", "desired at the same tick, likewise", J),
        Field("rate", "f32", "measured by the observer, rad/s or m/s", J),
        Field("target_rate", "f32", "desired, rad/s or m/s", J),
        Field("torque_ff", "f32", "tau_ID of the held interval, N m or N", J),
        Field("torque", "f32", "whole joint torque asked for, N m or N", J),
        Field("duty", "f32", "-1..1", J),
        Field("ku", "u8", "gain overlay in force, 64ths of the file's", J),
        Field("kv", "u8", "64ths", J),
        Field("ki", "u8", "64ths", J),
    )),
    Message("DRIVE", 66, "host", "What the last tick of a pil image gave to its outputs.", (
        Field("tick", "u32", "that tick, as in STATUS"),
        Field("outputs", "u8", "1: enabled; 0: the motors float"),
        Field("duty", "f32", "-1..1, held from the end of this tick on", J),
    )),
    Message("DATA", 67, "host", "Samples of the recording on the board.", (
        Field("id", "u8", "of the recording, 0: there is none"),
        Field("running", "u8", "1: samples are still added, and old ones may be lost"),
        Field("count", "u16", "samples there are"),
        Field("first", "u16", "number of the first one here"),
        Field("last_tick", "u32", "tick of the newest sample there is"),
        Field("words", "u32", "eight samples of four columns: bits of f32 as in STATUS, the low 32 of positions", 32),
    )),
    Message("ABOUT", 68, "host", "Which chip this is and what has happened to it, sent on HELLO after IDENT.", (
        Field("unique", "u8", "96 bits that no other chip has, as they lie in its system memory", 12),
        Field("version", "u8", "of the femtorque that made the image, zero padded", 16),
        Field("uptime", "u32", "s since reset, as control ticks count them; wraps with STATUS.tick"),
        Field("resets", "u16", "since power-on, at most 65535"),
        Field("faults", "u8", "how often each of FAULTS, by its number, was latched since reset; at most 255",
              FAULT_NUMBERS),
        Field("options", "u32", "option bytes as the chip shows them: FLASH_OPTCR (F4), FLASH_OPTR (G4)"),
        Field("crash", "u8", "exception number of the last crash since power-on, 0 if there was none"),
        Field("pc", "u32", "of the code that crashed, 0 if it could not be read"),
        Field("lr", "u32", "its return address; EXC_RETURN where its stack could not be read"),
        Field("psr", "u32", "xPSR of that code"),
        Field("cfsr", "u32", "SCB.CFSR at the crash"),
        Field("hfsr", "u32", "SCB.HFSR at the crash"),
        Field("address", "u32", "SCB.BFAR at the crash; means something where CFSR says that it is valid"),
    )),
    Message("DRIVES", 69, "host", "How drives on buses are, a tenth as often as STATUS, of an image that has some; 0 "
            "for other joints. Counters wrap.", (
        Field("tick", "u32", "control ticks since reset, as in STATUS"),
        Field("state", "u8", "one of DRIVE_STATES", J),
        Field("error", "u8", "what ails it, or ailed it last since it was enabled, in its own code; 0: nothing", J),
        Field("warmth", "u8", "deg C, as it says", J),
        Field("age", "u16", "ticks since its last state", J),
        Field("answers", "u32", "states that it has sent", J),
        Field("lost", "u32", "ticks without a state", J),
        Field("late", "u32", "states beyond the first one of a tick", J),
        Field("setting", "u16", "its own number for a setting that is not the file's, 0: none", J),
        Field("value", "u32", "what it has there: the bits of an f32, or a whole number; without such a setting, what "
              "it told last of all: of a servo its firmware, registers 0 and 1", J),
        Field("foreign", "u32", "frames that are no known drive's"),
        Field("off", "u8", "1: the controller takes no part in the bus", BUSES),
        Field("offs", "u16", "times that it left the bus", BUSES),
        Field("sending", "u8", "its counter of errors in sending", BUSES),
        Field("receiving", "u8", "and in receiving", BUSES),
        Field("stale", "u16", "frames dropped because the next tick's came", BUSES),
        Field("overruns", "u16", "times that frames came too fast", BUSES),
    )),
    Message("FOLLOWED", 70, "host", "How targets are followed, a fifth as often as STATUS while in FOLLOW. Counters "
            "are since FOLLOW, and wrap.", (
        Field("tick", "u32", "control ticks since reset, as in STATUS"),
        Field("phase", "u8", "one of FOLLOW_PHASES"),
        Field("delay", "u32", "us from when a target is due until the joints are there, as it is in force"),
        Field("frame", "u32", "us from one knot of the reference to the next; 0 before it is known"),
        Field("ahead", "i32", "us from what is played now to the newest target; negative where targets are missing"),
        Field("targets", "u32", "taken"),
        Field("late", "u16", "targets that came after their time: the reference had gone on without them"),
        Field("lost", "u16", "targets that did not come, as far as stamps tell"),
        Field("refused", "u16", "targets that were no numbers, or older than the newest, or due too far ahead"),
        Field("limits", "u8", "bits of FOLLOW_LIMITS that acted since the last FOLLOWED", J),
        Field("behind", "f32", "rad or m from the reference to what the joint is asked to do", J),
    )),
)

FOLLOW_AUTO = 0xFFFFFFFF  # FOLLOW.delay: as the file says
TARGET_END, TARGET_RATES = 1, 2

# What FOLLOW is doing.
FOLLOW_PHASES = {
    "WAITING": (0, "at rest: no target has come yet"),
    "FOLLOWING": (1, "every joint is on the reference"),
    "CATCHING_UP": (2, "a joint is on its way to the reference, within its limits"),
    "STARVED": (3, "targets are missing: at rest at the last one, or braking to it"),
    "ENDING": (4, "on the way to rest at the END, or because of a stop"),
}

# Limits that kept a joint from the reference.
FOLLOW_LIMITS = {
    "POSITION": (1, "a target beyond a limit, or braking before one"),
    "VELOCITY": (2, "the reference was faster than the joint may be"),
    "ACCELERATION": (4, "it asked for more acceleration than any pose allows"),
    "JERK": (8, "it jumped, or bent more sharply than the joint may"),
}

KNOT_START, KNOT_END = 1, 2
KNOT_MODE = 4  # where the mode's number stands in the flags
MODES = 16  # that fit

COMMANDS = {
    "ARM": (1, "DISARMED -> HOLD: outputs on, hold the position measured now"),
    "DISARM": (2, "any state -> DISARMED: outputs off at once"),
    "START": (3, "HOLD -> TRACK: play the buffered knots from the one marked START"),
    "STOP": (4, "TRACK -> HOLD: slow down along the path and stop on it; what is buffered stays. JOG, FLOAT -> HOLD"),
    "RESUME": (5, "HOLD after a stop on the path -> TRACK: pace ramps back to 1"),
    "FLUSH": (6, "HOLD: forget what is buffered"),
    "CLEAR": (7, "FAULT or ESTOP -> DISARMED, once the cause is gone"),
    "LOADER": (8, "DISARMED, ESTOP or FAULT with outputs off -> LEAVING: on to the boot loader in the chip's ROM"),
}

STATES = {
    "BOOT": (0, "clocks and peripherals come up, outputs off"),
    "CHECK": (1, "self-test, outputs off"),
    "DISARMED": (2, "outputs off, ready to be homed and armed"),
    "HOLD": (3, "outputs on, holding a position on the path"),
    "TRACK": (4, "outputs on, playing knots"),
    "FAULT": (5, "cause latched; outputs off, or braking or holding where [safety] says so"),
    "ESTOP": (6, "break input active or not yet cleared: the timer itself dropped the outputs"),
    "HOMING": (7, "outputs on, seeking one joint's zero or holding between two"),
    "FLOAT": (8, "outputs on, gravity compensation only: the arm is led by hand"),
    "JOG": (9, "outputs on, one joint moved for as long as the host asks"),
    "PROBE": (10, "outputs on, a small torque on one joint, none on the others"),
    "CLOSING": (11, "outputs on, holding until the brakes have closed; then DISARMED"),
    "LEAVING": (12, "outputs off for good: a tenth of a second later the chip resets into the boot loader in its ROM"),
}

# name: (number, what it means, what to do)
FAULTS = {
    "NONE": (0, "no fault", ""),
    "CLOCK": (1, "the external clock did not start or stopped", "check the crystal and hse_hz of the board file"),
    "CHIP": (2, "a peripheral did not come up", "power-cycle; if it stays, the board file does not fit the board"),
    "CONFIGURATION": (3, "self-test of the emitted constants failed", "flash the image again"),
    "HARD_FAULT": (4, "the processor faulted", "report it with the image; outputs were made safe first"),
    "TICK_OVERRUN": (5, "a control tick was not done when the next came", "lower rate_hz or simplify the mechanism"),
    "NOT_FINITE": (6, "a torque or duty was not a number", "check gains and mechanism; report it if they are right"),
    "FOLLOWING": (7, "a joint was too far from its target for too long",
                  "check encoder sign, motor sign, limits, load"),
    "ENCODER": (8, "an encoder moved farther in a tick than the joint can", "check wiring, shielding and counts"),
    "OVERSPEED": (9, "a joint ran above its velocity limit", "check gains and encoder; raise limits.velocity if meant"),
    "POSITION": (10, "a joint left its limits", "move it back by hand, clear"),
    "KNOT": (11, "a knot broke continuity or a limit", "plan again: the named joint jumped or exceeded a limit"),
    "UNDER_VOLTAGE": (12, "the bus voltage was too low", "check supply, fuse and wiring"),
    "WATCHDOG": (13, "the watchdog reset the board: tick or link task had stopped", "report it with the log"),
    "HOST_LOST": (14, "no good frame from the host while armed", "check cable and host; the arm was stopped first"),
    "BREAK": (15, "the outputs were dropped without an e-stop in sight",
              "check the break input wiring; of a pil image, the line to the host's plant"),
    "OVER_VOLTAGE": (16, "the bus voltage was too high", "brake more gently, or add a brake resistor"),
    "OVER_TEMPERATURE": (17, "a sensor was hotter than allowed", "let it cool; lower the load or cool it better"),
    "DRIVER": (18, "a motor driver reported a fault",
               "check the motor for a short, the driver for heat; power-cycle it"),
    "OVER_CURRENT": (26, "a motor took more current than its loop may ask for, or far more than R and L say",
                     "check the motor and its cable for a short, the sensor for a broken wire, R and L of the file"),
    "CURRENT_SENSOR": (27, "a current sensor is far off its zero, or the converter has stopped",
                       "check the sensor, its supply, its wiring"),
    "CURRENT_SIGN": (28, "a current ran against the voltage that drives it: its sensor has the wrong sign",
                     "turn the sensor round in the motor's line, or change the sign of volts_per_ampere in the board "
                     "file"),
    "CURRENT_LOOP": (29, "a current loop gave all the voltage it may, or a pulse of it, and no current came, or much "
                     "too little; or the current jumped, or the voltage swung, as a sound winding lets neither do",
                     "check the motor's cable, the sensor, the motors' supply; the winding for a short, R and L of "
                     "the file"),
    "ENCODER_STUCK": (19, "a joint was given all it may have and its encoder did not count",
                      "check whether the joint is blocked and the encoder connected"),
    "HOMING": (20, "no index or stop was found within the travel and time allowed",
               "check the joint's home table, the index wiring, what is in the way"),
    "MODE": (22, "a mode was entered whose loops are not closed there, would open with the velocities there are, or "
             "are singular", "plan the switch where position and velocity fit the new loops"),
    "OVERLOAD": (23, "a motor or its driver has carried more than it can for too long; the arm was stopped first",
                 "let it cool; move more slowly or carry less: 'femtorque check' prints what is continuous"),
    "LOOPS_SINGULAR": (21, "the closed loops came to a singular pose, or to one that does not follow from the last",
                       "plan around singular poses ('femtorque check' tells how near the start is)"),
    "CRYSTAL": (30,
                "the crystal does not run at hse_hz of the board file, measured against the chip's own oscillator, on "
                "which the board stays",
                "write the crystal's frequency into the board file, and build and flash again"),
    "CONVERTER": (32, "the converter of what the board measures did not come up, or did not take its clock",
                  "power-cycle; if it stays, the chip is not what the board file says"),
    "PWM_UPDATE": (33, "the PWM's update does not come where its outputs are low", "report it with the chip's marking"),
    "TICK_TIMER": (34, "the timer of the control tick does not count what it was told",
                   "report it with the chip's marking"),
    "CODE": (36, "the image in flash is not what it was when it was built",
             "flash the image again; if it comes back, change the board"),
    "STACK": (35, "the stack came to its last bytes", "report it with the image; outputs were made safe first"),
    "SUPPLY": (31, "the supply of the chip itself fell below 2.9 V",
               "check the 3.3 V regulator, its load and its input"),
    "DRIVE_SILENT": (37, "a drive on a bus stopped answering", "check its supply, the bus' wires and both terminators"),
    "DRIVE_FAULT": (38, "a drive on a bus reported an error, or was not enabled any more",
                    "read its own error, mend the cause, clear"),
    "BUS_OFF": (39, "the controller left the bus after too many errors",
                "check the bus' wires, both terminators, bit rates; it is let back by itself"),
}

assert max(number for number, _, _ in FAULTS.values()) < FAULT_NUMBERS

# What may be done about a fault once it is taken: [safety] of the mechanism file chooses one for each class.
REACTIONS = {
    "coast": (0, "outputs off at once: the motors float"),
    "brake": (1, "no voltage, outputs stay on: the motors are short-circuited"),
    "hold": (2, "outputs stay on and hold the joints where they are"),
}

# class: (faults, reactions allowed, what it is about). The first reaction is the default. What is in no class was
# found before the outputs ever came on, or leaves nothing to choose: outputs off.
FAULT_CLASSES = {
    "computing": (("TICK_OVERRUN", "NOT_FINITE", "LOOPS_SINGULAR"), ("coast", "brake"),
                  "the board cannot trust its own torque"),
    "sensing": (("ENCODER", "ENCODER_STUCK", "HOMING", "DRIVE_SILENT", "BUS_OFF"), ("coast", "brake"),
                "the board does not know where a joint is"),
    "electrical": (("UNDER_VOLTAGE", "OVER_VOLTAGE", "OVER_TEMPERATURE", "OVERLOAD", "DRIVER", "DRIVE_FAULT"),
                   ("coast", "brake"), "supply, drivers or motors are out of range"),
    "motion": (("FOLLOWING", "OVERSPEED", "POSITION", "MODE"), ("coast", "brake", "hold"),
               "a joint does not move as told"),
    "host": (("HOST_LOST", "KNOT"), ("coast", "brake", "hold"),
             "the host is gone or sends what cannot be played; the arm was stopped on its path first"),
}

REFUSALS = {
    "NONE": (0, "accepted", ""),
    "NOT_HOMED": (1, "a joint has no zero yet", "home first"),
    "WRONG_STATE": (2, "not possible in this state", "look at STATUS.state"),
    "ESTOP_ACTIVE": (3, "the e-stop is pressed", "release it, then clear"),
    "OUTSIDE_LIMITS": (4, "the joint is outside its limits", "move it back by hand"),
    "MOVING": (5, "the joint is moving", "let it come to rest"),
    "NOTHING_BUFFERED": (6, "no motion is buffered", "send knots before START"),
    "START_POSE": (7, "the motion does not start where the joint is held",
                   "move to the start first, or plan from here"),
    "FAULT_LATCHED": (8, "a fault is latched", "read its name, mend the cause, clear"),
    "SUPPLY": (22, "the supply of the chip itself is below 2.9 V, or was when it started",
               "check the 3.3 V regulator, its load and its input; then reset it"),
    "BUS_VOLTAGE": (9, "bus voltage out of range", "switch the supply on"),
    "UNKNOWN": (10, "no such command", "host and board differ: compare protocol numbers"),
    "OVER_TEMPERATURE": (11, "a sensor is hotter than allowed", "let it cool"),
    "DRIVER": (12, "a motor driver reports a fault", "power-cycle the drivers"),
    "DRIVER_NOT_READY": (16,
                         "a gate driver does not hold what it was told, or does not answer; it is being set up anew",
                         "try again in a moment; if it stays, check the motors' supply and power-cycle it"),
    "CURRENT_SENSOR": (20, "a current sensor is not at its zero while no current flows",
                       "check the sensor, its supply, its wiring; zero_v of the board file"),
    "BRAKE": (17, "the brakes are still on their way, or would have to open while nothing holds the joints",
              "wait for release_s or engage_s of [safety] brake; PROBE: leave the brakes to a supply of their own"),
    "OVERLOAD": (21, "a motor or its driver is still too warm from what it has carried", "let it cool"),
    "NO_SEEKING": (13, "this joint's zero is not sought by the board",
                   "its encoder.zero is start or absolute: tell it"),
    "LOOPS_OPEN": (15, "the closed loops do not close at the positions measured",
                   "home again, or move the joints to the branch of the file's start"),
    "NO_LOADER": (19, "the boot loader in this chip's ROM would enable the drivers or open the brakes",
                  "switch the motors' supply off, hold BOOT0 high, reset"),
    "DRIVE_SILENT": (23, "a drive on a bus does not answer, or its bus is off",
                     "check its supply, its id, the bus' wires and both terminators"),
    "DRIVE_FAULT": (24, "a drive on a bus reports an error", "read its own error; what persists is not armed"),
    "DRIVE_SETTING": (25, "a drive on a bus is not set as the mechanism file says, or has not told yet",
                      "`femtorque monitor` names both values: mend the file, or set the drive"),
    "OUT_OF_BOUNDS": (14, "no such joint, or a value beyond what the mechanism file allows", "ask for less"),
}

FLAGS = {
    "HOMED": (1, "every joint has its zero"),
    "ENDED": (2, "the last motion reached its END"),
    "UNDERRUN": (4, "stopped on the path because knots ran out"),
    "STOPPED": (8, "stopped on the path by STOP"),
    "OUTPUTS": (16, "outputs are enabled"),
    "HOST_SILENT": (32, "stopped on the path because the host was silent"),
    "OVERLAY": (64, "gains differ from those of the file: see STATUS.ku, kv, ki"),
    "SEEKING": (128, "a joint is on its way to its zero"),
}

LIMITS = {
    "TORQUE": (1, "joint torque clipped to limits.effort"),
    "VOLTAGE": (2, "motor voltage clipped to the bus voltage"),
    "INTEGRAL": (4, "integrator stopped by anti-windup"),
    "POSITION": (8, "torque towards a joint limit removed"),
}

CAPTURES = {
    "OFF": (0, "stop recording; what is recorded stays"),
    "ONCE": (1, "record until the memory is full"),
    "RING": (2, "record round and round, until a fault or OFF"),
}

# Signals that can be recorded, in the order in which the board keeps them.
CAPTURED = ("torque_ff", "torque", "duty", "rate", "target_rate", "position", "target")

# Bits of STATUS.driver_status: of a DRV8301's status registers (SLOS719), high and low transistors of its half bridges.
DRIVER_STATUS = {"FETLC_OC": 0, "FETHC_OC": 1, "FETLB_OC": 2, "FETHB_OC": 3, "FETLA_OC": 4, "FETHA_OC": 5, "OTW": 6,
                 "OTSD": 7, "PVDD_UV": 8, "GVDD_UV": 9, "GVDD_OV": 23}
DRIVER_NUMBER = 28  # the bit where the driver's number begins

# How a drive on a bus is.
DRIVE_STATES = {
    "SILENT": (0, "it does not answer, or the joint has none"),
    "SEEN": (1, "it answers, and is not enabled"),
    "ENABLED": (2, "it is enabled"),
    "FAULTED": (3, "it reports an error"),
}

RESETS = {"POWER": 0, "PIN": 1, "SOFTWARE": 2, "WATCHDOG": 3, "BROWNOUT": 4, "OTHER": 5}

STATUS_HZ = 100
