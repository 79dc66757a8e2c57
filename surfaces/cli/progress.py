"""Progress on stderr: bars on a terminal, a line a node elsewhere when asked for, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ..facts import duration

if TYPE_CHECKING:
    from ...engine.events import Event, Listener


@contextmanager
def progress(*, quiet: bool = False, lines: bool = False, bars: bool = True) -> Iterator[Listener | None]:
    """A listener for a run while the block lasts. `lines`: name each node that finishes, also without a terminal.

    Without `bars` a terminal is as any other place to write to.
    """
    if quiet:
        yield None
    elif bars and sys.stderr.isatty():
        with _bars(lines) as listener:
            yield listener
    elif lines:
        yield _say
    else:
        yield None


def _say(event: Event) -> None:
    if event.kind == "finished":
        click.echo(f"{event.node}  {duration(float(event.facts.get('seconds', 0)))}", err=True)
    elif event.kind == "failed":
        click.echo(f"{event.node}  failed", err=True)


@contextmanager
def _bars(keep: bool) -> Iterator[Listener]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}"))
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=not keep) as bars:

        def listener(event: Event) -> None:
            if not event.node:
                return
            if event.node not in tasks:
                tasks[event.node] = bars.add_task(event.node, total=None, said="")
            task = tasks[event.node]
            if event.kind == "finished":
                bars.update(task, total=1, completed=1)
            elif event.kind == "failed":
                bars.update(task, said="failed")
            elif event.kind == "pulled" and isinstance(event.facts.get("rows"), int):
                bars.update(task, said=f"{event.facts['rows']:,} rows")
            elif event.kind == "progress":
                total = event.facts.get("total")
                bars.update(
                    task, total=total, completed=event.facts.get("done"), said=str(event.facts.get("message", ""))
                )

        yield listener
