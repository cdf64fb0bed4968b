"""What the server understands of an object that was sent: types checked, unknown fields dropped.

The outcome has the form in which the server writes the object back: nulls and empty values left out where
its types leave them out, quantities in their canonical form. Sentences are those of its JSON decoder.
"""

from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.schema import quantity
from cockpit.sim.server.schema.shape import Field, Shape
from cockpit.sim.times import rfc3339, rfc3339_micro, seconds_of

# Members of structs that are embedded: the decoder names the struct too.
_EMBEDDED = {
    "core.Probe": ("ProbeHandler", frozenset(("exec", "httpGet", "tcpSocket", "grpc"))),
    "core.Volume": (
        "VolumeSource",
        frozenset(("emptyDir", "hostPath", "configMap", "secret", "persistentVolumeClaim", "projected")),
    ),
}
_INT_BITS = {"int32": 31, "int64": 63}
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "quantity": "0",
    "intorstr": 0,
}


class NotUnderstood(Exception):
    """A value of a wrong type; the sentence is the JSON decoder's, `converted` that of the converter.

    The converter is what reads the outcome of a strategic patch.
    """

    def __init__(self, sentence: str, converted: str = "") -> None:
        super().__init__(sentence)
        self.converted = converted or sentence


def decoded(tree: Tree, shape: Shape, before: Tree | None = None) -> tuple[Tree, list[str]]:
    """The object as understood, and `unknown field "PATH"` for each field dropped. Raises NotUnderstood.

    `before` is the version that is stored, of this shape: what `tree` shares with it is not read again, also
    where an actor's status was taken as it is.
    """
    reading = _Reading()
    return reading.object(tree, shape, None, None, before), reading.unknown


def normal(tree: Tree, shape: Shape) -> Tree:
    """The object as the server writes it back. Raises NotUnderstood."""
    return decoded(tree, shape)[0]


def zero(shape: Shape) -> Tree:
    """An object of this shape with nothing in it, as the server would write it."""
    return _Reading().object({}, shape, None, None) if shape.type == "object" else {}


def accepted(
    tree: Tree, shape: Shape, validation: str = "", before: Tree | None = None
) -> tuple[Tree, tuple[str, ...]]:
    """The object of a POST or PUT as understood, and warnings; `before` as in `decoded`.

    `validation` is "Strict", "Warn", or anything else to ignore unknown fields. Raises PortError 400.
    """
    try:
        understood, unknown = decoded(tree, shape, before)
    except NotUnderstood as problem:
        raise _cannot_be_handled(tree, str(problem)) from problem
    if unknown and validation == "Strict":
        raise _cannot_be_handled(tree, strict(unknown))
    return understood, tuple(unknown) if validation == "Warn" else ()


def accepted_patch(
    tree: Tree,
    shape: Shape,
    validation: str,
    shown: str,
    *,
    is_strategic: bool = False,
    before: Tree | None = None,
) -> tuple[Tree, tuple[str, ...]]:
    """The object that a JSON, merge or strategic patch led to, as understood, and warnings.

    `shown` is what a refusal quotes: the patched object as JSON, for a strategic patch the patch in Go's
    notation (`go_map`); `before` as in `decoded`. Raises PortError 422.
    """
    try:
        understood, unknown = decoded(tree, shape, before)
    except NotUnderstood as problem:
        raise _bad_patch(shown, problem.converted if is_strategic else str(problem)) from problem
    if unknown and validation == "Strict":
        raise _bad_patch(shown, strict(unknown))
    return understood, tuple(unknown) if validation == "Warn" else ()


def strict(problems: list[str]) -> str:
    """`strict decoding error: unknown field "spec.foo", duplicate field "metadata.name"`."""
    return "strict decoding error: " + ", ".join(problems)


def _cannot_be_handled(tree: Tree, why: str) -> PortError:
    kind, version = tree.get("kind"), str(tree.get("apiVersion", "")).rpartition("/")[2]
    return PortError(400, "BadRequest", f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def _bad_patch(shown: str, why: str) -> PortError:
    quoted = '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'
    message = f"Invalid value: {quoted}: {why}"
    causes = [{"reason": "FieldValueInvalid", "message": message, "field": "patch"}]
    return PortError(422, "Invalid", f' "" is invalid: patch: {message}', causes)


def _kind_name(shape: Shape) -> str:
    return shape.name.rpartition(".")[2]


def _go_type(shape: Shape) -> str:
    match shape.type:
        case "object":
            return f"v1.{_kind_name(shape)}"
        case "map":
            return (
                "v1.ResourceList" if shape.item.type == "quantity" else f"map[string]{_go_type(shape.item)}"
            )
        case "list":
            return f"[]{_go_type(shape.item)}"
        case "intorstr":
            return "int32"
        case "double":
            return "float64"
        case "bytes":
            return "[]uint8"
        case other:
            return shape.name or other


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


_Where = tuple[Any, str] | None
"""Where a value is: what it is in, and the member or [index] there. Made into a path only for a complaint."""

_Told = tuple[Any, Shape, str] | None
"""The same as the decoder tells it: with the structs on the way, without indexes."""


def _path(where: _Where) -> str:
    keys: list[str] = []
    while where is not None:
        where, key = where
        keys.append(key)
    return ".".join(reversed(keys)).replace(".[", "[")


def _told(told: _Told) -> str:
    keys: list[str] = []
    name = _kind_name(told[1]) if told is not None else ""
    while told is not None:
        told, shape, key = told
        keys.append(key)
        struct, inner = _EMBEDDED.get(shape.name, ("", frozenset()))
        if key in inner:
            keys.append(struct)
    return ".".join((name, *reversed(keys)))


_NOTHING: Tree = {}
_NO_IDS: frozenset[int] = frozenset()


class _Reading:
    def __init__(self) -> None:
        self.unknown: list[str] = []

    def object(self, tree: Any, shape: Shape, path: _Where, told: _Told, before: Any = None) -> Tree:
        """What is understood already is answered as it is, so that versions go on sharing it."""
        out: Tree = {}
        fields = shape.fields
        is_same = True
        had = before if isinstance(before, dict) else _NOTHING
        for key, value in tree.items():
            field = fields.get(key)
            if field is not None and value is not None and had.get(key) is value:
                out[key] = value
                continue
            if field is None:
                if shape.open or shape.items is not None:
                    out[key] = value
                else:
                    self.unknown.append(f'unknown field "{_path((path, key))}"')
                continue
            if value is None:
                continue
            read = self.value(value, field.shape, (path, key), (told, shape, key), had.get(key))
            if field.always or field.pointer or read not in _EMPTY or _is_number(read):
                out[key] = read
                is_same = is_same and read is value
        for key, field in fields.items():
            if field.always and key not in out:
                out[key] = _empty(field)
                is_same = False
        return tree if is_same and len(out) == len(tree) else out

    def value(self, value: Any, shape: Shape, path: _Where, told: _Told, before: Any = None) -> Any:
        match shape.type:
            case "any":
                return value
            case "object" if isinstance(value, dict):
                return self.object(value, shape, path, told, before)
            case "map" if isinstance(value, dict):
                return self._map(value, shape.item, path, told)
            case "list" if isinstance(value, list):
                return self._list(value, shape.item, path, told, before)
            case "object" | "map" | "list":
                raise self._wrong(value, _go_type(shape), told)
            case _:
                return self.scalar(value, shape, told)

    def _map(self, value: Tree, item: Shape, path: _Where, told: _Told) -> Tree:
        if item.type == "string":
            for text in value.values():
                if not isinstance(text, str) and text is not None:
                    raise self._wrong(text, _go_type(item), told)
            return value if None not in value.values() else {k: v or "" for k, v in value.items()}
        read = {
            key: self.value(inner, item, (path, key), told) if inner is not None else _zero_of(item)
            for key, inner in value.items()
        }
        return value if all(read[key] is inner for key, inner in value.items()) else read

    def _list(
        self, value: list[Any], item: Shape, path: _Where, told: _Told, before: Any = None
    ) -> list[Any]:
        if item.type == "string" and all(isinstance(text, str) for text in value):
            return value
        # `before` holds on to its items, so an identity among them is theirs
        known = {id(one) for one in before} if isinstance(before, list) else _NO_IDS
        read = [
            inner
            if id(inner) in known
            else self.value(inner, item, (path, f"[{at}]"), told)
            if inner is not None
            else _zero_of(item)
            for at, inner in enumerate(value)
        ]
        return value if all(one is inner for one, inner in zip(read, value, strict=True)) else read

    def scalar(self, value: Any, shape: Shape, told: _Told) -> Any:
        """A value that has no parts, in the form in which it is written back."""
        kind = shape.type
        if kind == "quantity":
            return _quantity(value)
        if kind in ("time", "microtime") and isinstance(value, str):
            return _time(value, kind)
        if kind == "intorstr" and isinstance(value, str):
            return value
        if kind == "double" and not isinstance(value, bool) and isinstance(value, int | float):
            return value
        if kind in _INT_BITS or kind == "intorstr":
            return self._integer(value, shape, told)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind in ("string", "bytes", "time", "microtime") and isinstance(value, str):
            return value
        raise self._wrong(value, _go_type(shape), told)

    def _integer(self, value: Any, shape: Shape, told: _Told) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(value, _go_type(shape), told)
        bits = _INT_BITS.get(shape.type, 31)
        if isinstance(value, float) or not -(2**bits) <= value < 2**bits:
            raise self._wrong(value, _go_type(shape), told, f"number {value}")
        return value

    def _wrong(self, value: Any, wanted: str, told: _Told, what: str = "") -> NotUnderstood:
        found = what or _json_type(value)
        return NotUnderstood(
            f"json: cannot unmarshal {found} into Go struct field {_told(told)} of type {wanted}",
            _unconverted(value, wanted),
        )


_GO_KINDS = {"bool": "bool", "string": "string", "array": "slice", "object": "map"}


def _unconverted(value: Any, wanted: str) -> str:
    """What apimachinery's converter says of a value that does not fit (runtime/converter.go)."""
    kind = _GO_KINDS.get(_json_type(value), "float64" if isinstance(value, float) else "int64")
    if wanted.startswith("map[") or wanted == "v1.ResourceList":
        return f"cannot restore map from {kind}"
    if wanted.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if wanted in ("int32", "int64", "float64"):
        return f"cannot convert {kind} to {wanted}" if kind == "float64" else f"unrecognized type: {wanted}"
    if wanted == "bool":
        return "unrecognized type: bool"
    if wanted == "string":
        # Go takes a whole number for a letter, so it gets one step further than other types.
        return f"cannot convert {kind} to string" if kind == "int64" else "unrecognized type: string"
    return f"cannot restore struct from: {kind}"


_EMPTY: tuple[Any, ...] = ("", False, None, [], {})


def _is_number(value: Any) -> bool:
    return value.__class__ in (int, float) and value != 0


def _empty(field: Field) -> Any:
    return None if field.pointer else _zero_of(field.shape)


def _zero_of(shape: Shape) -> Any:
    return zero(shape) if shape.type == "object" else _ZEROS.get(shape.type)


def _quantity(value: Any) -> str:
    text = value if isinstance(value, str) else "?" if isinstance(value, bool) else str(value)
    try:
        written = quantity.canonical(text)
    except ValueError as problem:
        raise NotUnderstood(str(problem)) from problem
    return text if written == text else written


def _time(text: str, kind: str) -> str:
    try:
        seconds = seconds_of(text)
    except ValueError:
        layout = "2006-01-02T15:04:05Z07:00" if kind == "time" else "2006-01-02T15:04:05.000000Z07:00"
        raise NotUnderstood(f'parsing time "{text}" as "{layout}": cannot parse "{text}" as "2006"') from None
    written = rfc3339(seconds) if kind == "time" else rfc3339_micro(seconds)
    return text if written == text else written
