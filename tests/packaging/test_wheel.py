"""The wheel holds every module: built from a clean copy, installed in an environment of its own."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
IMPORT_ALL = """
import importlib, pathlib, pkgutil, jackfield
assert "site-packages" in jackfield.__file__, jackfield.__file__
failed = []
names = [m.name for m in pkgutil.walk_packages(jackfield.__path__, "jackfield.", onerror=failed.append)]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
assert not failed, failed
print(len(names))
"""


@pytest.mark.timeout(180)
def test_the_built_wheel_installs_and_every_module_imports(tmp_path: Path) -> None:
    source = tmp_path / "source"
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "benchmarks", "out")
    shutil.copytree(ROOT, source, ignore=ignored)
    run = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    wheels = tmp_path / "wheels"
    subprocess.run([*run, "wheel", "--no-deps", "--no-build-isolation", "-w", wheels, source], check=True)
    (wheel,) = wheels.glob("jackfield-*.whl")

    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    (site,) = environment.glob("lib/python*/site-packages")
    subprocess.run([*run, "install", "--no-deps", "--target", site, wheel], check=True)
    # The packages it needs come from this environment: a path line reads no further .pth, so our own editable
    # install stays out of sight.
    (site / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")

    python = environment / "bin" / "python"
    done = subprocess.run([python, "-c", IMPORT_ALL], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    modules = [
        path for room in ("graphs", "nodes", "engine", "connectors", "surfaces") for path in (ROOT / room).rglob("*.py")
    ]
    assert int(done.stdout) == len(modules)
    assert (site / "jackfield" / "py.typed").exists()
    assert not (site / "engine").exists(), "a top-level package besides jackfield was installed"
