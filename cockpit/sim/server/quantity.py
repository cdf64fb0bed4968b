"""Lists of resources as admissions and quotas add them up."""

from decimal import Decimal
from typing import Any

from cockpit.k8s.quantity import Quantity, quantity

_MILLI = Decimal("1e-3")
Amounts = dict[str, Quantity]


def amounts(tree: Any) -> Amounts:
    """A resource list from its JSON, rounded up to thousandths as the API server's defaults round it.

    What is not a valid quantity is left out: the kind's own check names it.
    """
    found: Amounts = {}
    for name, value in (tree or {}).items():
        try:
            found[name] = quantity(value).rounded_up(_MILLI)
        except ValueError:
            continue
    return found
