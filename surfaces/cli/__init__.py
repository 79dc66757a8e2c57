"""The `jackfield` command. Each command is one file, imported when it is the one that runs."""

from .main import main

__all__ = ["main"]
