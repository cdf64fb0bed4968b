"""The configuration: `config.toml` in the configuration folder, strict, every key optional.

Its settings are listed in `setting_list`; what `aws` and `outside-pools` of a context hold is in
`cloud_settings`.
"""

import difflib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from cockpit.errors import BadInput, BadValue, BadValues
from cockpit.local_state.cloud_settings import read_outside
from cockpit.local_state.setting_list import (
    ALERTS_URL,
    BILLED,
    CONTEXT,
    FINDINGS,
    HIGHEST_PRICE,
    MACHINE,
    MOST_NODES,
    PRICES,
    THEMES,
    TOP,
    names,
)
from cockpit.local_state.vendor_settings import read_vendors
from cockpit.model.accelerator_vendor import AcceleratorVendor
from cockpit.model.duration import parse_duration
from cockpit.model.job import RECLAIM_GRACE, RECLAIM_WINDOW
from cockpit.model.metrics_server import (
    ALERTMANAGER,
    NO_ALERTMANAGER,
    NO_METRICS_SERVER,
    PROMETHEUS,
    MetricsServer,
    ServerKind,
    in_force,
)
from cockpit.model.namespaces import EVERY, Namespaces, namespaces_of
from cockpit.model.price import MachinePrice, Prices, is_currency
from cockpit.model.reach import NOTHING_OUTSIDE, Outside

_AUDIT_KEEP: Final = ("1d", "3650d")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_OBJECT = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LARGEST_BYTES = 256 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


LEASE_NAMESPACE: Final = "default"
"""Unless it is set: it is there in every cluster."""


class ContextSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for one context of the kubeconfig."""

    write: bool = False
    namespaces: Namespaces = EVERY
    prometheus: MetricsServer = NO_METRICS_SERVER
    alertmanager: MetricsServer = NO_ALERTMANAGER  # whose alerts are shown
    acknowledgements_folder: Path | None = None  # where a group shares what it knows of; None: nowhere
    lease_namespace: str = ""  # where a change of a pool is held against other cockpits
    shrink_at_once: int | None = None  # nodes; None: a share of the pool
    reclaim_idle_for_seconds: float | None = None  # of a job; None: as it was measured
    reclaim_grace_seconds: float | None = None
    autoscaler_status: str = ""  # namespace/name of the ConfigMap that the autoscaler writes, "": as usual
    outside: Outside = NOTHING_OUTSIDE  # how pools outside the cluster are read and changed


class FindingTargets(msgspec.Struct, frozen=True, kw_only=True):
    """Where `cockpit triage --watch` sends findings. A URL or a header's value may be `@FILE`; secrets stay
    out of `repr`."""

    alertmanager: str = ""
    slack: str = ""
    command: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    metrics_file: str = ""
    metrics_listen: str = ""  # PORT, or HOST:PORT

    def __repr__(self) -> str:
        return "FindingTargets(...)"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration. Empty values mean: not set."""

    namespaces: Namespaces = EVERY
    prometheus: MetricsServer = NO_METRICS_SERVER
    alertmanager: MetricsServer = NO_ALERTMANAGER  # whose alerts are shown
    theme: str = ""
    template_folders: tuple[Path, ...] = ()
    docs_url: str = ""  # where the site of the documents is
    bell: bool = False  # ring when there is a new problem
    acknowledgements_folder: Path | None = None
    lease_namespace: str = ""
    shrink_at_once: int | None = None
    reclaim_idle_for_seconds: float | None = None
    reclaim_grace_seconds: float | None = None
    autoscaler_status: str = ""
    audit_keep_seconds: float | None = None  # how old the newest line of a full audit file may be
    keys: tuple[tuple[str, str], ...] = ()  # action, key
    prices: Prices = Prices()
    findings: FindingTargets = FindingTargets()
    vendors: tuple[AcceleratorVendor, ...] = ()  # of accelerators, beside those that are built in
    contexts: tuple[tuple[str, ContextSettings], ...] = ()
    open_contexts: tuple[str, ...] = ()  # the screens show these clusters together; (): the current one

    def of_context(self, context: str) -> ContextSettings:
        """What is set for that context, with the general values where it says nothing."""
        own = dict(self.contexts).get(context, ContextSettings())
        return ContextSettings(
            write=own.write,
            namespaces=own.namespaces or self.namespaces,
            prometheus=in_force(own.prometheus, self.prometheus),
            alertmanager=in_force(own.alertmanager, self.alertmanager),
            acknowledgements_folder=own.acknowledgements_folder or self.acknowledgements_folder,
            lease_namespace=own.lease_namespace or self.lease_namespace or LEASE_NAMESPACE,
            shrink_at_once=own.shrink_at_once or self.shrink_at_once,
            reclaim_idle_for_seconds=own.reclaim_idle_for_seconds or self.reclaim_idle_for_seconds,
            reclaim_grace_seconds=self.reclaim_grace_seconds
            if own.reclaim_grace_seconds is None
            else own.reclaim_grace_seconds,
            autoscaler_status=own.autoscaler_status or self.autoscaler_status,
            outside=own.outside,
        )


def not_a_namespace(given: Namespaces) -> str:
    """The first of the names that cannot be that of a namespace; "" where all can."""
    return next((name for name in given.names if _NAMESPACE.fullmatch(name) is None), "")


def load_settings(path: Path, home: Path | None = None) -> Settings:
    """The settings in that file; none without it. Raises BadInput naming file, line, key and remedy, of
    everything that is wrong in it."""
    text = settings_text(path)
    if text is None:
        return Settings()
    return read_settings(text, str(path), home or Path(os.path.expanduser("~")))


def settings_text(path: Path) -> str | None:
    """What is in the file, None without it. Raises BadInput where it cannot be trusted or read."""
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            _refuse_foreign(path, os.fstat(file.fileno()))
            raw = file.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadInput(
                f"{path}: a symbolic link is not followed, for the file names programs that are run; put the"
                " file itself there, or name its folder by XDG_CONFIG_HOME"
            ) from None
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > _LARGEST_BYTES:
        raise BadInput(f"{path}: larger than {_LARGEST_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8 text") from None


def _refuse_foreign(path: Path, found: os.stat_result) -> None:
    """Raises BadInput for what others may write: it says what is run, and whether changes are allowed."""
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise BadInput(f"{path}: not a file; replace it by one")
    if found.st_mode & stat.S_IWOTH:
        raise BadInput(f"{path}: others may write it; chmod o-w {path}")
    if found.st_uid not in (0, os.geteuid()):
        raise BadInput(f"{path}: belongs to another user (uid {found.st_uid}); make a file of your own")


def read_settings(text: str, source: str, home: Path) -> Settings:
    """The settings in `text`; `source` names the file in sentences, `home` stands for a leading `~`.

    Raises BadValues for every value that cannot be used, BadInput for a text that is not TOML.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{source}: not TOML: {error}") from None
    except RecursionError:
        raise BadInput(f"{source}: nested too deeply") from None
    reader = _Reader(source, text, home)
    faults: dict[str, str] = {}
    while True:
        try:
            found = _settings(reader, tree)
        except _WrongSetting as wrong:
            faults.setdefault(wrong.field, wrong.fault)
            if not _take_out(tree, wrong.place):
                break
        else:
            if faults:
                break
            return found
    raise BadValues(faults)


def _take_out(tree: dict[str, Any], place: str) -> bool:
    """Take the value at a dotted place out of the tree, or the table that lacks it; False without either."""
    for key, value in tree.items():
        for form in (key, f'"{key}"'):
            is_inside = isinstance(value, dict) and place.startswith(f"{form}.")
            if form == place or is_inside:
                if not (is_inside and _take_out(value, place.removeprefix(f"{form}."))):
                    del tree[key]
                return True
    return False


def _settings(reader: "_Reader", tree: Mapping[str, Any]) -> Settings:
    reader.refuse_unknown(tree, names(TOP), "")
    contexts = reader.table(tree, "context", "")
    keys = reader.table(tree, "keys", "")
    return Settings(
        namespaces=reader.namespaces(tree, ""),
        prometheus=reader.server(tree, "", PROMETHEUS),
        alertmanager=reader.server(tree, "", ALERTMANAGER),
        theme=reader.theme(tree),
        template_folders=tuple(map(reader.path, reader.texts(tree, "template-folders"))),
        docs_url=reader.url(tree, "docs-url"),
        bell=reader.switch(tree, "bell", ""),
        acknowledgements_folder=reader.folder(tree, ""),
        lease_namespace=reader.lease_namespace(tree, ""),
        shrink_at_once=reader.nodes(tree, "shrink-at-once", ""),
        reclaim_idle_for_seconds=reader.span(tree, "reclaim-idle-for", "", RECLAIM_WINDOW),
        reclaim_grace_seconds=reader.span(tree, "reclaim-grace", "", RECLAIM_GRACE),
        autoscaler_status=reader.status_key(tree, ""),
        audit_keep_seconds=reader.span(tree, "audit-keep", "", _AUDIT_KEEP),
        keys=tuple((name, reader.text(keys, name, "keys")) for name in keys),
        prices=_prices(reader, reader.table(tree, "prices", "")),
        findings=_findings(reader, reader.table(tree, "findings", "")),
        vendors=read_vendors(reader, reader.table(tree, "accelerators", "")),
        contexts=tuple((name, _context(reader, contexts, name)) for name in contexts),
        open_contexts=reader.open_contexts(tree),
    )


def _context(reader: "_Reader", contexts: Mapping[str, Any], name: str) -> ContextSettings:
    section = f'context."{name}"'
    tree = reader.table(contexts, name, "context")
    reader.refuse_unknown(tree, names(CONTEXT), section)
    return ContextSettings(
        write=reader.switch(tree, "write", section),
        namespaces=reader.namespaces(tree, section),
        prometheus=reader.server(tree, section, PROMETHEUS),
        alertmanager=reader.server(tree, section, ALERTMANAGER),
        acknowledgements_folder=reader.folder(tree, section),
        lease_namespace=reader.lease_namespace(tree, section),
        shrink_at_once=reader.nodes(tree, "shrink-at-once", section),
        reclaim_idle_for_seconds=reader.span(tree, "reclaim-idle-for", section, RECLAIM_WINDOW),
        reclaim_grace_seconds=reader.span(tree, "reclaim-grace", section, RECLAIM_GRACE),
        autoscaler_status=reader.status_key(tree, section),
        outside=read_outside(reader, tree, section),
    )


def _prices(reader: "_Reader", tree: Mapping[str, Any]) -> Prices:
    reader.refuse_unknown(tree, names(PRICES), "prices")
    currency = reader.text(tree, "currency", "prices") or Prices().currency
    if not is_currency(currency):
        raise reader.fault("currency", "prices", f"give a sign or a code such as $ or EUR, not {currency!r}")
    billed = reader.billed(tree, "prices", 1.0)
    machines = reader.table(tree, "machines", "prices")
    return Prices(
        currency=currency,
        machines=tuple((name, _price(reader, machines, name, billed)) for name in machines),
    )


def _findings(reader: "_Reader", tree: Mapping[str, Any]) -> FindingTargets:
    section = "findings"
    reader.refuse_unknown(tree, names(FINDINGS), section)
    headers = reader.table(tree, "headers", section)
    for name, value in headers.items():
        if not isinstance(value, str) or any(ord(item) < 0x20 for item in value):
            raise reader.fault(name, f"{section}.headers", "give one line of text")
    if isinstance(tree.get("command"), str):
        raise reader.fault("command", section, "give a list of words: it is run without a shell")
    return FindingTargets(
        alertmanager=reader.address(tree, "alertmanager"),
        slack=reader.address(tree, "slack"),
        command=reader.texts(tree, "command", section),
        headers=tuple(headers.items()),
        metrics_file=reader.text(tree, "metrics-file", section),
        metrics_listen=reader.text(tree, "metrics-listen", section),
    )


def _price(reader: "_Reader", machines: Mapping[str, Any], name: str, billed: float) -> MachinePrice:
    if not isinstance(machines[name], dict):
        return MachinePrice(hourly=reader.money(machines, name, "prices.machines"), billed_seconds=billed)
    section = f'prices.machines."{name}"'
    tree = machines[name]
    reader.refuse_unknown(tree, names(MACHINE), section)
    return MachinePrice(
        hourly=reader.money(tree, "hourly", section),
        spot_hourly=reader.money(tree, "spot", section) if "spot" in tree else None,
        billed_seconds=reader.billed(tree, section, billed),
    )


class _WrongSetting(BadValue):
    """A value cannot be used; what is at `place`, a dotted path in the file, is left out to read the rest."""

    def __init__(self, field: str, fault: str, place: str) -> None:
        super().__init__(field, fault)
        self.place = place


class _Reader:
    """Checks values and words the sentence for those that cannot be used."""

    def __init__(self, source: str, text: str, home: Path) -> None:
        self._source = source
        self._home = home
        self._lines = text.splitlines()

    def fault(self, key: str, section: str, what: str, *, rules_table: bool = False) -> BadInput:
        """The fault of that key; `rules_table`: the rest of its table means nothing without it."""
        where = f"{section}.{key}" if section else key
        line = self._line(key)
        field = f"{self._source}{f':{line}' if line else ''}: {where}"
        return _WrongSetting(field, what, section if rules_table else where)

    def _line(self, key: str) -> int | None:
        # tomllib keeps no positions: the line is told only where exactly one line starts with that key.
        quoted = re.escape(key)
        pattern = re.compile(rf"""\s*(?:\[+[^\]]*)?["']?{quoted}["']?\s*(?:=|\])""")
        found = [number for number, line in enumerate(self._lines, 1) if pattern.match(line)]
        return found[0] if len(found) == 1 else None

    def refuse_unknown(self, tree: Mapping[str, Any], known: tuple[str, ...], section: str) -> None:
        for key in tree:
            if key not in known:
                near = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.5)
                remedy = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
                raise self.fault(key, section, f"unknown key; {remedy}")

    def table(self, tree: Mapping[str, Any], key: str, section: str) -> Mapping[str, Any]:
        value = tree.get(key, {})
        if not isinstance(value, dict):
            raise self.fault(key, section, "give a table")
        return value

    def text(self, tree: Mapping[str, Any], key: str, section: str) -> str:
        value = tree.get(key, "")
        if not isinstance(value, str) or any(ord(item) < 0x20 for item in value):
            raise self.fault(key, section, f"give one line of text, not {value!r}")
        return value

    def theme(self, tree: Mapping[str, Any]) -> str:
        value = self.text(tree, "theme", "")
        if value and value not in THEMES:
            near = difflib.get_close_matches(value.lower(), THEMES, n=1, cutoff=0.4)
            remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(THEMES)}"
            raise self.fault("theme", "", f"there is no theme {value!r}; {remedy}")
        return value

    def switch(self, tree: Mapping[str, Any], key: str, section: str) -> bool:
        value = tree.get(key, False)
        if not isinstance(value, bool):
            raise self.fault(key, section, "give true or false")
        return value

    def nodes(self, tree: Mapping[str, Any], key: str, section: str) -> int | None:
        value = tree.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_NODES:
            what = f"give a whole number of nodes from 1 to {MOST_NODES:,}, not {value!r}"
            raise self.fault(key, section, what)
        return value

    def span(self, tree: Mapping[str, Any], key: str, section: str, ends: tuple[str, str]) -> float | None:
        """Seconds between two spans as people write them."""
        value = tree.get(key)
        if value is None:
            return None
        try:
            found = parse_duration(value if isinstance(value, str) else "")
        except ValueError:
            found = -1.0
        least, most = ends
        if not parse_duration(least) <= found <= parse_duration(most):
            raise self.fault(key, section, f'give a time from "{least}" to "{most}", not {value!r}')
        return found

    def money(self, tree: Mapping[str, Any], key: str, section: str) -> float:
        value = tree.get(key)
        if value is None:
            raise self.fault(key, section, "give the money for an hour")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= HIGHEST_PRICE:
            what = f"give money an hour from 0 to {HIGHEST_PRICE:,.0f}, not {value!r}"
            raise self.fault(key, section, what)
        return float(value)

    def billed(self, tree: Mapping[str, Any], section: str, default: float) -> float:
        value = self.text(tree, "billed", section)
        if value and value not in BILLED:
            raise self.fault("billed", section, f'give "second" or "minute", not {value!r}')
        return BILLED[value] if value else default

    def path(self, name: str) -> Path:
        return self._home / name[2:] if name.startswith("~/") else Path(name)

    def folder(self, tree: Mapping[str, Any], section: str) -> Path | None:
        value = self.text(tree, "acknowledgements-folder", section)
        found = self.path(value)
        if value and not found.is_absolute():
            what = f"give an absolute path or one that begins with ~/, not {value!r}"
            raise self.fault("acknowledgements-folder", section, what)
        return found if value else None

    def address(self, tree: Mapping[str, Any], key: str) -> str:
        """A URL, which may be secret: no sentence shows it; or `@FILE`."""
        value = tree.get(key, "")
        is_text = isinstance(value, str) and not any(ord(item) < 0x20 for item in value)
        if not is_text or (value and not re.match(r"@.|https?://[^\s/]", value)):
            raise self.fault(key, "findings", "give a URL with http:// or https://, or @FILE with one")
        return str(value)

    def url(self, tree: Mapping[str, Any], key: str) -> str:
        value = self.text(tree, key, "")
        if value and not re.match(r"https?://[^\s/]", value):
            raise self.fault(key, "", f"give a URL with http:// or https://, not {value!r}")
        return value

    def texts(self, tree: Mapping[str, Any], key: str, section: str = "") -> tuple[str, ...]:
        value = tree.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.fault(key, section, "give a list of strings")
        return tuple(value)

    def open_contexts(self, tree: Mapping[str, Any]) -> tuple[str, ...]:
        names = self.texts(tree, "contexts")
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise self.fault("contexts", "", f"{twice!r} is named twice; name each context once")
        return names

    def namespaces(self, tree: Mapping[str, Any], section: str, key: str = "namespace") -> Namespaces:
        found = namespaces_of(self.text(tree, key, section))
        if wrong := not_a_namespace(found):
            raise self.fault(key, section, f"{wrong!r} is not a valid namespace name")
        return found

    def lease_namespace(self, tree: Mapping[str, Any], section: str) -> str:
        key = "lease-namespace"
        found = self.namespaces(tree, section, key)
        if len(found.names) > 1:
            raise self.fault(key, section, f"give one namespace, not {found}")
        return found.only

    def status_key(self, tree: Mapping[str, Any], section: str) -> str:
        key = "autoscaler-status"
        value = self.text(tree, key, section)
        namespace, _, name = value.partition("/")
        if value and not (_NAMESPACE.fullmatch(namespace) and _OBJECT.fullmatch(name)):
            raise self.fault(key, section, f"give namespace/name such as scaling/status, not {value!r}")
        return value

    def server(self, tree: Mapping[str, Any], section: str, kind: ServerKind) -> MetricsServer:
        name = kind.option.lstrip("-")
        key, url = f"{name}-url", tree.get(f"{name}-url", "")
        # a URL may hold a password: no sentence shows it
        if not isinstance(url, str) or any(ord(item) < 0x20 for item in url):
            raise self.fault(key, section, "give one line of text")
        is_alerts = kind is ALERTMANAGER
        if url and not re.match(ALERTS_URL if is_alerts else r"https?://[^\s/]", url):
            more = ", namespace/service:port, or find" if is_alerts else ""
            raise self.fault(key, section, f"give a URL with http:// or https://{more}")
        return MetricsServer(
            url=url,
            token_file=self.text(tree, f"{name}-token-file", section),
            username=self.text(tree, f"{name}-username", section),
            password_file=self.text(tree, f"{name}-password-file", section),
            ca_file=self.text(tree, f"{name}-ca-file", section),
            filters=self.texts(tree, f"{name}-filter", section) if is_alerts else (),
            kind=kind,
        )
