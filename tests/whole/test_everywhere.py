"""Tests rules that give equal behaviour on Linux, macOS and Windows, on terminals and in pipes, in every shell."""

import ast
import os
import pty
import re
import subprocess
import sys

import pytest
import typer

from femtorque import command_line
from tests.support.suite import ROOT

POSIX_ONLY = {"termios", "tty", "pty", "fcntl", "resource", "pwd", "grp", "posix", "readline", "curses"}
POSIX_NAMES = {"fork", "SIGKILL", "SIGALRM", "SIGHUP", "setsid", "killpg", "geteuid", "getuid"}
# modules with separate code for each operating system; the imports are inside this code
BOTH_WAYS = ("keys", "commands/pc", "unix_socket")
SHIPPED = [*(ROOT / "femtorque").rglob("*.py"), *(ROOT / "host").rglob("*.py"), *(ROOT / "codegen").rglob("*.py")]


def nodes(paths):
    """Return a table from nodes of the files' syntax trees to file and line."""
    return {node: f"{path}:{getattr(node, 'lineno', 0)}" for path in paths
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))}


@pytest.fixture(scope="module")
def shipped():
    return nodes(SHIPPED)


def posix_only(node):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        return bool(POSIX_ONLY & {str(name).split(".")[0] for name in names})
    return isinstance(node, ast.Attribute) and node.attr in POSIX_NAMES


def test_nothing_is_used_that_only_some_systems_have(shipped):
    """Modules are imported on any system, and system-dependent ones within a branch."""
    virtual = nodes((ROOT / "hil").rglob("*.py"))
    assert not [place for node, place in shipped.items() if posix_only(node)
                and not (any(f"{name}.py" in place for name in BOTH_WAYS) and node.col_offset > 0)]
    assert not [place for node, place in virtual.items()
                if isinstance(node, (ast.Import, ast.ImportFrom)) and not node.col_offset and posix_only(node)]


def without_encoding(node):
    """Return True for a call that opens a text file without naming its encoding."""
    if not isinstance(node, ast.Call):
        return False
    method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if method else getattr(node.func, "id", "")
    if "encoding" in {keyword.arg for keyword in node.keywords}:
        return False
    if name in ("read_text", "write_text") and method:
        return len(node.args) <= (name == "write_text")
    modes = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return name == "open" and not any("b" in mode for mode in modes) and getattr(
        getattr(node.func, "value", None), "id", "") not in ("os", "zenoh")


def test_text_files_are_utf8_on_every_system(shipped):
    assert not [place for node, place in shipped.items() if without_encoding(node)]


def test_completion_can_be_installed():
    shown = subprocess.run([sys.executable, ROOT / "femtorque", "--help"], capture_output=True, text=True).stdout
    assert "--install-completion" in shown


def commands():
    """Return a table from verbs to commands, including the verbs of `hil`."""
    found = {}
    for name, command in typer.main.get_command(command_line.app).commands.items():
        found |= {f"{name} {own}": sub for own, sub in getattr(command, "commands", {}).items()} or {name: command}
    return found


def test_every_verb_has_examples_that_can_be_typed():
    for verb, command in commands().items():
        lines = command_line.EXAMPLES.get(verb)
        assert lines, f"EXAMPLES of femtorque/command_line.py has none of {verb}"
        for line in lines:
            assert line == verb or line.startswith(f"{verb} ")
            command.make_context(verb, line[len(verb):].split())  # raises an exception if an option is missing


def test_examples_stand_at_the_end_of_the_help(here):
    shown = here("plan", "--help").stdout
    assert shown.rstrip().endswith("--back --speed 0.5") and "Examples:\n    femtorque plan my_arm.toml" in shown


def in_terminal(environment):
    """Return the output of `check` on a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, [sys.executable, "femtorque", "check", "mechanisms/two_link.toml"],
                  {**os.environ, "TERM": "xterm-256color", **environment})
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break
    os.waitpid(pid, 0)
    os.close(terminal)
    return shown


def test_a_long_verb_shows_its_progress_at_once():
    """The progress line comes before the first table. In a pipe there is no progress line."""
    shown = in_terminal({})
    assert b"checking" in shown and shown.index(b"checking") < shown.index(b"two-link")
    piped = subprocess.run([sys.executable, "femtorque", "check", "mechanisms/two_link.toml"], cwd=ROOT,
                           capture_output=True)
    assert b"checking" not in piped.stdout + piped.stderr


def test_colours_are_for_terminals_that_want_them():
    colour = re.compile(rb"\x1b\[[0-9;]*3[0-9]")
    assert re.search(rb"\x1b\[", in_terminal({}))
    assert not colour.search(in_terminal({"NO_COLOR": "1"}))
    piped = subprocess.run([sys.executable, "femtorque", "check", "mechanisms/two_link.toml"], cwd=ROOT,
                           capture_output=True)
    assert b"\x1b" not in piped.stdout + piped.stderr and b"two-link" in piped.stdout
