"""`@jf.node`: a kind of node from a plain or async Python function.

Its signature is the declaration. Positional parameters are input ports, keyword-only ones the configuration, and a
parameter annotated `Context` gets the context. A result annotated as a table leaves by the port `rows`, a dictionary
by a port for each key, anything else by `value`.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_origin, get_type_hints, is_typeddict

from pydantic import ConfigDict, PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, TypeAdapter, create_model

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import ANYTHING, ROWS, TABLE, Configuration, Context, Effect, Inputs, NodeType, Outputs, Port, Ports
from .blocking import in_thread
from .table import Table

EffectName = Literal["pure", "reads", "writes", "asks"]
VALUE: Final = "value"
MOST_SHOWN: Final = 500


@dataclass(frozen=True, slots=True)
class FunctionType(NodeType[Configuration]):
    """A kind made from a function; calling it calls the function, as a test of it would."""

    function: Callable[..., Any] = field(kw_only=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def node(
    *, name: str = "", effect: EffectName | Effect = "pure", thread: bool = False
) -> Callable[[Callable[..., Any]], FunctionType]:
    """Declare a kind of node over a function. Its name is the function's, its description the docstring's first line.

    A function that is not async runs on the event loop, so one that blocks says `thread=True`.

    Raises JackfieldError CONFIG_INVALID for a signature that can not be a node.
    """

    def declare(function: Callable[..., Any]) -> FunctionType:
        return _declared(function, name or function.__name__, Effect(effect), thread)

    return declare


def _declared(function: Callable[..., Any], name: str, effect: Effect, thread: bool) -> FunctionType:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise _unfit(name, f"an annotation is not known: {error}", "Import the type at run time.") from None
    parameters = inspect.signature(function).parameters.values()
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _unfit(name, f"its parameter '{parameter.name}' takes any number of values", "Name each parameter.")
    contexts = tuple(p.name for p in parameters if hints.get(p.name) is Context)
    inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY and p.name not in contexts]
    options = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in contexts]
    configuration = _configuration(name, options, hints)
    outputs, give = _outputs(hints.get("return"))
    ports = Ports(tuple(_port(name, p, hints) for p in inputs), outputs, open_outputs=not outputs)
    positional = [p for p in inputs if p.kind is p.POSITIONAL_ONLY]
    call = _caller(function, thread)

    async def run(config: Configuration, values: Inputs, context: Context) -> Outputs:
        missing = [p.name for p in inputs if p.default is p.empty and p.name not in values]
        if missing:
            raise JackfieldError(
                Code.VALIDATION_MISSING_FIELD,
                f"Node '{context.node}' ({name}) got no value for '{missing[0]}'.",
                "Wire the port, or configure a value for it.",
                {"node": context.node, "parameter": missing[0]},
            )
        chosen = {p.name: values[p.name] for p in inputs if p.name in values}
        first = [chosen.pop(p.name, p.default) for p in positional]
        settings = {p.name: getattr(config, p.name) for p in options}
        try:
            result = await call(*first, **chosen, **settings, **dict.fromkeys(contexts, context))
        except JackfieldError:
            raise
        except Exception as error:
            raise _raised(context.node, name, error) from error
        return give(result, f"Node '{context.node}' ({name})")

    description = (inspect.getdoc(function) or name).splitlines()[0]
    return FunctionType(name, description, effect, configuration, ports, run, function=function)


def _configuration(name: str, options: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> type[Configuration]:
    fields: dict[str, Any] = {
        p.name: (hints.get(p.name, Any), ... if p.default is p.empty else p.default) for p in options
    }
    try:
        return create_model(f"{name}_configuration", __base__=Configuration, **fields)
    except PydanticSchemaGenerationError as error:
        raise _unfit(
            name, f"a keyword-only parameter has a type that is not JSON: {error.message}", "Make it an input."
        ) from None


def _port(name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Port:
    return Port(
        parameter.name, _schema(hints.get(parameter.name, Any)), required=parameter.default is inspect.Parameter.empty
    )


def _schema(annotation: Any) -> Mapping[str, Json]:
    if annotation is Table:
        return TABLE
    try:
        return TypeAdapter(annotation, config=ConfigDict(arbitrary_types_allowed=True)).json_schema()
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError):
        return ANYTHING  # a Python object that only other functions understand


def _outputs(annotation: Any) -> tuple[tuple[Port, ...], Callable[[Any, str], Outputs]]:
    """The output ports, none where the keys of a dictionary are; and how a result becomes values on them."""
    if annotation is Table:
        return (Port(ROWS, TABLE),), lambda result, _: {ROWS: result}
    if is_typeddict(annotation):
        hints = get_type_hints(annotation)
        return tuple(Port(key, _schema(hint)) for key, hint in hints.items()), _by_key
    if annotation is dict or get_origin(annotation) in (dict, Mapping):
        return (), _by_key
    if annotation is type(None):
        return (), lambda result, _: {}
    schema = ANYTHING if annotation is None else _schema(annotation)
    return (Port(VALUE, schema),), lambda result, _: {VALUE: result}


def _by_key(result: Any, name: str) -> Outputs:
    if isinstance(result, Mapping):
        return dict(result)
    raise JackfieldError(
        Code.TYPE_MISMATCH,
        f"{name} promises a dictionary with a key for each output, and returned a {type(result).__name__}.",
        "Return a dictionary, or annotate what it returns.",
    )


def _caller(function: Callable[..., Any], thread: bool) -> Callable[..., Awaitable[Any]]:
    if inspect.iscoroutinefunction(function):
        return cast(Callable[..., Awaitable[Any]], function)

    async def inline(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    async def threaded(*args: Any, **kwargs: Any) -> Any:
        return await in_thread(lambda: function(*args, **kwargs))

    return threaded if thread else inline


def _raised(node: str, name: str, error: Exception) -> JackfieldError:
    """What a function raised, in its own words: its author reads them. Whoever shows it hides the secrets in it."""
    text = str(error)[:MOST_SHOWN]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" It was raised in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}." if trace else ""
    return JackfieldError(
        Code.SOURCE_ERROR,
        f"Node '{node}' ({name}) raised {type(error).__name__}{': ' if text else ''}{text}",
        f"Correct the function, or let it raise a JackfieldError with a code and a hint.{where}",
        {"node": node, "type": type(error).__name__},
    )


def _unfit(name: str, why: str, hint: str) -> JackfieldError:
    return JackfieldError(Code.CONFIG_INVALID, f"The function '{name}' can not be a node: {why}.", hint)
