"""What becomes of one firing: its outputs checked, its failure retried, given to `$error` edges, or made an error."""

from __future__ import annotations

import asyncio
import difflib
import random
import secrets
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.lowlevel

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import ERROR_PORT
from ..nodes.base import Context, Effect, Inputs, Outputs
from ..nodes.changing import changes
from .origins import located

if TYPE_CHECKING:
    from .execution import Execution

MORE_TRIES: Final = 2


async def guarded(execution: Execution, place: int, inputs: Inputs, context: Context) -> Outputs:
    """Fire a node that writes: what its connector pulled is forgotten, and an unknown outcome is remembered."""
    run = execution.run
    if run.reads_only:
        _require_no_change(execution, place, context)
    run.wrote = run.wrote or context.node
    try:
        return await execution.plan.fires[place](inputs, context)
    except JackfieldError as error:
        run.last_word = error
        raise
    except anyio.get_cancelled_exc_class():
        run.unknown_writes.append(context.node)
        run.trail.tell(context.node, "outcome_unknown")
        raise
    finally:
        if context.connector:
            run.services.cache.drop(context.connector)


def _require_no_change(execution: Execution, place: int, context: Context) -> None:
    node = execution.plan.nodes[place]
    if changes(node, execution.plan.kinds[place]):
        raise JackfieldError(
            Code.ACCESS_DENIED,
            f"Node '{context.node}' ({node.type}) changes something, and what was called only reads.",
            'Nothing was changed. Make the called tool "category": "WRITE" or "ACTION", or leave that node out.',
            {"node": context.node, "type": node.type},
        )


async def still_cancelled(context: Context, error: BaseException) -> None:
    """Raises unless the run is being cancelled: a node whose own doing was cancelled has failed, and says so."""
    await anyio.lowlevel.checkpoint_if_cancelled()
    task = asyncio.current_task()
    if task is not None and not task.cancelling():
        raise JackfieldError(
            Code.INTERNAL_ERROR,
            f"Node '{context.node}' was cancelled, but not by its run.",
            "Something that it waited for was cancelled from outside.",
            {"node": context.node},
        ) from error


async def recovered(execution: Execution, place: int, inputs: Inputs, context: Context, error: Exception) -> Outputs:
    """The outputs after a node raised: of a later try, or what its `$error` edges carry. Else raises the error.

    An error that a node raises because it is being cancelled never replaces the cancellation.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    for tries in range(MORE_TRIES):
        if not await _pause(execution, place, context, error, tries):
            break
        try:
            return await execution.plan.fires[place](inputs, context)
        except Exception as again:
            error = again
            await anyio.lowlevel.checkpoint_if_cancelled()
    failure = _named(error, execution, place, context)
    execution.run.trail.tell(context.node, "failed", failure.as_json())
    # A question that ends the call is no failure that a graph could handle: it has to reach the caller.
    if not execution.plan.catches[place] or failure.code is Code.INPUT_REQUIRED:
        raise failure
    return {ERROR_PORT: _caught(execution, place, inputs, {"error": failure.as_json()})}


def settled(execution: Execution, place: int, inputs: Inputs, outputs: Any) -> Outputs:
    """What a node returned, when it is not just its declared ports. Raises for a port that it does not declare."""
    plan = execution.plan
    path = execution.path(place)
    if not isinstance(outputs, dict):
        raise JackfieldError(
            Code.INTERNAL_ERROR,
            f"Node '{path}' returned {type(outputs).__name__}, and not values by output port.",
            "A node's function returns a dict.",
            {"node": path},
        )
    if ERROR_PORT in outputs:
        return _returned_error(execution, place, inputs, outputs)
    gives = plan.gives[place]
    if gives is not None and not outputs.keys() <= gives:
        port = next(name for name in outputs if name not in gives)
        near = difflib.get_close_matches(str(port), gives, 1)
        raise JackfieldError(
            Code.INTERNAL_ERROR,
            f"Node '{path}' gave a value on '{port}', a port that kind '{plan.kinds[place].name}' does not declare.",
            f"Did it mean '{near[0]}'?" if near else f"Declared: {', '.join(sorted(gives)) or 'none'}.",
            {"node": path, "port": port},
        )
    return outputs


def _returned_error(execution: Execution, place: int, inputs: Inputs, outputs: Outputs) -> Outputs:
    value = outputs[ERROR_PORT]
    found = dict(value) if isinstance(value, dict) else {"error": value}
    path = execution.path(place)
    failure = _as_failure(found.get("error", found), path)
    if not execution.plan.catches[place]:
        raise failure
    execution.run.trail.tell(path, "failed", failure.as_json())
    return {ERROR_PORT: _caught(execution, place, inputs, found)}


def _as_failure(found: Any, path: str) -> JackfieldError:
    if isinstance(found, JackfieldError):
        return found
    hint = "Wire the node's '$error' port to handle it in the graph."
    if isinstance(found, dict) and found.get("code") in Code.__members__:
        return JackfieldError(
            Code(found["code"]),
            str(found.get("message", "")),
            str(found.get("hint", "")) or hint,
            {"node": path, **(found.get("details") or {})},
        )
    text = str(found.get("message", found)) if isinstance(found, dict) else str(found)
    return JackfieldError(Code.SOURCE_ERROR, f"Node '{path}' failed: {text}", hint, {"node": path})


def _caught(execution: Execution, place: int, inputs: Inputs, found: dict[str, Any]) -> dict[str, Any]:
    """The value of `$error`, in Breadboard's shape."""
    node = execution.plan.nodes[place]
    if isinstance(found.get("error"), JackfieldError):
        found = {**found, "error": found["error"].as_json()}
    descriptor = {"id": node.id, "type": node.type, "configuration": dict(node.configuration)}
    return {"kind": "error", **found, "descriptor": descriptor, "inputs": {**node.configuration, **inputs}}


async def _pause(execution: Execution, place: int, context: Context, error: Exception, tries: int) -> bool:
    """Wait before another try; False when there is to be none: a node that does not read, a lasting error, no time."""
    if execution.plan.effects[place] is not Effect.READS:
        return False
    if not isinstance(error, JackfieldError) or not error.transient:
        return False
    wait = random.uniform(0, execution.run.backoff_s * 2**tries)
    asked = error.details.get("retry_after_s")
    if isinstance(asked, (int, float)):
        wait += asked
    if anyio.current_time() + wait >= execution.run.deadline:
        return False
    execution.run.trail.tell(context.node, "retried", {"code": error.code.value, "try": tries + 2, "after_s": wait})
    await anyio.sleep(wait)
    return True


def _named(error: Exception, execution: Execution, place: int, context: Context) -> JackfieldError:
    """The error with its node. What is no JackfieldError is a bug, whose text may hold anything and is not shown."""
    if isinstance(error, JackfieldError):
        return located(error, context, execution.plan.kinds[place], execution.plan.nodes[place].configuration)
    name = secrets.token_hex(4)
    failure = JackfieldError(
        Code.INTERNAL_ERROR,
        f"Node '{context.node}' ({execution.plan.kinds[place].name}) failed by a bug: {type(error).__name__} [{name}].",
        "Please report it with this id; what it was is in the cause of this error.",
        {"node": context.node, "id": name, "type": type(error).__name__},
    )
    failure.__cause__ = error
    return failure


def as_failure(error: Exception) -> JackfieldError:
    """The one error that a caller sees, out of whatever groups tasks wrapped it in."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, JackfieldError):
        return error
    name = secrets.token_hex(4)
    failure = JackfieldError(
        Code.INTERNAL_ERROR,
        f"The run failed by a bug: {type(error).__name__} [{name}].",
        "Please report it with this id; what it was is in the cause of this error.",
        {"id": name, "type": type(error).__name__},
    )
    failure.__cause__ = error
    return failure
