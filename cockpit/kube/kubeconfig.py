"""Finding and reading kubeconfig files, with errors that name the file, the line and the remedy.

Does not import the `kubernetes` package.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cockpit.errors import NoConnection, NoContexts
from cockpit.kube.kubeconfig_fields import (
    NamedEntry,
    check_config,
    cluster_fields,
    context_fields,
    user_fields,
)
from cockpit.model.acts_as import ActsAs
from cockpit.nearest import nearest_words
from cockpit.sanitise import clean
from cockpit.yaml_text import read_yaml

SECTIONS = ("clusters", "contexts", "users")


class Chosen(msgspec.Struct, frozen=True):
    """One context of one or more merged files, as kubectl would use it.

    `cluster` and `user` hold fields of client-go's schema alone: checked, with whole paths, and with one way
    to log in (cockpit.kube.kubeconfig_fields). Its repr holds no secret.
    """

    path: str
    context: str
    namespace: str
    user_name: str
    cluster: dict[str, Any]
    user: dict[str, Any]
    acts_as: ActsAs | None
    notes: tuple[str, ...]  # fields without effect, each in a sentence

    def __repr__(self) -> str:
        return f"Chosen({self.context!r} in {self.path})"


def files(kubeconfig: str | None) -> tuple[Path, ...]:
    """The files that are asked for: the option, else KUBECONFIG, else ~/.kube/config; may not exist."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if named:
        return tuple(Path(part).expanduser() for part in named.split(os.pathsep) if part)
    return (Path("~/.kube/config").expanduser(),)


def check(path: Path) -> dict[str, Any]:
    """The parsed file. Raises NoConnection naming file, line and what is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise NoContexts(f"The kubeconfig {path} is not text; give another file with --kubeconfig.") from None
    except OSError as error:
        raise NoContexts(f"The kubeconfig {path} cannot be read: {error.strerror}.") from None
    try:
        tree = _parsed(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise NoContexts(
            f"The kubeconfig {path}, line {line}, is not YAML: {clean(error.problem or 'broken', 120)}."
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        raise NoContexts(f"The kubeconfig {path} is not YAML: {clean(str(error), 120)}.") from None
    if not isinstance(tree, dict):
        raise NoContexts(
            f"The kubeconfig {path} is empty or not a mapping; it needs clusters, contexts and users."
        )
    for section in SECTIONS:
        _check_section(path, section, tree.get(section))
    return tree


def _parsed(text: str) -> Any:
    """The document in `text`. Raises YAMLError or ValueError."""
    # libyaml takes a tenth of the time, and every command waits for this file. What it refuses is judged by
    # the parser in Python, which says better what is wrong.
    try:
        return read_yaml(text)
    except (yaml.YAMLError, ValueError):
        return read_yaml(text, in_python=True)


def _check_section(path: Path, section: str, entries: Any) -> None:
    inner = section[:-1]
    if entries is None:
        return
    if not isinstance(entries, list):
        raise NoContexts(f"The kubeconfig {path}: {section} is not a list; fix the file.")
    names: set[str] = set()
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise NoContexts(f"The kubeconfig {path}: entry {number} of {section} has no name; fix the file.")
        if not isinstance(entry.get(inner, {}), dict | None):
            raise NoContexts(
                f"The kubeconfig {path}: {section} entry {entry['name']!r} is not a mapping; fix the file."
            )
        if entry["name"] in names:
            raise NoConnection(
                f"The kubeconfig {path}: {section} has the name {entry['name']!r} twice; remove one of them."
            )
        names.add(entry["name"])


def choose(
    kubeconfig: str | None,
    context: str | None,
    *,
    in_cluster: bool,
    named: Callable[[str], None] = lambda _name: None,
) -> Chosen | None:
    """The chosen context of the kubeconfig; None when there is no file and the process runs in a cluster.
    `named` is called with its name as soon as that is known, also where it cannot be used.

    Of several files the first that names an entry, or the current context, counts. Raises NoConnection for a
    missing or broken file, for an unknown context (naming the nearest) and for a field that cannot be
    honoured.
    """
    wanted = files(kubeconfig)
    present = [path for path in wanted if path.exists()]
    if not present:
        if in_cluster and not kubeconfig and not context:
            return None
        names = ", ".join(str(path) for path in wanted)
        raise NoContexts(
            f"There is no kubeconfig at {names}; set KUBECONFIG, give --kubeconfig FILE, "
            "or run cockpit demo to look around."
        )
    trees = {path: check(path) for path in present}
    notes = [note for path, tree in trees.items() for note in check_config(_entry(path, "", "", tree))]
    shown = ", ".join(str(path) for path in present)
    contexts = _merged(trees, "contexts")
    if not contexts:
        raise NoContexts(
            f"The kubeconfig {shown} has no contexts; log in to a cluster or give --kubeconfig FILE."
        )
    current = context or current_context(trees.values())
    known = nearest_words(current, contexts)
    if not current:
        raise NoConnection(f"The kubeconfig {shown} has no current-context; choose with --context ({known}).")
    named(clean(current, 253))
    if current not in contexts:
        raise NoConnection(f"There is no context {clean(current, 253)!r} in {shown}; {known}")
    picked, more = context_fields(contexts[current])
    notes += more
    cluster, more = cluster_fields(_part(trees, "clusters", current, picked))
    notes += more
    user: dict[str, Any] = {}
    acts_as = None
    if picked.get("user"):
        user, acts_as, more = user_fields(_part(trees, "users", current, picked))
        notes += more
    return Chosen(
        path=shown,
        context=current,
        namespace=picked.get("namespace", ""),
        user_name=clean(picked.get("user") or "anonymous", 120),
        cluster=cluster,
        user=user,
        acts_as=acts_as,
        notes=tuple(clean(note) for note in notes),
    )


def current_context(trees: Iterable[Mapping[str, Any]]) -> str:
    """The first that a file names, "" where none does."""
    return next((str(tree["current-context"]) for tree in trees if tree.get("current-context")), "")


def _merged(trees: Mapping[Path, dict[str, Any]], section: str) -> dict[str, NamedEntry]:
    """The entries of all files by name: the first of a name counts, and remembers its file."""
    entries: dict[str, NamedEntry] = {}
    for path, tree in trees.items():
        for named in tree.get(section) or ():
            name = named["name"]
            if name not in entries:
                entries[name] = _entry(path, section[:-1], name, named.get(section[:-1]) or {})
    return entries


def _entry(path: Path, kind: str, name: str, tree: Mapping[str, Any]) -> NamedEntry:
    words = f"{kind.capitalize()} {name!r} in {path}" if kind else f"The kubeconfig {path}"
    return NamedEntry(words, str(path.absolute().parent), tree)


def _part(
    trees: Mapping[Path, dict[str, Any]], section: str, context: str, picked: Mapping[str, Any]
) -> NamedEntry:
    """The cluster or user that the context names. Raises NoConnection where there is none."""
    kind = section[:-1]
    name = picked.get(kind)
    entries = _merged(trees, section)
    if name is None or name not in entries:
        shown = ", ".join(str(path) for path in trees)
        raise NoConnection(f"Context {context!r} in {shown} names the {kind} {name!r}, which is not there.")
    return entries[name]


# ---- names of contexts


def context_names(kubeconfig: str | None = None) -> tuple[str, ...]:
    """Names in the order of the files; of a name given twice the first counts, as kubectl merges them.

    Raises NoConnection for a file that is broken. Blocking (files): call it in a thread.
    """
    return tuple(clean(name, 253) for name in _contexts(kubeconfig))


def context_namespaces(kubeconfig: str | None, context: str) -> tuple[str, ...]:
    """Namespaces that contexts of the same cluster as `context` name, in the order of the files. Raises and
    blocks as `context_names`."""
    contexts = _contexts(kubeconfig)
    cluster = contexts.get(context, {}).get("cluster")
    named = (context.get("namespace") for context in contexts.values() if context.get("cluster") == cluster)
    return tuple(dict.fromkeys(clean(str(name), 63) for name in named if name))


def _contexts(kubeconfig: str | None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in files(kubeconfig):
        if path.exists():
            for entry in check(path).get("contexts") or ():
                found.setdefault(entry["name"], entry.get("context") or {})
    return found
