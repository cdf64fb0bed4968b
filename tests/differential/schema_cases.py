"""A definition, and custom objects, right and wrong, for the comparison with the real server."""

from pathlib import Path
from typing import Any

import yaml

Tree = dict[str, Any]

_HERE = Path(__file__).parent
THINGS: Tree = yaml.safe_load((_HERE / "schema_things.yaml").read_text())
OBJECTS: dict[str, Tree] = yaml.safe_load((_HERE / "schema_objects.yaml").read_text())
