"""Refusals of the real server that speak of Go types, and our plain ones, as what both say: which field.

Compared are code, reason and path of the field; not what a type is called in Go, nor how Go prints a value.
"""

import re

_PATH = r"[\w\-.\[\]/$]*"
_PHRASES: tuple[tuple[str, str], ...] = (
    # The whole object, or the patch, is quoted in either notation.
    (r'Invalid value: \\?"(?:map\[|\{)[\s\S]*?[\]}]\\?": (?=[a-z])', "Invalid value: OBJECT: "),
    (r"json: cannot unmarshal [\s\S]*? into Go struct field (\S+) of type [^\s,\"]+", r"AT \1 WRONG TYPE"),
    (r"json: cannot unmarshal [\s\S]*? into Go value of type [^\s,\"]+( \{[\s\S]*?\})?", "AT  WRONG TYPE"),
    (r'parsing time \\?"[^"]*" as "[^"]*": cannot parse "[^"]*" as "[^"]*"', "WRONG TYPE"),
    (r"unrecognized type: \w+|cannot (?:restore|convert) \w+ (?:from:?|to) \w+", "WRONG TYPE"),
    (rf"({_PATH}): expected a time in RFC 3339, got \\?\"[^\"]*\"", "WRONG TYPE"),
    (rf"(?<![\w\]])(\.{_PATH}): expected [^\n]*?, got [^\n]*", r"\1: WRONG TYPE"),
    (rf"({_PATH}): expected [\w ]+, got [\w.-]+", r"AT \1 WRONG TYPE"),
    (r"must be an (?:object|array), not \w+", "AT  WRONG TYPE"),
    (r"[^\s:]* accessor error: [\s\S]*? is of the type [^,]*, expected int64", "WRONG TYPE"),
    (
        r"[^\s:]* accessor error: [\s\S]*? is of the type [^,]*, expected map\[string\]interface\{\}",
        "WRONG TYPE",
    ),
    (r"must (?:be an integer, not|lie in an object, not in) \w+", "WRONG TYPE"),
    (r"Invalid value: OBJECT: AT \S* WRONG TYPE", "Invalid value: OBJECT: WRONG TYPE"),
    (r"(unknown patch type: \S+) in map: map\[[\s\S]*\]", r"\1"),
    (r"map: map\[[\s\S]*\](?= does not contain declared merge key)", "an item"),
    (r"The order in patch list:\n[\s\S]*", "the order of the patch does not match its $setElementOrder list"),
    (r"expected a map\[string\]interface \{\}, but received something else", "expected a list of objects"),
    (r"error parsing regexp: [^\n,]*", "error parsing regexp"),
)
_COMPILED = tuple((re.compile(pattern), name) for pattern, name in _PHRASES)
_WHERE = re.compile(r"AT (\S*) WRONG TYPE")


def _where(found: re.Match[str]) -> str:
    """Go's decoder names the structs on the way, and no indexes; ours the indexes."""
    keys = re.sub(r"\[\d+\]", "", found[1]).split(".")
    if keys[0] == "ObjectMeta" and keys[1] != "metadata":
        # Of custom kinds it is read alone.
        keys = ["metadata", *keys[1:]]
    return f"AT {'.'.join(key for key in keys if not key[:1].isupper())} WRONG TYPE"


def without_go(text: str) -> str:
    """A refusal with `WRONG TYPE` for what a type is called."""
    for pattern, name in _COMPILED:
        text = pattern.sub(name, text)
    return _WHERE.sub(_where, text)
