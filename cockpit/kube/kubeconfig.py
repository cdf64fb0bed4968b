"""Finding and reading kubeconfig files, with errors that name the file, the line and the remedy.

Does not import the `kubernetes` package, except for the nodes that its loader reads.
"""

import os
from pathlib import Path
from typing import Any

import msgspec

from cockpit.clean import clean
from cockpit.errors import NoConnection
from cockpit.yaml_text import read_yaml

SECTIONS = ("clusters", "contexts", "users")


class Chosen(msgspec.Struct, frozen=True):
    """One context of one or more merged files. `tree` is kubernetes.aio's merged ConfigNode."""

    path: str
    tree: Any
    context: str
    namespace: str
    user_name: str


def files(kubeconfig: str | None) -> tuple[Path, ...]:
    """The files that are asked for: the option, else KUBECONFIG, else ~/.kube/config; may not exist."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if named:
        return tuple(Path(part).expanduser() for part in named.split(os.pathsep) if part)
    return (Path("~/.kube/config").expanduser(),)


def check(path: Path) -> dict[str, Any]:
    """The parsed file. Raises NoConnection naming file, line and what is wrong."""
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise NoConnection(
            f"The kubeconfig {path} is not text; give another file with --kubeconfig."
        ) from None
    except OSError as error:
        raise NoConnection(f"The kubeconfig {path} cannot be read: {error.strerror}.") from None
    try:
        tree = _parsed(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise NoConnection(
            f"The kubeconfig {path}, line {line}, is not YAML: {clean(error.problem or 'broken', 120)}."
        ) from None
    except (yaml.YAMLError, ValueError) as error:
        raise NoConnection(f"The kubeconfig {path} is not YAML: {clean(str(error), 120)}.") from None
    if not isinstance(tree, dict):
        raise NoConnection(
            f"The kubeconfig {path} is empty or not a mapping; it needs clusters, contexts and users."
        )
    for section in SECTIONS:
        _check_section(path, section, tree.get(section))
    return tree


def _parsed(text: str) -> Any:
    """The document in `text`. Raises YAMLError or ValueError."""
    import yaml

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
        raise NoConnection(f"The kubeconfig {path}: {section} is not a list; fix the file.")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise NoConnection(
                f"The kubeconfig {path}: entry {number} of {section} has no name; fix the file."
            )
        if not isinstance(entry.get(inner, {}), dict | None):
            raise NoConnection(
                f"The kubeconfig {path}: {section} entry {entry['name']!r} is not a mapping; fix the file."
            )


def choose(kubeconfig: str | None, context: str | None, *, in_cluster: bool) -> Chosen | None:
    """The chosen context of the kubeconfig; None when there is no file and the process runs in a cluster.

    Raises NoConnection for a missing or broken file and for an unknown context (naming the known ones).
    """
    wanted = files(kubeconfig)
    present = [path for path in wanted if path.exists()]
    if not present:
        if in_cluster and not kubeconfig and not context:
            return None
        names = ", ".join(str(path) for path in wanted)
        raise NoConnection(f"There is no kubeconfig at {names}; set KUBECONFIG or give --kubeconfig FILE.")
    trees = [check(path) for path in present]
    shown = ", ".join(str(path) for path in present)
    current = context or next(
        (str(tree["current-context"]) for tree in trees if tree.get("current-context")), ""
    )
    contexts = {
        entry["name"]: entry.get("context") or {}
        for tree in reversed(trees)
        for entry in tree.get("contexts") or ()
    }
    if not contexts:
        raise NoConnection(
            f"The kubeconfig {shown} has no contexts; log in to a cluster or give --kubeconfig FILE."
        )
    known = clean(", ".join(sorted(contexts)), 400)
    if not current:
        raise NoConnection(f"The kubeconfig {shown} has no current-context; choose with --context: {known}.")
    if current not in contexts:
        raise NoConnection(f"There is no context {clean(current, 120)!r} in {shown}; available: {known}.")
    picked = contexts[current]
    _check_parts(shown, current, picked, trees)
    return Chosen(
        path=shown,
        tree=_merged(present, trees),
        context=current,
        namespace=str(picked.get("namespace") or ""),
        user_name=clean(str(picked.get("user") or "anonymous"), 120),
    )


def _check_parts(shown: str, context: str, picked: dict[str, Any], trees: list[dict[str, Any]]) -> None:
    clusters = {
        entry["name"]: entry.get("cluster") or {} for tree in trees for entry in tree.get("clusters") or ()
    }
    users = {entry["name"] for tree in trees for entry in tree.get("users") or ()}
    cluster, user = picked.get("cluster"), picked.get("user")
    if cluster not in clusters:
        raise NoConnection(
            f"Context {context!r} in {shown} names the cluster {cluster!r}, which is not there."
        )
    if user and user not in users:
        raise NoConnection(f"Context {context!r} in {shown} names the user {user!r}, which is not there.")
    server = clusters[cluster].get("server")
    if not isinstance(server, str) or not server.startswith(("https://", "http://")):
        raise NoConnection(
            f"Cluster {cluster!r} in {shown} has no usable server URL ({server!r}); fix the file."
        )


def _merged(paths: list[Path], trees: list[dict[str, Any]]) -> Any:
    """One tree of what was checked, as kubernetes.aio's KubeConfigMerger makes it of the files.

    The first entry of a name counts, and each remembers its file, because paths in it are relative to that.
    """
    from cockpit.kube.stock import kube_config

    whole = dict(trees[0])
    for section in SECTIONS:
        entries: dict[str, Any] = {}
        for path, tree in zip(paths, trees, strict=True):
            for entry in tree.get(section) or ():
                name = entry["name"]
                entries.setdefault(name, kube_config.ConfigNode(f"{path}/{section}/{name}", entry, str(path)))
        whole[section] = list(entries.values())
    return kube_config.ConfigNode(str(paths[0]), whole, str(paths[0]))
