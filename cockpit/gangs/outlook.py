"""Who gets quota and who loses it, as an engine that admits by quota decides it: values between the engines
and the plans."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cockpit.gangs.manifests import ApiKind
from cockpit.model.record import Labels
from cockpit.model.scheduling import Toleration

Tree = Mapping[str, Any]


class OutlookFacts(NamedTuple):
    """What was read for an outlook: the lists that the engine names (None: this user may not list them), and
    objects of workloads by uid."""

    lists: Mapping[ApiKind, Sequence[Tree] | None]
    workloads: Mapping[str, Tree]


class QuotaStart(msgspec.Struct, frozen=True):
    """A contender that gets quota: what its flavors add to the pods of each part."""

    name: str
    selectors: Mapping[str, Labels]
    tolerations: Mapping[str, tuple[Toleration, ...]]


class QuotaOutlook(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine with quota does once the contenders ask. `victims` are uids of workloads that lose their
    quota, in the order in which they do; `starts` the contenders that get theirs.

    `unknown` says why it cannot be computed. `wants` are uids of workloads whose objects have to be read
    first; what is given beside it is not the whole answer.
    """

    victims: tuple[str, ...] = ()
    starts: tuple[QuotaStart, ...] = ()
    unknown: str = ""
    wants: tuple[str, ...] = ()
