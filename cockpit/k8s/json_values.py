"""Parts of an object's tree, which may hold anything anywhere: what is not of the expected type is empty."""

from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[dict[str, Any]]:
    """The mappings of a list, none of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
