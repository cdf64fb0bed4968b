"""What the real server tells in the order in which Go walks a map: another one each time."""

from typing import Any


def in_order(tree: dict[str, Any]) -> dict[str, Any]:
    """A refusal of a custom kind with its causes sorted; anything else as it is.

    The properties of a schema are checked in the order of a Go map (kube-openapi,
    pkg/validation/validate/object_validator.go). Causes of built-in kinds have an order, which is compared.
    """
    details = tree.get("details")
    if tree.get("kind") != "Status" or not isinstance(details, dict):
        return tree
    causes = details.get("causes") or []
    if len(causes) < 2 or not str(details.get("group", "")).endswith(".test"):
        return tree
    told = list(dict.fromkeys(f"{one.get('field')}: {one['message']}" for one in causes))
    message = tree["message"].replace(f"[{', '.join(told)}]", f"[{', '.join(sorted(told))}]")
    ordered = sorted(causes, key=lambda one: (one.get("field", ""), one["reason"], one["message"]))
    return {**tree, "message": message, "details": {**details, "causes": ordered}}
