"""AUD-05: kill -9 under load. No call that was answered is missing, no line is torn, and the chain verifies."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from servers.audit import fill, read

from jackfield.engine.audit.verify import verify

WRITER = Path(__file__).with_name("audit_writer.py")
ROUNDS = {"fast": (4, 1_500), "slow": (6, 25)}  # rounds, and acknowledgements to wait for at most


@pytest.mark.parametrize("pace", ROUNDS)
def test_aud_05_no_acknowledged_line_is_lost_to_kill_9_and_the_chain_verifies(tmp_path: Path, pace: str) -> None:
    chance = random.Random(pace)
    rounds, most = ROUNDS[pace]
    acknowledged: list[str] = []
    for round_number in range(rounds):
        told = killed_after(tmp_path, round_number, pace, chance.randint(1, most))
        assert not [line for line in told if line.startswith("note ")], told[:3]
        acknowledged += told
        verdict = verify(tmp_path)
        assert verdict.fault is None, str(verdict.fault)
        markers = [line["args"]["marker"] for line in read(tmp_path)]
        assert len(markers) == len(set(markers)) == verdict.lines
        assert set(acknowledged) <= set(markers)
        # Of each round at most the one call was recorded whose caller heard nothing.
        assert len(markers) <= len(acknowledged) + round_number + 1
    fill(tmp_path, 1)
    assert verify(tmp_path).fault is None


def killed_after(folder: Path, round_number: int, pace: str, count: int) -> list[str]:
    """What a writer acknowledged until it was killed, which was after at least `count` calls."""
    command = [sys.executable, str(WRITER), str(folder), str(round_number), pace]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = []
        for line in child.stdout:
            told.append(line)
            if len(told) == count:
                child.kill()
        assert child.wait(30) == -signal.SIGKILL
    assert len(told) >= count
    # A pipe takes a short line whole or not at all.
    assert all(line.endswith("\n") for line in told)
    return [line.rstrip("\n") for line in told]
