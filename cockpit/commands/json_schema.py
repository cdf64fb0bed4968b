"""What is published of outputs and settings, made from their types and list; `make schemas` writes it."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from cockpit.commands.audit import AuditDocument
from cockpit.commands.config import ConfigDocument
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
from cockpit.local_state import setting_list
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
    "config": ConfigDocument,
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


def texts() -> dict[str, str]:
    """The files that are made from types and settings, by their path below `docs`."""
    trees = {f"schema/{name}.json": schema_of(name) for name in DOCUMENTS}
    trees["config.schema.json"] = setting_list.json_schema()
    files = {path: json.dumps(tree, indent=1, ensure_ascii=False) + "\n" for path, tree in trees.items()}
    return {**files, "configuration.md": setting_list.page()}


if __name__ == "__main__":
    for path_below_docs, text in texts().items():
        Path(sys.argv[1], path_below_docs).write_text(text, encoding="utf-8")
