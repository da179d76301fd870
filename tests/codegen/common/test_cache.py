"""Tests of the cache.

The tests show that concurrent processes make each entry once, that a killed process leaves no incomplete entry, and
that the size is bounded."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from femtorque.codegen.common import cache
from femtorque.codegen.common.errors import BadInput
from tests.support.suite import ROOT


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FEMTORQUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "made"


def write(text: str):
    return lambda entry: (entry / "it").write_text(text)


def test_an_entry_is_made_once():
    made = [cache.kept("key", write(text)) / "it" for text in ("first", "second")]
    assert made[0] == made[1] and made[0].read_text() == "first"


def test_keys_tell_the_same_text_at_other_places_apart():
    assert len({cache.key_of("ab", "c"), cache.key_of("a", "bc"), cache.key_of("abc"), cache.key_of("abc", "")}) == 4
    assert cache.key_of("a", b"b") == cache.key_of(b"a", "b")


def test_one_of_many_that_ask_at_once_makes_it():
    """Threads are sufficient in this test, because the lock is a file, as it is between processes."""
    made = []

    def make(entry: Path) -> None:
        made.append(entry)
        (entry / "it").write_text("made")

    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(lambda _: cache.kept("key", make), range(8)))
    assert len(made) == 1 and len(set(entries)) == 1


def test_what_does_not_come_to_its_end_leaves_nothing(folder):
    def fail(entry: Path) -> None:
        (entry / "it").write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.kept("key", fail)
    assert [path.name for path in folder.iterdir()] == ["key.lock"]
    assert (cache.kept("key", write("whole")) / "it").read_text() == "whole"


KILLED = """
import os, signal
from femtorque.codegen.common import cache

def make(entry):
    (entry / "it").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)

cache.kept("key", make)
"""


def test_who_is_killed_leaves_no_entry_and_no_lock_and_what_is_left_is_removed(folder, monkeypatch):
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT).returncode == -signal.SIGKILL
    left = list(folder.glob("new-*"))
    assert len(left) == 1
    assert (cache.kept("key", write("whole")) / "it").read_text() == "whole"
    cache.kept("00", write("it"))
    assert left[0].is_dir()  # another process may be writing this entry
    begun = left[0].stat().st_mtime - 2.0 * 3600.0
    os.utime(left[0], (begun, begun))
    cache.kept("001", write("it"))
    assert left[0].is_dir()  # for hours
    os.utime(left[0], (0, 0))
    cache.kept("002", write("it"))
    assert not left[0].exists()


def test_one_that_is_not_whole_is_made_anew():
    assert cache.kept("key", write("old")).is_dir()
    entry = cache.kept("key", write("new"), lambda entry: (entry / "it").read_text() == "new")
    assert (entry / "it").read_text() == "new"


def test_who_is_late_takes_what_the_other_has_made(monkeypatch):
    """If the lock's file is deleted, two processes may make the same entry."""

    def make(entry: Path) -> None:
        cache._make(cache.entry_of("key"), write("theirs"))
        (entry / "it").write_text("ours")

    monkeypatch.setattr(cache.shutil, "rmtree", lambda *_, **__: None)
    assert (cache.kept("key", make) / "it").read_text() == "theirs"


def test_beyond_the_limit_those_used_longest_ago_go_first(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 2500)
    for n, key in enumerate(["a", "b", "c", "d"]):
        os.utime(cache.kept(key, write("x" * 1000)), (1000.0 + n, 1000.0 + n))
    cache.kept("a", write(""))  # used now
    cache.kept("00", write("x"))
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["00", "a", "d"]
    assert sorted(path.name for path in folder.glob("*.lock")) == ["00.lock", "a.lock", "d.lock"]


def test_what_was_used_within_the_hour_stays_however_much_it_is(folder, monkeypatch):
    monkeypatch.setattr(cache, "LIMIT", 10)
    for key in ("a", "b", "00"):
        cache.kept(key, write("x" * 1000))
    assert len([path for path in folder.iterdir() if path.is_dir()]) == 3


def test_what_another_user_has_made_is_refused(folder, monkeypatch):
    """The program executes cache entries (libraries, images, programs), so other users' entries are dangerous."""
    cache.kept("key", write("whole"))
    monkeypatch.setattr(cache, "_user", lambda: os.getuid() + 1)
    for use in (lambda: cache.kept("key", write("ours")), lambda: cache.found("key"),
                lambda: cache.kept("another", write("ours"))):
        with pytest.raises(BadInput, match="is another user's, who could put programs there.*FEMTORQUE_CACHE"):
            use()


def test_an_entry_that_is_a_link_is_refused(folder, tmp_path):
    cache.kept("key", write("whole"))
    (folder / "other").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="is another user's"):
        cache.kept("other", write("ours"))


def test_others_may_write_neither_the_cache_nor_an_entry(folder):
    entry = cache.kept("key", write("whole"))
    for path in (folder, entry):
        assert path.stat().st_mode & 0o777 == 0o700
        path.chmod(0o777)
    assert cache.found("key")
    assert folder.stat().st_mode & 0o022 == entry.stat().st_mode & 0o022 == 0
