"""Times of a database that the calendar does not have become null, in batches of any size."""

from datetime import date, datetime

import pyarrow as pa
import pytest

from jackfield.nodes.databases.arrow import FEW, Reading
from jackfield.nodes.databases.columns import Column, Kind


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
