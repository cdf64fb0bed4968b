"""What is secret in a manifest, a command or a message, hidden: the one rule for every place that shows one.

Hidden is a value whose name says that it is secret (`HF_TOKEN`, `--api-key`, `dbPassword`): a field or a
variable of a manifest, an option of a command and the word behind it, in a shell string, in JSON in an
annotation, a header, a dump of Go. Hidden by its shape alone is a password in a URL, a bearer token, a
private key, a JWT, and the tokens of clouds and forges that carry a mark of their own. What only names a
secret stays: `secretName`, `TOKEN_FILE`, `$(HF_TOKEN)`, `MAX_TOKENS`, `TOKENIZERS_PARALLELISM`.

What is sent to a cluster is never what was masked: this is for what is shown, printed and kept.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from cockpit.sanitise import SENTENCE, WordCache, clean

HIDDEN: Final = "[hidden]"
"""What stands in the place of a secret."""

# ---- which names are those of secrets

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WITHIN: Final = (
    *("password", "passwd", "passphrase", "secret", "credential"),
    *("apikey", "accesskey", "privatekey", "authkey", "signingkey", "encryptionkey"),
)
"""Secret wherever they stand in a word of the name."""
_WORDS: Final = frozenset({"pwd", "pass", "passcode", "authorization", "bearer", "jwt", "netrc", "htpasswd"})
_WEAK: Final = frozenset({"auth", "pat", "creds", "cred", "dsn", "cookie", "sas"})
"""Secret unless the value is a short plain word or a small number: `auth: none`."""
_KEYS: Final = frozenset(
    {
        *("api", "access", "private", "auth", "signing", "encryption", "account", "license", "ssh", "master"),
        *("shared", "service", "hmac", "client", "session", "storage", "connection", "deploy", "app"),
    }
)
"""Secret before `key` (`connection` before `string`)."""
_ABOUT: Final = frozenset(
    {
        *("name", "names", "ref", "refs", "class", "path", "paths", "file", "files", "filename", "dir"),
        *("dirs", "directory", "folder", "type", "kind", "limit", "limits", "count", "size", "length", "len"),
        *("budget", "ttl", "expiry", "expiration", "seconds", "minutes", "hours", "days", "timeout"),
        *("enabled", "disabled", "method", "provider", "store", "mount", "format", "mode", "version"),
        *("endpoint", "port", "host", "url", "uri", "server", "audience", "issuer", "scope", "prefix"),
        *("header", "policy", "required", "namespace", "selector", "dim", "ratio", "rate", "template"),
    }
)
"""A name that ends in one of these tells something of a secret, or where it is, and not the secret."""
_POINTED_AT: Final = frozenset({"pull", "image", "tls", "existing", "registry"})
"""Before `secret`: the name of one, which the kubelet or a chart reads."""
_AMOUNTS: Final = frozenset({"max", "min", "num", "total"})
_TRIVIAL: Final = re.compile(
    r"(?i)|true|false|yes|no|none|null|nil|on|off|\[hidden(?:-\d+)?\]"
    r"|\$\([\w.-]+\)|\$\w+|\$\{[^}]*\}|\{\{.*\}\}|<[\w -]+>"
)
_PLAIN_VALUE: Final = re.compile(r"\d{1,3}|[a-z]{1,8}|\d+:\d+")
_RANDOM: Final = re.compile(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9+/=_-]{16,}")


def _hides(name: str, value: str) -> bool:
    """Whether that name says that this value is secret."""
    if len(name) < 3 or _TRIVIAL.fullmatch(value):
        return False
    parts = [part.lower() for part in _PARTS.findall(name)]
    if not parts or parts[-1] in _ABOUT or (parts[0] in _AMOUNTS and value.isdecimal()):
        return False
    if parts[-1] in ("secret", "secrets") and (len(parts) > 1 and parts[-2] in _POINTED_AT):
        return False
    for at, part in enumerate(parts):
        if part in _WORDS:
            # PWD alone is the folder of a shell; `--pass 2` is a number of a pass
            if (part != "pwd" or len(parts) > 1) and not (part == "pass" and value.isdecimal()):
                return True
        elif part.endswith("token") or any(word in part for word in _WITHIN):
            return part not in ("secrets", "credentials") or len(parts) == 1 or at == len(parts) - 1
        elif part in _WEAK:
            return name.isupper() or _PLAIN_VALUE.fullmatch(value) is None
        elif at and part == ("string" if parts[at - 1] == "connection" else "key") and parts[at - 1] in _KEYS:
            return True
    return parts[-1] == "key" and len(parts) > 1 and _RANDOM.fullmatch(value) is not None


# ---- shapes

URL_LOGIN: Final = re.compile(
    r"""(?ix) (?P<scheme> \b[a-z][a-z0-9+.-]*:// )
    (?P<user> [^/\s:@'"]* : (?!\d+(?:[/?\#]|$)) [^\s'"]*      # user:password, with odd letters in it
      | (?<=http://) [^/\s:@'"]+ | (?<=https://) [^/\s:@'"]+ ) @"""
)
_SHAPES: Final = re.compile(
    r"""(?xs)
      -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | \beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?
    | \b(?:AKIA|ASIA)[0-9A-Z]{12,}
    | \b(?:gh[pousr]_|hf_)[A-Za-z0-9]{20,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,}
    | \bsk-(?=[\w-]*[0-9A-Z])[\w-]{20,} | \bxox[a-z]-[\w-]{10,} | \bAIza[\w-]{30,} | \bya29\.[\w.-]{8,}
    | \bnvapi-[\w-]{20,} | \bnpm_\w{30,} | \bpypi-[\w-]{20,} | \bdop_v1_\w{30,} | \bhvs\.[\w-]{20,}
    | \bSG\.[\w-]{16,}\.[\w-]{16,} | (?<=hooks\.slack\.com/services/)[\w/-]+
    | (?i:(?<=\bbearer[ ])(?:(?=\S*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{16,}))
    | (?<=[?&]sig=)[^&\s'"]+ | (?<=[?&]X-Amz-Signature=)[^&\s'"]+
    """
)
_USER_OPTION: Final = re.compile(
    r"""(?x)(?<![\w-])(?:-u|--user|--proxy-user)(?:\s+|=|["']\s*,\s*)["']?[^\s:'"@/]+:(?P<value>[^\s'"]+)"""
)
_NAMED: Final = re.compile(
    r"""(?ix) \b name \\*["']? \s* [:=] \s* \\*["']? (?P<name>[\w.-]+) \\*["']? \s* [,;]? \s*
    \\*["']? value \\*["']? \s* [:=] \s*"""
)
_CALLED: Final = re.compile(
    r"""(?x) (?<![\w.-])
    (?: (?P<option> --?[A-Za-z][\w.-]* ) (?: \s+(?:-\s+)? | \\*["']\s*,\s* )
      | (?P<name> -{0,2}[A-Za-z_][\w.-]* ) \\*["']?\s*(?::=|[=:])\s* )"""
)
"""`--name value`, also as two words of a list; `name=value`, `name: value`, `"name": "value"`."""
_VALUE: Final = re.compile(
    r"""(?xs) (?P<open> \\+["'] ) (?P<escaped> .*? ) (?: (?P=open) | \Z )
    | "(?P<double> (?:[^"\\]|\\.)* ) (?: " | \Z ) | '(?P<single> [^']* ) (?: ' | \Z )
    | (?! --|-[A-Za-z] ) (?P<bare> [^\s'"]+ )"""
)
_SCHEME: Final = re.compile(r"(?i)(?:bearer|basic|token|digest|negotiate|apikey)\s+")
_HEADERS: Final = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
_OF_HEADER: Final = re.compile(r"""[^'"\n\\]+""")
_IN_PROSE: Final = re.compile(r"[\w)\]] +\Z")
_PROSE: Final = re.compile(r"[a-z]+[.,;:)]*")
_SIGNS: Final = (
    *("pass", "secret", "token", "credential", "auth", "bearer", "key", "pwd", "jwt", "netrc", "cred", "dsn"),
    *("_pat", "pat=", "pat:", "cookie", "sas", "connection", "://", "eyj", "akia", "asia", "ghp_", "gho_"),
    *("ghu_", "ghs_", "ghr_", "hf_", "sk-", "xox", "aiza", "ya29", "nvapi", "npm_", "pypi", "dop_", "hvs."),
    *("sg.", "-u ", '-u"', "-user", "sig=", "-signature="),
)
"""Without one of these, in small letters, there is no secret in a text."""
_MOUNT: Final = r"[a-z0-9][a-z0-9.-]*:/[a-z0-9./_-]*"
_MOUNTS: Final = re.compile(rf"{_MOUNT}(?:[ ,]+{_MOUNT})*")
"""Objects by name, each with the folder that it is mounted at."""
_BEFORE_MOUNT: Final = re.compile(rf"[\w-]=(?:{_MOUNT}[ ,]+)*\Z")
_OPTION: Final = re.compile(r"--?[A-Za-z][\w.-]*")
_ASSIGNED: Final = re.compile(r"(?s)(-{0,2}[A-Za-z_][\w.-]*)=(.+)")
_USER_WORDS: Final = frozenset({"-u", "--user", "--proxy-user"})


class Mask:
    """Hides secrets. What stands for one is `mark`: the same for all here."""

    def mark(self, value: str) -> str:
        """What is shown instead of a value that is secret."""
        return HIDDEN

    def text(self, text: str) -> str:
        """A line, a message, a script: the same with its secrets hidden. Once more changes nothing."""
        if _is_free(text):
            return text
        text = self._spans(text, (found.span("user") for found in URL_LOGIN.finditer(text)))
        text = self._spans(text, self._of_users(text))
        text = self._spans(text, self._named(text))
        text = self._spans(text, self._called(text))
        return _SHAPES.sub(lambda found: self._marked(found[0]), text)

    def value(self, name: str, text: str) -> str:
        """The value of a field or option of that name. An object by its name and where it is mounted
        (`hf-token:/run/hf`) is no secret, also where its name says so."""
        if _hides(name, text):
            return self._marked(text)
        return text if _MOUNTS.fullmatch(text) and not _SHAPES.search(text) else self.text(text)

    def words(self, words: Sequence[str]) -> list[str]:
        """The words of a command, each masked with what stands before it in mind."""
        shown: list[str] = []
        before = ""
        for word in words:
            assigned = _ASSIGNED.fullmatch(word)
            is_value = bool(before) and _OPTION.fullmatch(word) is None
            if is_value and before in _USER_WORDS and _is_login(word):
                user, _, password = word.partition(":")
                shown.append(f"{user}:{self._marked(password)}")
            elif is_value and (_hides(before, word) or _MOUNTS.fullmatch(word)):
                shown.append(self.value(before, word))
            elif assigned and (_hides(assigned[1], assigned[2]) or _MOUNTS.fullmatch(assigned[2])):
                shown.append(f"{assigned[1]}={self.value(assigned[1], assigned[2])}")
            else:
                shown.append(self.text(word))
            before = word if _OPTION.fullmatch(word) else ""
        return shown

    def tree(self, tree: Any, key: str = "") -> Any:
        """A copy of a tree of dicts, lists and scalars; `key` is the name of the field that holds it."""
        if isinstance(tree, dict):
            return self._fields(tree)
        if isinstance(tree, list | tuple):
            if tree and all(isinstance(item, str) for item in tree):
                return self.words(tree)
            return [self.tree(item) for item in tree]
        if isinstance(tree, str):
            return self._marked(tree) if key and _hides(key, tree) else self._string(tree)
        if isinstance(tree, int | float) and not isinstance(tree, bool) and "passw" in key.lower():
            return self._marked(str(tree)) if _hides(key, str(tree)) else tree
        return tree

    def _fields(self, tree: dict[Any, Any]) -> dict[Any, Any]:
        name = tree.get("name", tree.get("key"))
        is_pair = isinstance(name, str) and not {"effect", "operator"} & tree.keys()
        is_secret = tree.get("kind") == "Secret"
        shown: dict[Any, Any] = {}
        for key, value in tree.items():
            if is_pair and key == "value":
                shown[key] = self.tree(value, str(name))
            elif is_secret and key in ("data", "stringData") and isinstance(value, dict):
                shown[key] = {own: self._marked(str(item)) for own, item in value.items()}
            else:
                shown[key] = self.tree(value, str(key))
        return shown

    def _string(self, text: str) -> str:
        """A value that may be JSON itself, as annotations hold it."""
        if _is_free(text):
            return text
        bare = text.strip()
        if bare[:1] in ("{", "[") and bare[-1:] in ("}", "]"):
            json = _json()
            try:
                inner = json.loads(bare)
            except (ValueError, RecursionError):
                return self.text(text)
            shown = self.tree(inner)
            if shown != inner:
                return str(json.dumps(shown, separators=(",", ":"), ensure_ascii=False))
            return text
        return self.text(text)

    def _marked(self, value: str) -> str:
        return value if not value or _TRIVIAL.fullmatch(value) else self.mark(value)

    def _spans(self, text: str, spans: Iterator[tuple[int, int]]) -> str:
        """The text with these parts hidden."""
        shown: list[str] = []
        at = 0
        for start, end in spans:
            shown += (text[at:start], self._marked(text[start:end]))
            at = end
        return "".join((*shown, text[at:])) if at else text

    def _of_users(self, text: str) -> Iterator[tuple[int, int]]:
        for found in _USER_OPTION.finditer(text):
            if _is_login(found[0].rpartition(" ")[2].strip("'\"")):
                yield found.span("value")

    def _named(self, text: str) -> Iterator[tuple[int, int]]:
        """`name: API_TOKEN, value: x`, as YAML, JSON and Go write it."""
        for found in _NAMED.finditer(text):
            span = _value_at(text, found.end())
            if span is not None and _hides(found["name"], text[slice(*span)]):
                yield span

    def _called(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        for found in _CALLED.finditer(text):
            if found.start() < at:
                continue
            name = found["option"] or found["name"]
            span = _value_at(text, found.end(), name)
            if span is None:
                continue
            start, end = span
            if found.start() and text[found.start() - 1] in "?&":  # of a query
                end = min(end, start + len(re.split(r"[&#]", text[start:end])[0]))
            value = text[start:end]
            if not _hides(name, value) or _is_prose(text, found, value) or _is_mount(text, found, value):
                continue
            at = end
            yield start, end


def _is_mount(text: str, found: re.Match[str], value: str) -> bool:
    """`secret-names=hf-token:/run/hf`, and those behind the first."""
    pair = f"{found['name']}:{value}"
    if text[found.end() - 1] != ":" or not _MOUNTS.fullmatch(pair) or _RANDOM.fullmatch(value):
        return False
    return _BEFORE_MOUNT.search(text[: found.start()]) is not None


MASK: Final = Mask()


class FormMask(Mask):
    """As `Mask`, with numbered marks: one that a person leaves in a form stands for the value behind it."""

    def __init__(self) -> None:
        self._values: list[str] = []

    def mark(self, value: str) -> str:
        """One mark a value."""
        if value not in self._values:
            self._values.append(value)
        return f"[hidden-{self._values.index(value) + 1}]"

    def restored(self, text: str) -> str:
        """The text with the values in the place of their marks."""
        for number in range(len(self._values), 0, -1):  # a later value may hold the mark of a former one
            text = text.replace(f"[hidden-{number}]", self._values[number - 1])
        return text


class _Found(Mask):
    def __init__(self) -> None:
        self.values: set[str] = set()

    def mark(self, value: str) -> str:
        self.values.add(value)
        return HIDDEN


def _json() -> Any:
    import json  # here, so that --help does not load it

    return json


def mask_text(text: str, known: Collection[str] = ()) -> str:
    """A line or a message with its secrets hidden, among them the values in `known`."""
    if known:
        json = _json()
        for value in sorted(known, key=len, reverse=True):
            for spelt in dict.fromkeys((value, json.dumps(value)[1:-1])):
                text = text.replace(spelt, HIDDEN)
    return MASK.text(text)


def mask_words(words: Sequence[str]) -> list[str]:
    """The words of a command with its secrets hidden."""
    return MASK.words(words)


def mask_value(name: str, text: str) -> str:
    """The value of a field of a form with its secrets hidden."""
    return MASK.value(name, text)


def mask_tree(tree: Any, key: str = "") -> Any:
    """A copy of a manifest, or of any tree of dicts, lists and scalars, with its secrets hidden; `key` names
    the field that holds it."""
    return MASK.tree(tree, key)


def secret_values(tree: Any) -> frozenset[str]:
    """What `mask_tree` hides, as far as it is long enough to be found in other text."""
    found = _Found()
    found.tree(tree)
    return frozenset(value for value in found.values if len(value) > 3)


def has_mark(text: str) -> bool:
    """Whether it holds what stands for a secret: it must not be sent as a value."""
    return re.search(r"\[hidden(?:-\d+)?\]", text) is not None


def clean_message(text: str | bytes, limit: int = SENTENCE) -> str:
    """One line of a message from outside: as `clean`, without secrets."""
    return mask_text(clean(text, limit))


MESSAGES: Final = WordCache(make=clean_message)
"""As `cockpit.sanitise.WORDS`, for messages."""


def _is_free(text: str) -> bool:
    """Whether no secret can be in it: of nearly every message and value."""
    low = text.lower()
    return not any(sign in low for sign in _SIGNS)


def _is_login(word: str) -> bool:
    """Whether it is user:password, and not the numbers of a user and a group."""
    user, colon, password = word.partition(":")
    return bool(colon and user and password) and not password.isdecimal() and user != password


def _value_at(text: str, at: int, name: str = "") -> tuple[int, int] | None:
    """Where the value lies that begins there, without its quotes."""
    if name.lower().lstrip("-") in _HEADERS:
        quote = re.compile(r"""\\*["']?""").match(text, at)
        at = quote.end() if quote is not None else at
        scheme = _SCHEME.match(text, at)
        whole = _OF_HEADER.match(text, scheme.end() if scheme is not None else at)
        return None if whole is None else whole.span()
    found = _VALUE.match(text, at)
    return None if found is None else found.span(found.lastgroup or 0)


def _is_prose(text: str, found: re.Match[str], value: str) -> bool:
    """`failed to fetch token: serviceaccounts ... is forbidden`: a sentence, and no value."""
    name = found["name"] or ""
    if not name.isalpha() or not name.islower() or name.startswith("pass") or not found[0].endswith(": "):
        return False
    return _IN_PROSE.search(text, 0, found.start()) is not None and _PROSE.fullmatch(value) is not None
