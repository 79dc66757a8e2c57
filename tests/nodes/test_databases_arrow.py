"""What becomes of times beyond the calendar and of numbers, in batches of any size."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from jackfield.graphs.errors import Code
from jackfield.nodes.databases.arrow import FEW, Reading
from jackfield.nodes.databases.columns import Column, Kind, TableChangedError


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 100])
@pytest.mark.parametrize(
    ("kind", "type", "integer", "last"),
    [
        (Kind.DATE, pa.date32(), pa.int32(), date(9999, 12, 31)),
        (Kind.TIMESTAMP, pa.timestamp("us"), pa.int64(), datetime.max),  # noqa: DTZ901 (without a zone)
    ],
)
def test_times_beyond_the_calendar_are_null_in_batches_of_any_size(
    count: int, kind: Kind, type: pa.DataType, integer: pa.DataType, last: date
) -> None:
    end = pa.array([last], type).view(integer)[0].as_py()
    for beyond, expected in ((end + 1, None), (end, last), (None, None)):
        numbers = [0] * (count - 1) + [beyond]
        batch = pa.RecordBatch.from_arrays([pa.array(numbers, integer).view(type)], ["at"])
        reading = Reading(batch.schema, [Column("at", kind, "time", '"at"')])
        assert reading.convert(batch).column(0)[count - 1].as_py() == expected


AMOUNT = Column("amount", Kind.DECIMAL, "numeric(6,2)", '"amount"', (6, 2))


@pytest.mark.parametrize("count", [1, FEW, FEW + 1, 100])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("-1234.50", Decimal("-1234.50")), ("7", Decimal("7.00")), ("NaN", None), ("Infinity", None), (None, None)],
)
def test_numbers_that_come_as_text_are_exact_in_batches_of_any_size(
    count: int, text: str | None, expected: Decimal | None
) -> None:
    batch = pa.record_batch({"amount": pa.array(["0.01"] * (count - 1) + [text], pa.string())})
    found = Reading(batch.schema, [AMOUNT]).convert(batch)
    assert found.schema.types == [pa.decimal128(6, 2)]
    assert found.column(0).to_pylist() == [Decimal("0.01")] * (count - 1) + [expected]


@pytest.mark.parametrize("count", [1, FEW + 1])
@pytest.mark.parametrize("text", ["0.001", "12345.00"])
def test_a_number_that_its_type_has_no_room_for_is_an_error(count: int, text: str) -> None:
    batch = pa.record_batch({"amount": ["0.01"] * (count - 1) + [text]})
    with pytest.raises(TableChangedError) as caught:
        Reading(batch.schema, [AMOUNT]).convert(batch)
    assert caught.value.error.code is Code.TYPE_MISMATCH
