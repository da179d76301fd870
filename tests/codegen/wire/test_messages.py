"""Comparison of both implementations of the messages: the emitted C through cffi, and the Python codec."""

import ctypes
import shutil
import struct
import subprocess

import cffi
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from femtorque.codegen.common import BadInput
from femtorque.codegen.emit.messages import render
from femtorque.codegen.wire import codec, messages
from femtorque.codegen.wire.codec import BadFrame, Codec, FrameReader, text
from femtorque.codegen.wire.messages import MESSAGES

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Werror",
          "-ffp-contract=off"]
JOINTS = (1, 3, 8)
WITH_FIELDS = [m for m in MESSAGES if m.fields]
C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "i32": "int32_t", "i64": "int64_t", "f32": "float"}


@pytest.fixture(scope="module")
def c_messages(tmp_path_factory):
    """Return {joints: (ffi, library)}, with declarations from the table instead of the emitted header."""
    built = {}
    for joints in JOINTS:
        folder = tmp_path_factory.mktemp(f"messages{joints}")
        for name, content in render(joints).items():
            (folder / name).write_text(content)
        library = folder / "messages.so"
        subprocess.run(["cc", *STRICT, "-shared", "-fPIC", "-o", library, folder / "ft_messages.c"], check=True)
        ffi = cffi.FFI()
        declarations = "size_t ft_msg_size(uint8_t type);"
        for m in WITH_FIELDS:
            fields = "".join(
                f"{C_TYPES[f.type]} {f.name}{'' if f.length == 1 else f'[{codec.length(f, joints)}]'};"
                for f in m.fields
            )
            n = f"ft_msg_{m.name.lower()}"
            declarations += f"typedef struct {{ {fields} }} {n};"
            declarations += f"void {n}_pack(const {n} *m, uint8_t *bytes); void {n}_unpack(const uint8_t *b, {n} *m);"
        ffi.cdef(declarations)
        built[joints] = ffi, ffi.dlopen(str(library))
    return built


def values(f, joints):
    """Return a strategy for the value of one field, in the form in which the Python codec decodes it."""
    one = {
        "u8": st.integers(0, 2**8 - 1), "u16": st.integers(0, 2**16 - 1), "u32": st.integers(0, 2**32 - 1),
        "i32": st.integers(-(2**31), 2**31 - 1), "i64": st.integers(-(2**63), 2**63 - 1),
        "f32": st.floats(width=32, allow_nan=False),
    }[f.type]
    n = codec.length(f, joints)
    if f.length == 1:
        return one
    return st.binary(min_size=n, max_size=n) if f.type == "u8" else st.tuples(*[one] * n)


@st.composite
def a_message(draw):
    joints, m = draw(st.sampled_from(JOINTS)), draw(st.sampled_from(WITH_FIELDS))
    return joints, m, messages.CLASSES[m.name](*(draw(values(f, joints)) for f in m.fields))


def payload_of(joints, message):
    """Return the payload bytes of a frame that the Python codec writes."""
    from cobs import cobs

    frame = cobs.decode(Codec(joints).encode(message, tag=0)[:-1])
    return frame[codec.HEADER.size : -codec.CRC.size]


@settings(max_examples=300, deadline=None)
@given(case=a_message())
def test_c_unpacks_what_python_encodes_and_packs_the_same_bytes(c_messages, case):
    joints, m, message = case
    ffi, c = c_messages[joints]
    name, payload = f"ft_msg_{m.name.lower()}", payload_of(joints, message)
    assert c.ft_msg_size(m.type) == len(payload)

    struct_c = ffi.new(f"{name} *")
    getattr(c, f"{name}_unpack")(payload, struct_c)
    for f in m.fields:
        got, want = getattr(struct_c, f.name), getattr(message, f.name)
        assert (got if f.length == 1 else tuple(got)) == (want if f.length == 1 else tuple(want)), f.name

    bytes_c = ffi.new("uint8_t[]", len(payload))
    getattr(c, f"{name}_pack")(struct_c, bytes_c)
    assert bytes(bytes_c) == payload


@settings(max_examples=200, deadline=None)
@given(case=a_message(), seq=st.integers(0, 65535), tag=st.integers(0, 65535))
def test_a_frame_comes_back_as_it_went(case, seq, tag):
    joints, _, message = case
    wire = Codec(joints).encode(message, tag=tag, seq=seq)
    assert wire.count(0) == 1 and wire[-1] == 0
    assert Codec(joints).decode(wire[:-1]) == (message, seq, tag)


def test_unknown_types_have_no_size(c_messages):
    _, c = c_messages[3]
    known = {m.type for m in MESSAGES}
    assert all(c.ft_msg_size(t) == ctypes.c_size_t(-1).value for t in range(256) if t not in known)


def test_layout_on_the_wire_is_the_documented_one():
    """The expected bytes of one frame are written by hand, so that a simultaneous change of C and Python is detected.
    The frame contains a knot at two turns and one step below zero."""
    from cobs import cobs

    knot = messages.Knot(messages.KNOT_END, (1, -2 * 2**32 - 1), (0.5, 1.5), (-1.0, 2.0))
    frame = cobs.decode(Codec(2).encode(knot, tag=0xBEEF, seq=0x0102)[:-1])
    assert frame[:-4] == struct.pack("<BHH", 2, 0x0102, 0xBEEF) + struct.pack("<Bqq4f", 2, 1, -2 * 2**32 - 1,
                                                                              0.5, 1.5, -1.0, 2.0)
    crc = 0xFFFFFFFF  # CRC-32 (IEEE 802.3, reflected), bit by bit
    for byte in frame[:-4]:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 if crc & 1 else 0)
    assert frame[-4:] == struct.pack("<I", crc ^ 0xFFFFFFFF)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_frame_is_never_believed(data):
    wire = bytearray(Codec(3).encode(messages.Knot(1, (1, 2, 3), (0.0,) * 3, (1.0,) * 3), tag=7, seq=9))
    for i in data.draw(st.sets(st.integers(0, len(wire) * 8 - 1), min_size=1, max_size=8)):
        wire[i // 8] ^= 1 << i % 8
    reader = FrameReader(Codec(3))
    assert not list(reader.feed(bytes(wire) + b"\0"))


def test_reader_finds_frames_in_noise_whatever_the_pieces():
    rng = np.random.default_rng(1)
    code, reader = Codec(3), FrameReader(Codec(3))
    sent, stream = [], b""
    for seq in range(200):
        knot = messages.Knot(0, tuple(rng.integers(-(2**31), 2**31, 3).tolist()), (0.5,) * 3, (0.25,) * 3)
        sent.append((knot, seq))
        stream += rng.bytes(rng.integers(0, 40)) + b"\0" + code.encode(knot, tag=3, seq=seq)
    got = []
    while stream:
        n = int(rng.integers(1, 60))
        got += [(f.message, f.seq) for f in reader.feed(stream[:n])]
        stream = stream[n:]
    assert got == sent
    assert reader.bad > 100


def test_an_endless_run_without_zeros_takes_no_memory():
    reader = FrameReader(Codec(3))
    for _ in range(100):
        assert not list(reader.feed(b"\x55" * 1000))
    assert len(reader._buffer) < 1000
    wire = Codec(3).encode(messages.Poll(), tag=1)
    assert not list(reader.feed(wire)), "the tail of the run belongs to the first frame"
    assert [f.message for f in reader.feed(wire)] == [messages.Poll()]


def test_a_name_from_a_board_holds_nothing_that_a_terminal_obeys():
    assert text(b"\x1b]0;owned\x07\x1b[2J arm\0\0") == "?]0;owned??[2J arm" and text(b"\xff\n") == "\ufffd?"


def test_a_message_of_another_number_of_joints_is_refused():
    wire = Codec(3).encode(messages.Home(1, (1, 2, 3)), tag=1)
    with pytest.raises(BadFrame, match="HOME of 25 bytes where 33 are due"):
        Codec(4).decode(wire[:-1])
    ident = messages.Ident(joints=3)
    assert Codec(4).decode(Codec(3).encode(ident, tag=1)[:-1]).message == ident, "IDENT is readable by every host"


def test_wrong_array_length_is_an_error_not_a_frame():
    with pytest.raises(BadInput, match="HOME: position: has 2 values where 3 are due"):
        Codec(3).encode(messages.Home(1, (1, 2)), tag=0)


@pytest.mark.parametrize("compiler, flags", [
    ("c++", ["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]),
    ("arm-none-eabi-gcc", [*STRICT, "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]),
])
def test_emitted_messages_compile_without_a_warning(tmp_path, compiler, flags):
    assert shutil.which(compiler), f"{compiler} is needed: apt-get install g++ gcc-arm-none-eabi"
    for name, content in render(6).items():
        (tmp_path / name).write_text(content)
    subprocess.run([compiler, *flags, "-c", "-o", tmp_path / "m.o", tmp_path / "ft_messages.c"], check=True)


def test_emitted_enums_are_the_table(tmp_path):
    """The C compiler checks the number of every name in the tables."""
    lines = [f"FT_MSG_{m.name} == {m.type}" for m in MESSAGES]
    for prefix, table in (("STATE", messages.STATES), ("FAULT", messages.FAULTS), ("REFUSAL", messages.REFUSALS),
                          ("COMMAND", messages.COMMANDS), ("FLAG", messages.FLAGS), ("LIMIT", messages.LIMITS)):
        lines += [f"FT_{prefix}_{name} == {row[0]}" for name, row in table.items()]
    for name, content in render(3).items():
        (tmp_path / name).write_text(content)
    checks = "".join(f"typedef char check{i}[({line}) ? 1 : -1];\n" for i, line in enumerate(lines))
    (tmp_path / "check.c").write_text('#include "ft_messages.h"\n' + checks)
    subprocess.run(["cc", *STRICT, "-c", "-o", tmp_path / "check.o", tmp_path / "check.c"], check=True)


def test_the_type_of_each_field_in_python_is_that_of_its_bytes():
    for message in MESSAGES:
        for field in message.fields:
            number = "float" if field.type == "f32" else "int"
            array = "bytes" if field.type == "u8" else f"Sequence[{number}]"
            kept = messages.CLASSES[message.name].__annotations__[field.name]
            text = kept.__name__ if isinstance(kept, type) else str(kept).removeprefix("collections.abc.")
            assert text == (number if field.length == 1 else array)


def test_names_of_a_table_have_different_numbers_and_faults_say_what_to_do():
    for table in (messages.STATES, messages.FAULTS, messages.REFUSALS, messages.COMMANDS, messages.FLAGS,
                  messages.LIMITS):
        numbers = [row[0] for row in table.values()]
        assert len(set(numbers)) == len(numbers)
    for table in (messages.FAULTS, messages.REFUSALS):
        assert all(doc and (mend or name == "NONE") for name, (_, doc, mend) in table.items())
