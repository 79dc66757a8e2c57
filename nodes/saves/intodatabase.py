"""What the saves into a database server share: one transaction, made once, and records of idempotency keys in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import anyio
from pydantic import Field, model_validator

from ...graphs.errors import Code, JackfieldError
from ..base import Context, Lease
from ..blocking import in_thread
from ..databases.columns import TableChangedError
from ..databases.dsn import Dsn, Engine, Tls, address
from ..databases.engines import database
from ..databases.pull import leased
from ..databases.session import ConnectionLostError, Session
from ..databases.writing import unknown
from ..table import Table
from .base import CanSave, SaveConfiguration, Saved
from .filesave import Batches, check_columns
from .fit import family, mismatch

if TYPE_CHECKING:
    import pyarrow as pa

SAVES_TABLE = "_jackfield_saves"
FRESH = "_jackfield_fresh"  # the temporary table in which an upsert's rows are checked


class DatabaseSave(SaveConfiguration):
    """A table that is not there is made, with types that fit the rows; `key` then becomes its primary key."""

    dsn: str | None = Field(None, description="Address, such as postgresql://user:password@host/db; or {{ env:VAR }}")
    url: str | None = Field(None, description="The same as dsn")
    table: str = Field(min_length=1, description="The table, which may be schema.table; made if it is not there")
    tls: Tls | None = Field(None, description="Overrides the address's sslmode")
    timeout_s: float = Field(600, gt=0, description="Seconds for the whole save")

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        if (self.dsn is None) == (self.url is None):
            raise ValueError("exactly one of 'dsn' and 'url' is needed")
        return self

    def where(self, engine: Engine, context: Context) -> Dsn:
        text = self.dsn or self.url or ""
        return address(text, engine, context.secrets, (context.folder, *context.roots)).over(self.tls)


S = TypeVar("S", bound=Session)


@dataclass(slots=True)
class DatabaseJob(Generic[S]):
    """One save. `committing` is set right before the commit: a connection lost later leaves the outcome unknown."""

    config: DatabaseSave
    session: S
    rows: Batches
    idempotency_key: str
    committing: bool = False


Write = Callable[["DatabaseJob[Any]"], int | None]


async def save_into(engine: Engine, config: DatabaseSave, table: Table, context: Context, write: Write) -> Saved:
    """`write` saves in one transaction; it gives the number of rows if the idempotency key had been saved before."""
    check_columns(config, table)
    if config.table.rpartition(".")[2].strip('"`') == SAVES_TABLE:
        raise JackfieldError(Code.CONFIG_INVALID, f"'{SAVES_TABLE}' is where saves keep their own records.")
    place = database(config.where(engine, context), read_only=False, timeout_s=config.timeout_s)
    batches = Batches(table)

    def run(session: Session) -> Saved:
        session.check()
        job = DatabaseJob(config, session, batches, context.idempotency_key)
        try:
            repeated = write(job)
        except ConnectionLostError as error:
            if job.committing:
                raise unknown(place) from None
            raise nothing_saved(error.error) from None
        except TableChangedError as error:
            raise nothing_saved(error.error) from None
        return Saved(batches.count, config.table) if repeated is None else Saved(repeated, config.table, repeated=True)

    async def use(lease: Lease[Session]) -> Saved:
        session = lease.value

        def cancel() -> None:
            batches.stop()
            session.cancel()

        return await in_thread(lambda: run(session), cancel=cancel)

    try:
        with anyio.fail_after(config.timeout_s):
            return await leased(place, context, use, timeout_s=float("inf"))
    except TimeoutError:
        raise JackfieldError(
            Code.SOURCE_TIMEOUT,
            f"The save into '{config.table}' took longer than {config.timeout_s:g} s and was rolled back.",
            "Save fewer rows at once, or raise `timeout_s`.",
        ) from None
    except Exception as error:
        # A driver says of rows that could not be read only that it failed; what ended them says more.
        raise (batches.failure or error) from None
    finally:
        table.close()


def nothing_saved(error: JackfieldError) -> JackfieldError:
    """As `error`, for a save: it is not made again without being asked."""
    return JackfieldError(error.code, f"{error.message} Nothing was saved.", error.hint, error.details)


async def can_save_into(engine: Engine, config: DatabaseSave, context: Context, check: Callable[[Any], str]) -> CanSave:
    """`check` gives the reason why not, empty when one can; it changes nothing."""
    if config.mode == "upsert" and not config.key:
        return CanSave(False, "An upsert needs 'key': the columns that identify a row.")
    try:
        place = database(config.where(engine, context), timeout_s=30)  # a session that only reads

        async def use(lease: Lease[Session]) -> str:
            return await in_thread(lambda: check(lease.value), cancel=lease.value.cancel)

        reason = await leased(place, context, use, timeout_s=30)
    except JackfieldError as error:
        return CanSave(False, error.message)
    return CanSave(not reason, reason)


def check_types(
    rows: pa.Schema,
    written: pa.Schema,
    accepted: Mapping[str, frozenset[str] | None],
    names: Mapping[str, str],
    target: str,
) -> None:
    """Raises TYPE_MISMATCH for a column of the rows that the target's column would take only by changing its values.

    `written` is how the rows go out; a column of nothing but nulls fits everywhere.
    """
    for came, field in zip(rows, written, strict=True):
        takes = accepted[field.name]
        if takes is not None and family(came.type) != "null" and family(field.type) not in takes:
            raise mismatch(field.name, str(came.type), names[field.name], target)


def plain(schema: pa.Schema) -> tuple[pa.Schema, Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """The schema that a server's table can have, and what turns batches into it: what is nested becomes JSON text."""
    import pyarrow as pa

    target = pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [_changed(column, field.type) for column, field in zip(batch.columns, target, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=target)

    return target, change


def _plain(type: Any) -> pa.DataType:
    import pyarrow as pa

    if isinstance(type, pa.BaseExtensionType):
        return _plain(type.storage_type)
    if pa.types.is_dictionary(type):
        return _plain(type.value_type)
    if pa.types.is_uint64(type):
        return pa.decimal128(20, 0)
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", None if type.tz is None else "UTC")
    if pa.types.is_date(type):
        return pa.date32()
    if pa.types.is_time(type):
        return pa.time64("us")
    if pa.types.is_decimal(type) and type.precision > 38:
        return pa.string()
    if pa.types.is_float16(type):
        return pa.float32()
    known: dict[str, pa.DataType] = {"null": pa.string(), "text": pa.string(), "binary": pa.binary()}
    if (name := family(type)) in known:
        return known[name]
    kept: pa.DataType = pa.string() if pa.types.is_nested(type) else type
    return kept


def _changed(column: Any, target: pa.DataType) -> Any:
    import pyarrow as pa

    if column.type == target:
        return column
    if isinstance(column, pa.ExtensionArray):
        return _changed(column.storage, target)
    if pa.types.is_nested(column.type):
        import msgspec

        encoder = msgspec.json.Encoder(decimal_format="number")
        values = column.to_pylist()
        return pa.array([None if value is None else encoder.encode(value).decode() for value in values], pa.string())
    if pa.types.is_timestamp(target):
        return column.cast(target, safe=False)  # nanoseconds are cut off: servers keep microseconds
    return column.cast(target)
