"""`jackfield serve` as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Self


class ServeProcess:
    """Over HTTP unless `--stdio` is among the arguments. `url` is what it printed; `err` what it has said on stderr."""

    def __init__(self, folder: Path, *arguments: object, **environment: str) -> None:
        self.over_stdio = "--stdio" in arguments
        given = ["--port", "0"] if not self.over_stdio and "--port" not in arguments else []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jackfield.surfaces.cli", "serve", *map(str, arguments), *given],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: list[str] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        self.url = ""

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._more:
                self._said.append(line)
                self._more.notify_all()

    def says(self, text: str, timeout: float = 20) -> bool:
        """Whether it comes to say this on stderr."""
        with self._more:
            return self._more.wait_for(lambda: text in self.err, timeout)

    @property
    def err(self) -> str:
        return "".join(self._said)

    def __enter__(self) -> Self:
        if not self.over_stdio:
            assert self.process.stdout is not None
            self.url = self.process.stdout.readline().strip()
            assert self.url, self.end()
        assert self.says("Jackfield serves"), self.end()
        return self

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def end(self, number: int = signal.SIGTERM, timeout: float = 20) -> tuple[int, str]:
        """Send the signal and wait: the exit code, and all that it said on stderr."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code, self.err

    def __exit__(self, *failure: Any) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        self._reader.join(20)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):  # it went away with something unread
                stream.close()
