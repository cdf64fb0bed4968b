"""The few commands of kubectl that offers are made of, sent as the calls that kubectl would send: where no
kubectl is built. On a bed the real one runs them."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence

from tests.bed.api import JSON_PATCH, MERGE, Api
from tests.triage.bed_stage import Served
from tests.triage.case import Tree

_NOW = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class KubectlCalls:
    """kubectl on one API server."""

    def __init__(self, api: Api, served: Served) -> None:
        self._api = api
        self._served = served
        self._verbs: dict[str, Callable[[list[str], dict[str, str], str], str]] = {
            "get": self._get,
            "patch": self._patch,
            "apply": self._apply,
            "create": self._create,
            "delete": self._delete,
            "label": self._label,
            "annotate": self._annotate,
        }

    def run(self, words: Sequence[str], piped: str) -> str:
        """What it prints. Raises ApiError where the server refuses, ValueError for what is not known here."""
        verb, *rest = words[1:]
        if verb not in self._verbs:
            raise ValueError(f"no {shlex.join(words)} here")
        named, options = _sorted(rest)
        return self._verbs[verb](named, options, piped)

    def _paths(self, kind: str, names: Sequence[str], space: str) -> Iterator[str]:
        label = self._label_of(kind)
        for name in names:
            yield self._served.path(label, space if self._served.is_namespaced(label) else "", name)

    def _label_of(self, kind: str) -> str:
        """`job.batch`, `clusterqueue`, `podgroups.scheduling.x-k8s.io` -> the collection."""
        head, _, group = kind.partition(".")
        for plural in (head, f"{head}s", f"{head}es", f"{head[:-1]}ies"):
            for label in self._served.labels():
                name, _, of = label.partition(".")
                if name == plural and (of == group or not group):
                    return label
        raise ValueError(f"no kind {kind} is served here")

    def _get(self, named: list[str], options: dict[str, str], piped: str) -> str:
        kind, *names = named
        (path,) = self._paths(kind, names, options.get("-n", ""))
        return json.dumps(self._api.get(path))

    def _patch(self, named: list[str], options: dict[str, str], piped: str) -> str:
        change = json.loads(options["-p"])
        kind, *names = named
        part = f"/{options['--subresource']}" if "--subresource" in options else ""
        content = JSON_PATCH if options.get("--type") == "json" else MERGE
        for path in self._paths(kind, names, options.get("-n", "")):
            self._api.request("PATCH", path + part, change, content_type=content).checked()
        return ""

    def _apply(self, named: list[str], options: dict[str, str], piped: str) -> str:
        return self._put(json.loads(piped))

    def _put(self, tree: Tree) -> str:
        metadata = {
            name: value
            for name, value in tree["metadata"].items()
            if name in ("name", "namespace", "labels", "annotations")
        }
        made = {**{name: one for name, one in tree.items() if name != "status"}, "metadata": metadata}
        label = self._served.label_of(tree)
        self._api.create(self._served.path(label, metadata.get("namespace", "")), made)
        return ""

    def _create(self, named: list[str], options: dict[str, str], piped: str) -> str:
        kind, name = named[0], named[-1]
        version, word = {
            "configmap": ("v1", "ConfigMap"),
            "secret": ("v1", "Secret"),
            "serviceaccount": ("v1", "ServiceAccount"),
            "priorityclass": ("scheduling.k8s.io/v1", "PriorityClass"),
        }[kind]
        where = {"namespace": options["-n"]} if "-n" in options else {}
        more = {"value": int(options["--value"])} if "--value" in options else {}
        return self._put({"apiVersion": version, "kind": word, "metadata": {"name": name, **where}, **more})

    def _delete(self, named: list[str], options: dict[str, str], piped: str) -> str:
        kind, *names = named
        for path in self._paths(kind, names, options.get("-n", "")):
            self._api.request("DELETE", path, _NOW if "--force" in options else None).checked()
        return ""

    def _label(self, named: list[str], options: dict[str, str], piped: str) -> str:
        return self._marked("labels", named, options)

    def _annotate(self, named: list[str], options: dict[str, str], piped: str) -> str:
        return self._marked("annotations", named, options)

    def _marked(self, field: str, named: list[str], options: dict[str, str]) -> str:
        kind, name, *marks = named
        held = {
            one.removesuffix("-") if "=" not in one else one.partition("=")[0]: (
                one.partition("=")[2] if "=" in one else None
            )
            for one in marks
        }
        (path,) = self._paths(kind, [name], options.get("-n", ""))
        self._api.merge(path, {"metadata": {field: held}})
        return ""


_SWITCHES = ("--force", "--overwrite")
_VALUED = ("-n", "-o", "-f", "-p")


def _sorted(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """(what is named, options)."""
    named: list[str] = []
    options: dict[str, str] = {}
    left = iter(words)
    for word in left:
        if word in _VALUED:
            options[word] = next(left)
        elif word in _SWITCHES:
            options[word] = ""
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            options[name] = value
        else:
            named.append(word)
    return named, options
