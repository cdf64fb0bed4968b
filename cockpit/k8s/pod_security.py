"""What Pod Security admission says of a pod, the particular first.

Source: k8s.io/pod-security-admission policy/check_*.go: `reason (detail), reason (detail)`. A pod that
says nothing of its security breaks four checks of the level restricted: these stand behind what it asks for.
"""

import re
from typing import Final

_PART: Final = re.compile(r"(?P<reason>[^(),]+?) *\((?P<detail>(?:[^()]|\([^()]*\))*)\)(?:, |$)")
_VOLUME_TYPE: Final = re.compile(r'restricted volume types? (?P<types>"[^"]+"(?:, "[^"]+")*)')
_QUOTED: Final = re.compile(r'"([^"]+)"')
_OF_SILENCE: Final = (
    "allowPrivilegeEscalation != false",
    "unrestricted capabilities",
    "runAsNonRoot != true",
    "seccompProfile",
)
"""What every pod breaks that says nothing."""


_NAMED: Final = 2


def forbidden_words(message: str) -> str:
    """ "hostPath volumes, privileged and 4 more"; "" where the text is none of that kind."""
    found = [_word(item["reason"].strip(), item["detail"]) for item in _PART.finditer(message)]
    found.sort(key=lambda one: one in _OF_SILENCE)  # stable: each group keeps its order
    more = len(found) - _NAMED
    named = ", ".join(found[:_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _word(reason: str, detail: str) -> str:
    if reason == "host namespaces":
        return detail
    told = _VOLUME_TYPE.search(detail)
    return reason if told is None else f"{', '.join(_QUOTED.findall(told['types']))} volumes"
