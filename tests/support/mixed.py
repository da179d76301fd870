"""Two arms with drives of many families: four drives on CAN, and two servos on a half-duplex serial bus."""

from dataclasses import replace
from pathlib import Path

from femtorque.codegen.common import MECHANISMS
from femtorque.codegen.drive import DRIVES
from femtorque.codegen.mechanism import Bus, Drive, Mechanism, Safety, load_mechanism

SO101 = MECHANISMS / "so101_sts.toml"
PLACE = Path(__file__).resolve().parents[2] / "build" / "boards"
CAN = (Drive(DRIVES["damiao-4340"], "can2", 1, reply=0x11, pd="drive", firmware="5017"),
       Drive(DRIVES["robstride-02"], "can2", 2, sign=-1, pd="drive"),
       Drive(DRIVES["cubemars-ak60-6"], "can2", 3, reply=3, pd="board"),
       Drive(DRIVES["mini-cheetah"], "can2", 4, reply=0, pd="board"))
NEWER = (Drive(replace(DRIVES["moteus-r4"], position=12.5, kp=60.0, kd=3.0), "can1", 1, pd="drive", firmware="1.1.0"),
         Drive(replace(DRIVES["moteus-c1"], position=12.5, torque=400.0, kp=60.0, kd=3.0), "can1", 12, sign=-1,
               pd="drive"),
         Drive(DRIVES["odrive-s1"], "can2", 13, pd="board", firmware="0.6.11"),
         Drive(DRIVES["odrive-pro"], "can2", 14, sign=-1, pd="board"))


def newer() -> Mechanism:
    """Return the arm with drives of newer families and two Dynamixel servos, commanded by current and by duty."""
    text = SO101.read_text(encoding="utf-8").replace('kind = "sts"', 'kind = "dynamixel"')
    head, last = text.replace('"feetech-sts3215-12v"', '"dynamixel-xm430-w210"').rsplit('"dynamixel-xm430-w210"', 1)
    file = PLACE / "newer.toml"
    PLACE.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{head}"dynamixel-xc430-w240"{last}'.replace("effort = 2.9", "effort = 1.8"), encoding="utf-8")
    m = arm(file)
    joints = [replace(j, drive=drive) for j, drive in zip(m.joints, NEWER, strict=False)]
    assert m.board is not None
    return replace(m, name="newer", board=replace(m.board, use="nucleo-g474-can"), joints=(*joints, *m.joints[4:]),
                   buses=(Bus("can1", kind="can-fd", data_bitrate=5_000_000), *m.buses))


def arm(file: Path = SO101) -> Mechanism:
    """Return the SO-101 with drives instead of servos at its first four joints.

    The first joint may be parked more than half a turn from zero. The second joint is near a limit, and the last joint
    has a small torque limit. The drives brake after a fault."""
    m = load_mechanism(file)
    joints = [replace(j, drive=drive, motor=None) for j, drive in zip(m.joints, CAN, strict=False)]
    joints[0] = replace(joints[0], limits=replace(joints[0].limits, lower=-4.0, upper=4.0))
    joints[1] = replace(joints[1], limits=replace(joints[1].limits, lower=-0.05))
    weak = m.joints[-1].drive
    assert weak is not None and weak.servo is not None
    version = "3.10" if file == SO101 else "46"
    last = replace(m.joints[-1], drive=replace(weak, firmware=version, servo=replace(weak.servo, limit=0.1)))
    return replace(m, name="mixed", buses=(Bus("can2"), *m.buses), joints=(*joints, m.joints[4], last),
                   safety=Safety(host="coast", electrical="brake"))
