"""Tests private Unix sockets: file mode, access by other users, files of killed programs, and wrong paths."""

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from femtorque.codegen.common import BadInput
from femtorque.host.link import link
from femtorque.host.link.unix_socket import Bound

NOBODY = 65534
KINDS = {"stream": socket.SOCK_STREAM, "datagrams": socket.SOCK_DGRAM}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture
def path():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder) / "arm"


def bound(path, kind) -> Bound:
    opened = Bound(f"unix:{path}", kind, "--port")
    if kind == socket.SOCK_STREAM:
        opened.listen()
    return opened


def test_its_file_is_of_mode_0600_and_goes_with_it(path, kind):
    before = os.umask(0)
    os.umask(before)
    with bound(path, kind):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists() and os.umask(before) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(path, kind):
    def asked() -> None:
        with socket.socket(socket.AF_UNIX, kind) as other:
            os.seteuid(NOBODY)
            try:
                other.connect(str(path))
            finally:
                os.seteuid(0)

    with bound(path, kind):
        with pytest.raises(PermissionError):
            asked()
        path.chmod(0o666)
        asked()  # now only the file's mode can keep other users out


def test_a_file_that_a_killed_program_has_left_is_replaced(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as dead:
        dead.bind(str(path))
    with bound(path, kind):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_somebody_has_put_in_its_place_stays(path, kind):
    with bound(path, kind):
        path.unlink()
        path.write_text("another one's")
    assert path.read_text() == "another one's"


def test_nothing_else_is_replaced(path, kind):
    with bound(path, kind), pytest.raises(BadInput, match="cannot be listened at .Address already in use"):
        bound(path, kind)
    path.write_text("a file")
    for there in (path, path.parent, ""):
        with pytest.raises(BadInput, match="Address already in use"):
            bound(there, kind)
    assert path.read_text() == "a file"


@pytest.mark.parametrize("name, words", [("x" * 200, "path too long"), ("absent/arm", "No such file")])
def test_a_path_that_cannot_be_is_refused_at_both_ends(path, kind, name, words):
    there = path.parent / name
    with pytest.raises(BadInput, match=words):
        bound(there, kind)
    with pytest.raises(BadInput, match=f"{words}.*hil serve MECH --port unix:PATH"):
        link.open_port(f"unix:{there}", 1)


def test_a_folder_that_keeps_no_modes_is_refused(path, kind, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mode: 0)  # a folder's default access list has the same effect
    with pytest.raises(BadInput, match="others may open it"):
        bound(path, kind)
    assert not path.exists()


def test_a_host_reads_without_waiting_and_hears_that_the_other_end_has_gone(path):
    with bound(path, socket.SOCK_STREAM) as server:
        host = link.open_port(f"unix:{path}", 1)
        board, _ = server.accept()
        assert host.read(10) == b"" and host.write(b"there") == 5 and board.recv(10) == b"there"
        board.sendall(b"back")
        assert host.read(10) == b"back"
        board.close()
        with pytest.raises(ConnectionError):
            host.read(10)
        host.close()


def test_a_host_does_not_wait_for_ever_for_a_board_that_reads_nothing(path, monkeypatch):
    monkeypatch.setattr(link.unix_socket, "WRITE_TIMEOUT", 0.01)
    with bound(path, socket.SOCK_STREAM):
        host = link.open_port(f"unix:{path}", 1)
        with pytest.raises(TimeoutError):
            host.write(bytes(10_000_000))
        host.close()
