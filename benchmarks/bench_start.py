"""How soon `jackfield --help` answers, beside `python -c pass` on the same machine.

Exits with 1 when it takes more than 0.25 s where bare Python takes 0.02 s; a slower machine is given as much more.
"""

from __future__ import annotations

import subprocess
import sys
import time

MOST_S = 0.25
BARE_S = 0.02
ROUNDS = 10


def timed(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *command], capture_output=True, check=True, timeout=60)
    return time.perf_counter() - began


def main() -> int:
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(timed("-c", "pass"))
        ours.append(timed("-m", "jackfield.surfaces.cli", "--help"))
    limit = MOST_S * max(1.0, min(bare) / BARE_S)
    print(f"python -c pass    {min(bare) * 1000:6.0f} ms")
    times = min(ours) / min(bare)
    print(f"jackfield --help  {min(ours) * 1000:6.0f} ms, {times:.1f} times; at most {limit * 1000:.0f} ms")
    return int(min(ours) > limit)


if __name__ == "__main__":
    sys.exit(main())
