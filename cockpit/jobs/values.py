"""Values of several parts: KEY=VALUE pairs, claims and host paths with the place where they are mounted.

A person writes them in one field, words separated by spaces, a value with spaces in quotes as in a shell:
`LR=0.1 'NOTE=two words'`, `datasets:/data models:/models:ro`.
"""

import re
import shlex
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from cockpit.errors import BadValue
from cockpit.k8s.quantity import parse_quantity
from cockpit.mask import HIDDEN, URL_LOGIN, has_mark

MOST_PARTS: Final = 64
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# Sources of the rules: kube-apiserver, IsEnvVarName, IsQualifiedName, IsValidLabelValue, IsDNS1123Subdomain.
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,253}")
_NAME_PART = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = re.compile(rf"(?=.{{1,317}}$)({_PREFIX}/)?{_NAME_PART}")
_RESOURCE = re.compile(rf"(?=.{{1,253}}$){_PREFIX}/{_NAME_PART}")
_LABEL_VALUE = re.compile(_NAME_PART)
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){_PREFIX}")
_PATH = re.compile(r"/[^\x00:]*")
# What git takes without running a program of the address's choice (no `ext::` and no option).
_GIT = re.compile(
    r"(?:https?|ssh|git)://[A-Za-z0-9][^\s\x00]*|[A-Za-z0-9][\w.-]*@[A-Za-z0-9][\w.-]*:[^\s\x00-][^\s\x00]*"
)
_GIT_ADDRESS = re.compile(r"\bgit\+\S+|(?<=\bgit\s)[^;&|\n]*://\S+|\w+://\S+\.git\b")
"""What `git` and `pip` read as the address of a repository, in a command or a variable."""
_NO_PASSWORD = (
    "contains a password or a token, which all who may read the job could read: put it into a Secret that the"
    " job names (secretKeyRef, or mounted for git's credential store), and give the address without it"
)
_REVISION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]*")


class KeyValue(msgspec.Struct, frozen=True, gc=False):
    """One KEY=VALUE."""

    key: str
    value: str


class Mount(msgspec.Struct, frozen=True, gc=False):
    """A volume and where the containers see it. `source` is a name, or the absolute path of a `hostPath`.

    `kind` is the volume's field in a pod's spec. `path` "" is no mount: the keys of a ConfigMap or Secret are
    variables of the containers' environment.
    """

    source: str
    path: str
    is_read_only: bool = False
    kind: str = "persistentVolumeClaim"


class ToleratedTaint(msgspec.Struct, frozen=True, gc=False):
    """A taint that is tolerated. `value` None: every value; `effect` "": every effect."""

    key: str
    value: str | None = None
    effect: str = ""


def refuse(name: str, text: str, remedy: str) -> NoReturn:
    """Raise BadInput that names the field, the value and what is allowed."""
    raise BadValue(name, f"{text!r} {remedy}")


def words(name: str, text: str) -> tuple[str, ...]:
    """The words of a field, as a shell splits them. Raises BadInput."""
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        remedy = "close the quote" if "quotation" in str(error) else "write the backslash twice"
        refuse(name, text, f"cannot be split into words: {remedy}")


def _several(name: str, text: str) -> tuple[str, ...]:
    found = words(name, text)
    if len(found) > MOST_PARTS:
        raise BadValue(name, f"{len(found)} parts are too many, at most {MOST_PARTS}")
    return found


def _pairs(name: str, text: str) -> tuple[KeyValue, ...]:
    found: dict[str, KeyValue] = {}
    for word in _several(name, text):
        key, equals, value = word.partition("=")
        if not equals or not key:
            refuse(name, word, "is not KEY=VALUE")
        if key in found:
            raise BadValue(name, f"{key} is given twice; keep one")
        found[key] = KeyValue(key, value)
    return tuple(found.values())


def environment(name: str, text: str) -> tuple[KeyValue, ...]:
    """Environment variables; the kubelet expands `$(NAME)` in a value, as its users know it."""
    found = _pairs(name, text)
    for item in found:
        if not _ENVIRONMENT_NAME.fullmatch(item.key):
            refuse(
                name,
                item.key,
                "is not a valid variable name: letters, digits and _, not starting with a digit",
            )
    return found


def labels(name: str, text: str) -> tuple[KeyValue, ...]:
    """Labels: of the job, or those that a node must carry."""
    found = _pairs(name, text)
    for item in found:
        if not _QUALIFIED.fullmatch(item.key):
            refuse(name, item.key, "is not a valid label key such as pool or example.com/pool")
        if item.value and not _LABEL_VALUE.fullmatch(item.value):
            refuse(name, item.value, "is not a valid label value: letters, digits, -, _ and ., at most 63")
    return found


def resources(name: str, text: str) -> tuple[KeyValue, ...]:
    """Extended resources with whole numbers, as in rdma/hca=1 or hugepages-2Mi=64Mi."""
    found = _pairs(name, text)
    for item in found:
        huge = re.fullmatch(r"hugepages-[0-9]+[KMG]i", item.key)
        if not _RESOURCE.fullmatch(item.key) and huge is None:
            refuse(name, item.key, "is not a valid extended resource such as rdma/hca")
        try:
            amount = parse_quantity(item.value)
        except ValueError:
            refuse(name, f"{item.key}={item.value}", "needs an amount, as in rdma/hca=1")
        if amount < 1 or (huge is None and not re.fullmatch(r"[0-9]{1,9}", item.value)):
            refuse(name, f"{item.key}={item.value}", "needs a whole number of at least 1")
    return found


def table(name: str, text: str) -> tuple[KeyValue, ...]:
    """A table in one field: what is looked up, and the label value that it leads to."""
    found = _pairs(name, text)
    for item in found:
        if not _LABEL_VALUE.fullmatch(item.value):
            refuse(name, item.value, "is not a valid label value: letters, digits, -, _ and ., at most 63")
    return found


def annotations(name: str, text: str) -> tuple[KeyValue, ...]:
    """Annotations: keys like those of labels, any text as value."""
    found = _pairs(name, text)
    for item in found:
        if not _QUALIFIED.fullmatch(item.key):
            refuse(name, item.key, "is not a valid annotation key such as note or example.com/note")
    return found


def tolerations(name: str, text: str) -> tuple[ToleratedTaint, ...]:
    """Taints that are tolerated: `KEY`, `KEY=VALUE`, `KEY:EFFECT` or `KEY=VALUE:EFFECT`."""
    found: dict[tuple[str, str], ToleratedTaint] = {}
    for word in _several(name, text):
        taint, colon, effect = word.partition(":")
        key, equals, value = taint.partition("=")
        if colon and effect not in _EFFECTS:
            refuse(name, word, f"has no effect of taints behind its colon: {', '.join(_EFFECTS)}")
        if not _QUALIFIED.fullmatch(key):
            refuse(name, key, "is not a valid taint key such as gpu or example.com/gpu")
        if value and not _LABEL_VALUE.fullmatch(value):
            refuse(name, value, "is not a valid taint value: letters, digits, -, _ and ., at most 63")
        if (key, effect) in found:
            raise BadValue(name, f"{key} is given twice; keep one")
        found[key, effect] = ToleratedTaint(key, value if equals else None, effect)
    return tuple(found.values())


def _mounts(name: str, text: str, source: Callable[[str], bool], remedy: str, kind: str) -> tuple[Mount, ...]:
    found: dict[str, Mount] = {}
    for word in _several(name, text):
        parts = word.split(":")
        is_read_only = len(parts) == 3 and parts[2] == "ro"
        if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] not in ("ro", "rw")):
            refuse(name, word, f"is not of the form {remedy}")
        if not source(parts[0]):
            refuse(name, parts[0], f"cannot precede the colon: write {remedy}")
        _refuse_path(name, parts[1])
        if parts[1] in found:
            raise BadValue(name, f"{parts[1]} is used by two mounts; give each its own path")
        found[parts[1]] = Mount(parts[0], parts[1], is_read_only, kind)
    return tuple(found.values())


def _refuse_path(name: str, path: str) -> None:
    if not _PATH.fullmatch(path) or path.rstrip("/") == "" or ".." in path.split("/"):
        refuse(name, path, "is not an absolute path such as /data")


def claims(name: str, text: str) -> tuple[Mount, ...]:
    """Volume claims: `CLAIM:/path` or `CLAIM:/path:ro`."""
    remedy = "CLAIM:/path or CLAIM:/path:ro"
    return _mounts(name, text, _is_object_name, remedy, "persistentVolumeClaim")


def config_maps(name: str, text: str) -> tuple[Mount, ...]:
    """ConfigMaps: `NAME:/path` as files, `NAME` as variables of the environment."""
    return _named(name, text, "configMap")


def secrets(name: str, text: str) -> tuple[Mount, ...]:
    """Secrets by name, as ConfigMaps are given; what they hold is never read."""
    return _named(name, text, "secret")


def _named(name: str, text: str, kind: str) -> tuple[Mount, ...]:
    given = _several(name, text)
    alone = [word for word in given if ":" not in word]
    for word in alone:
        if not _is_object_name(word):
            refuse(name, word, "is not a valid name: lower-case letters, digits, '-' and '.'")
        if alone.count(word) > 1:
            raise BadValue(name, f"{word} is given twice; keep one")
    mounted = shlex.join(word for word in given if ":" in word)
    found = _mounts(name, mounted, _is_object_name, "NAME, NAME:/path or NAME:/path:ro", kind)
    return (*found, *(Mount(word, "", kind=kind) for word in alone))


def _is_object_name(text: str) -> bool:
    return _SUBDOMAIN.fullmatch(text) is not None


def host_paths(name: str, text: str) -> tuple[Mount, ...]:
    """Directories of the node, `/host/path:/path`: drivers of clusters whose runtime does not bring them."""

    def is_path(one: str) -> bool:
        return _PATH.fullmatch(one) is not None and one != "/" and ".." not in one.split("/")

    return _mounts(name, text, is_path, "/host/path:/path or /host/path:/path:ro", "hostPath")


def path(name: str, text: str) -> str:
    """An absolute path in the container."""
    _refuse_path(name, text)
    return text


def refuse_secrets(name: str, text: str) -> None:
    """Raise BadInput for a mark that stands for a secret, and for a git address with a password in it."""
    if has_mark(text):
        raise BadValue(
            name,
            f"{HIDDEN} stands for a secret that is not shown: write the value, or name a Secret that has it",
        )
    if any(URL_LOGIN.search(found[0]) for found in _GIT_ADDRESS.finditer(text)):
        raise BadValue(name, f"{text!r} {_NO_PASSWORD}")


def git(name: str, text: str) -> str:
    """The address of a git repository, without a password."""
    if URL_LOGIN.search(text):
        raise BadValue(name, f"{text!r} {_NO_PASSWORD}")
    if not _GIT.fullmatch(text):
        refuse(name, text, "is not a valid repository URL such as https://example.com/team/code.git")
    return text


def revision(name: str, text: str) -> str:
    """A branch, a tag or a commit."""
    if not _REVISION.fullmatch(text) or ".." in text:
        refuse(name, text, "is not a valid branch, tag or commit")
    return text


def resource_name(name: str, text: str) -> str:
    """The name of an extended resource."""
    if not _RESOURCE.fullmatch(text):
        refuse(name, text, "is not a valid extended resource such as nvidia.com/gpu")
    return text


def label_value(name: str, text: str) -> str:
    """A value that a label may have."""
    if not _LABEL_VALUE.fullmatch(text):
        refuse(name, text, "is not a valid label value: letters, digits, -, _ and ., at most 63")
    return text


def label_key(name: str, text: str) -> str:
    """The key of a label."""
    if not _QUALIFIED.fullmatch(text):
        refuse(name, text, "is not a valid label key such as kubernetes.io/hostname")
    return text


def subdomain(name: str, text: str) -> str:
    """The name of an object that may hold dots: a node, a claim, a secret, a priority class."""
    if not _SUBDOMAIN.fullmatch(text):
        refuse(
            name,
            text,
            "is not a valid name: lower-case letters, digits, '-' and '.', starting and ending alphanumeric",
        )
    return text
