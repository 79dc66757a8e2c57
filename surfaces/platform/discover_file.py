"""A file of the workspace discovered: its rows, by the node that will read them."""

from __future__ import annotations

from ...connectors.discovery.columns import columns_of
from ...connectors.discovery.found import Found
from ...graphs.model import Json
from .bench import Bench
from .configuration import checked
from .sampling import counted, sample


async def discover_file(bench: Bench, source: dict[str, Json]) -> list[Found]:
    """The rows of a file below `connectors/` or `uploads/`, or a root that the operator declared.

    Raises what reading it raises: for a path outside, a file that is not there, one that is not what it seems.
    """
    place = checked(bench, source)
    found = await sample(bench, place)
    name = str(source["id"])
    rows = found.rows.num_rows if found.is_whole else await counted(bench, place)
    return [Found(name, source, columns_of(found.rows, name), rows, True)]
