"""What a new catalog changes for clients: whether the lists do, and which resources read differently."""

from __future__ import annotations

from collections.abc import Iterator

from ...connectors.catalog import Catalog
from ...connectors.model import Connector
from .connector_shelf import sample_uri, schema_uri
from .skills_extension import skill_files


def is_another(before: Catalog, now: Catalog) -> bool:
    """Whether a client could see a difference."""
    if before.connectors.keys() != now.connectors.keys():
        return True
    return not all(_reads_alike(before.connectors[slug], one) for slug, one in now.connectors.items())


def _reads_alike(before: Connector, now: Connector) -> bool:
    return before is now or (before.digest == now.digest != "" and not (before.graph_files or now.graph_files))


def changed_uris(before: Catalog, now: Catalog) -> Iterator[str]:
    """The resources that may read differently, or are gone."""
    for slug in dict.fromkeys((*before.connectors, *now.connectors)):
        versions = [held[slug] for held in (before.connectors, now.connectors) if slug in held]
        if len(versions) == 2 and _reads_alike(*versions):
            continue
        yield schema_uri(versions[-1])
        yield from dict.fromkeys(uri for one in versions for uri, each in one.resources.items() if not each.is_template)
        yield from dict.fromkeys(sample_uri(one, source) for one in versions for source in one.sources.values())
    old, new = skill_files(before.offer), skill_files(now.offer)
    yield from (uri for uri in dict.fromkeys((*old, *new)) if old.get(uri) != new.get(uri))
