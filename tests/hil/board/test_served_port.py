"""A web page can make a browser send requests to any TCP port. The web page cannot reach the board behind the port of a
virtual board. Other programs cannot reach the board either if their first bytes are not a frame."""

import socket
from urllib.parse import urlsplit

import pytest

from femtorque.codegen.common import Refused
from femtorque.codegen.wire import Codec, Hello
from femtorque.hil.board.cable import Cable
from femtorque.hil.board.served_port import HOST, ServedPort
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from tests.support import rig
from tests.support.suite import HANG

FRAME = b"\0" + Codec(3).encode(Hello(), 0)


@pytest.fixture(params=["tcp", "unix"])
def line(request, tmp_path):
    """Return the port, and a host's socket that is connected to the port."""
    at = 0 if request.param == "tcp" else f"unix:{tmp_path}/arm"
    port = ServedPort(at)
    with socket.socket(socket.AF_UNIX if at else socket.AF_INET) as host:
        host.settimeout(HANG)
        host.connect(str(tmp_path / "arm") if at else (HOST, urlsplit(port.url).port))
        if not at:
            host.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while port.receive() is None:
            pass
        yield port, host
    port.close()
    assert not any(tmp_path.iterdir())


def heard(port, host, pieces):
    """Return all bytes that the board receives. A None at the end means that the port was closed."""
    come, there = [], b"".join(pieces)
    for piece in pieces:
        try:
            host.sendall(piece)
        except OSError:  # hung up already
            pass
        come.append(port.receive())
    while come[-1] is not None and len(b"".join(come)) < len(there):
        come.append(port.receive())
    return come


FLIPPED = FRAME[:4] + bytes([FRAME[4] ^ 1]) + FRAME[5:]
STRANGERS = [b"POST ", b"post ", b"PROPFIND ", b"\r\nPOST ", b"PRI * ", b"\x16\x03\x01\x02\x00\x01\x00", b"\0POST ",
             FLIPPED, b"\1\0", b"a" * 2000]  # among them are HTTP/2, a TLS hello, and a corrupted frame


@pytest.mark.parametrize("cut", [1, 3, None])
@pytest.mark.parametrize("first", STRANGERS, ids=range(len(STRANGERS)))
def test_a_client_that_does_not_begin_with_a_frame_is_hung_up_before_any_of_it_is_heard(line, first, cut):
    port, host = line
    body = b"/ HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n" + FRAME
    come = heard(port, host, [first[:cut], first[cut:] + body] if cut else [first + body])
    assert come[-1] is None and not any(come[:-1])
    try:
        assert host.recv(1) == b""
    except ConnectionResetError:
        pass


def test_a_host_in_this_process_is_no_web_page(line):
    port, _ = line
    port.plug_in().write(b"GET ")
    assert port.receive() == b"GET "


@pytest.mark.parametrize("cut", [1, 5, len(FRAME) - 1, len(FRAME)])
@pytest.mark.parametrize("first", [b"", b"\0\0"])
def test_every_byte_of_a_host_comes_through(line, first, cut):
    port, host = line
    assert b"".join(heard(port, host, [first + FRAME[:cut], FRAME[cut:] + b"GET / "])) == first + FRAME + b"GET / "


def test_bytes_come_in_order_at_once_and_nobody_waits():
    cable = Cable("port")
    assert cable.read(10) == b""
    with pytest.raises(BlockingIOError):
        cable.recv(10)
    assert cable.write(b"abc") == 3
    cable.write(b"de")
    cable.sendall(b"xyz")
    assert (cable.recv(4), cable.recv(4), cable.read(2), cable.read(2)) == (b"abcd", b"e", b"xy", b"z")


def test_what_was_written_before_one_end_closed_still_arrives():
    cable = Cable("port")
    cable.write(b"up")
    cable.sendall(b"down")
    cable.close()
    assert cable.recv(9) == b"up" and cable.recv(9) == b""  # like a socket whose other end is closed
    assert cable.read(9) == b"down"
    for use in (lambda: cable.read(9), lambda: cable.write(b"x"), lambda: cable.sendall(b"x")):
        with pytest.raises(OSError):
            use()


def test_a_cable_takes_the_place_of_the_host_before_and_frees_the_port_when_it_is_closed():
    mechanism = rig.three_link()
    with VirtualBoard(rig.image(), mechanism, Plant(mechanism)) as board:
        sessions = [session_with(board) for _ in range(2)]
        with pytest.raises(Refused, match="virtual board: the link broke"):
            sessions[0].connect()
        sessions[1].connect()
        sessions[1].link.close()
        board.run(5e-3)
        with socket.create_connection(("127.0.0.1", urlsplit(board.url).port)) as other:
            other.setblocking(False)
            heard = b""
            for _ in range(1000):  # the operating system's time
                board.run(1e-3)
                try:
                    heard += other.recv(4096)
                except BlockingIOError:
                    pass
                if heard:
                    break
            assert heard
