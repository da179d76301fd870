"""The cable between a virtual board and a host in one process, which the board uses like any other line."""

import socket
from urllib.parse import urlsplit

import pytest

from femtorque.codegen.common import Refused
from femtorque.hil.board.cable import Cable
from femtorque.hil.board.virtual import VirtualBoard
from femtorque.hil.plant.rigid import Plant
from femtorque.hil.play import session_with
from tests.support import rig


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
    assert cable.recv(9) == b"up" and cable.recv(9) == b""  # as of a socket whose other end is closed
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
