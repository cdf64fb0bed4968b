"""JSON Schema of what the commands print, from the types that describe it; `make schemas` writes it."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from cockpit.commands.audit import AuditDocument
from cockpit.commands.doctor import DoctorDocument
from cockpit.commands.document import OutputDocument, of_clusters
from cockpit.commands.efficiency import EfficiencyDocument
from cockpit.commands.engines import EnginesDocument
from cockpit.commands.fleet import FleetDocument
from cockpit.commands.get import LISTS
from cockpit.commands.get_documents import OF_KIND, OverviewsDocument, WatchEvent
from cockpit.commands.job import SubmissionDocument
from cockpit.commands.pool_document import PoolDocument
from cockpit.commands.template import TemplatesDocument
from cockpit.commands.triage_document import TriageDocument
from cockpit.commands.why_document import CauseDocument, WhyDocument
from cockpit.local_state.audit import Entry

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: Final[dict[str, type[OutputDocument]]] = {
    **{f"top-{kind}" if kind in ("node", "job", "gpu") else kind: found for kind, found in OF_KIND.items()},
    **{f"{kind}-of-clusters": of_clusters(OF_KIND[kind]) for kind in LISTS},
    "overview-of-clusters": OverviewsDocument,
    "triage-of-clusters": of_clusters(TriageDocument),
    "engines": EnginesDocument,
    "watch-event": WatchEvent,
    "triage": TriageDocument,
    "why": WhyDocument,
    "cause": CauseDocument,
    "fleet": FleetDocument,
    "pool": PoolDocument,
    "doctor": DoctorDocument,
    "efficiency": EfficiencyDocument,
    "submission": SubmissionDocument,
    "templates": TemplatesDocument,
    "audit": AuditDocument,
}
"""By the name of the file in `docs/schema`, without its ending."""
_LEAVES_OUT: Final = frozenset({Entry.__name__})
"""Records whose fields without a value are left out."""


def schema_of(name: str) -> dict[str, Any]:
    """The schema of one document. Each output has every field, also those whose record has a default."""
    document = DOCUMENTS[name]
    _, parts = msgspec.json.schema_components(
        [document], ref_template="#/$defs/{name}", schema_hook=lambda _type: {}
    )
    for part, tree in parts.items():
        if part not in _LEAVES_OUT and "properties" in tree:
            tree["required"] = list(tree["properties"])
            for field in tree["properties"].values():
                field.pop("default", None)
    whole = parts.pop(document.__name__)
    return {"$schema": DIALECT, **whole, "$defs": dict(sorted(parts.items()))}


def schema_text(name: str) -> str:
    """The file of one document."""
    return json.dumps(schema_of(name), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for document_name in DOCUMENTS:
        Path(sys.argv[1], f"{document_name}.json").write_text(schema_text(document_name), encoding="utf-8")
