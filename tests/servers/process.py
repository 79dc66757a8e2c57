"""A server process of our own: it ends when we stop it, and also when we die, however that happens."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

# The shell holds a pipe from us; when we are gone it reads the end of it and stops the server.
GUARD = 'log=$1; shift; sig=$1; shift; "$@" >>"$log" 2>&1 & echo $!; cat >/dev/null; kill -"$sig" $!; wait $!'


class NotInstalledError(Exception):
    """The server's programs are not on this machine."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def account(*names: str) -> str | None:
    """Whom to run a server as: one of `names` when we are root (which servers refuse to be), else ourselves."""
    if os.geteuid() != 0:
        return None
    for name in (*names, "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise NotInstalledError("root needs another account to run a server as")


def missing(error: NotInstalledError) -> NoReturn:
    """Skip the test that asked; in CI every server has to be there."""
    import pytest  # a benchmark's environment has none

    if os.environ.get("CI"):
        pytest.fail(f"CI needs every server: {error}")
    pytest.skip(str(error))


class Folder:
    """A temporary folder that belongs to the server's account. Its path is short: sockets need that."""

    def __init__(self, name: str, owner: str | None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"jf-{name}-", dir="/tmp" if Path("/tmp").is_dir() else None))
        self.owner = owner
        self.give(self.path)

    def give(self, path: Path) -> Path:
        if self.owner is not None:
            entry = pwd.getpwnam(self.owner)
            os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text, "utf-8")
        path.chmod(0o600)
        return self.give(path)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def run_as(owner: str | None, command: Sequence[str], folder: Path) -> None:
    """Run a set-up program to its end; its output is in the error when it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        user=owner,
        group=None if owner is None else pwd.getpwnam(owner).pw_gid,
        extra_groups=None if owner is None else [],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed ({done.returncode}): {done.stdout}\n{done.stderr}")


class Process:
    """A running server. `stop` asks it to end with `signal_name`; `kill` is kill -9 on the server itself."""

    def __init__(self, command: Sequence[str], folder: Folder, signal_name: str) -> None:
        self.log = folder.path / "server.log"
        self._signal = getattr(signal, f"SIG{signal_name}")
        owner = folder.owner
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "sh", str(self.log), signal_name, *command],
            cwd=folder.path,
            user=owner,
            group=None if owner is None else pwd.getpwnam(owner).pw_gid,
            extra_groups=None if owner is None else [],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        self.pid = int(self._guard.stdout.readline())

    def alive(self) -> bool:
        if self._guard.poll() is not None:
            return False
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return not Path("/proc").is_dir()
        return state != "Z"

    def wait_ready(self, ready: Callable[[], bool], seconds: float = 60) -> bool:
        """Whether the server answered before it ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.alive():
            if ready():
                return True
            time.sleep(0.02)
        return False

    def stop(self, seconds: float = 20) -> None:
        self._end(self._signal, seconds)

    def kill(self) -> None:
        self._end(signal.SIGKILL, 20)

    def _end(self, with_signal: int, seconds: float) -> None:
        if self.alive():
            os.kill(self.pid, with_signal)
        end = time.monotonic() + seconds
        while self.alive() and time.monotonic() < end:
            time.sleep(0.01)
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        self._guard.stdin.close()
        try:
            self._guard.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()
        self._guard.stdout.close()
