"""What a command printed, held against the published schema of its kind."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMAS = Path(__file__).resolve().parents[1] / "docs" / "schema"
_TOP = {"node": "top-node", "job": "top-job", "gpu": "top-gpu"}


def checked(tree: Any) -> Any:
    """The same tree. Raises ValidationError where its schema does not allow it, or does not name a field."""
    if "event" in tree:
        jsonschema.validate(tree, closed("watch-event"))
        of_items = closed(tree["kind"])
        item = of_items["properties"]["items"]["items"]
        jsonschema.validate(tree["item"], {**item, "$defs": of_items["$defs"]})
    else:
        name = _TOP.get(tree["kind"], tree["kind"])
        jsonschema.validate(tree, closed(f"{name}-of-clusters" if "contexts" in tree else name))
    return tree


@cache
def closed(name: str) -> dict[str, Any]:
    """The schema without leave for fields that it does not name: what is published allows later ones."""
    tree: dict[str, Any] = copy.deepcopy(json.loads((SCHEMAS / f"{name}.json").read_text()))
    for part in (tree, *tree["$defs"].values()):
        if "properties" in part:
            part["additionalProperties"] = False
    return tree
