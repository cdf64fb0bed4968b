"""Every setting of `config.toml`, once: the reader's known keys, its JSON Schema, the commented file of
`cockpit config init`, `cockpit config show` and `docs/configuration.md` are made from this list."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

TOP, CONTEXT = "", "context.NAME"
PRICES, MACHINE = "prices", "prices.machines.NAME"
FINDINGS = "findings"
VENDOR = "accelerators.NAME"
AWS, POOL = "context.NAME.aws", "context.NAME.outside-pools.NAME"


class Setting(NamedTuple):
    """One setting. `tables` are those it may stand in, `example` its value as TOML. `schema` is JSON Schema
    of the value, `unit` "" without one, `default` in words, "" where there is none. A secret is not shown."""

    name: str
    tables: tuple[str, ...]
    schema: Mapping[str, Any]
    example: str
    about: str
    default: str = ""
    unit: str = ""
    is_secret: bool = False

    @property
    def type_words(self) -> str:
        """`text`, `list of texts`, `whole number`, `one of a, b`."""
        if "enum" in self.schema:
            return f"one of {', '.join(self.schema['enum'])}"
        if self.schema.get("type") == "array":
            return "list of texts"
        return _TYPES[self.schema["type"]]


_TYPES: Final = {
    "string": "text",
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "table",
}
THEMES: Final = (
    *("dark", "light", "colour-blind", "mono", "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light"),
    *("catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula"),
    *("flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon"),
    *("solarized-dark", "solarized-light", "textual-dark", "textual-light", "tokyo-night"),
)
"""Textual's and ours: a test holds them against both, so that reading a file loads no Textual."""
MOST_NODES: Final = 10_000
HIGHEST_PRICE: Final = 1_000_000.0
BILLED: Final = {"second": 1.0, "minute": 60.0}
_BOTH: Final = (TOP, CONTEXT)
_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_SWITCH: Final[Mapping[str, Any]] = {"type": "boolean"}
_WORDS: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_URL: Final[Mapping[str, Any]] = {"type": "string", "pattern": "^(https?://[^\\s/]|$)"}
_MONEY: Final[Mapping[str, Any]] = {"type": "number", "minimum": 0, "maximum": HIGHEST_PRICE}
_BILLED: Final[Mapping[str, Any]] = {"type": "string", "enum": list(BILLED)}
_TABLE: Final[Mapping[str, Any]] = {"type": "object"}
_SERIES: Final[Mapping[str, Any]] = {"type": "string", "pattern": "^[A-Za-z_:][A-Za-z0-9_:]* \\S+$"}
_SERIES_OF: Final = "name of its series and the unit:"
_MEMORY: Final = "bytes, KiB, MiB or GiB"
ALERTS_URL: Final = r"^(https?://[^\s/]|[a-z0-9-]+/[a-z0-9.-]+(:[a-z0-9-]+)?$|find$|$)"
_PATH_IN_JSON: Final = "where it is in what read prints: keys and positions with dots"


def _login(server: str) -> tuple[Setting, ...]:
    """What lets us in where a server is asked by its own URL."""
    return (
        Setting(
            f"{server}-token-file", _BOTH, _TEXT, f'"~/.{server}.token"',
            "file with the bearer token for that URL, read for every request",
        ),
        Setting(f"{server}-username", _BOTH, _TEXT, '"ops"', "user for that URL"),
        Setting(
            f"{server}-password-file", _BOTH, _TEXT, f'"~/.{server}.password"',
            "file with the password of that user, read for every request",
        ),
        Setting(
            f"{server}-ca-file", _BOTH, _TEXT, f'"/etc/ssl/{server}.pem"',
            "CA certificates for that URL, PEM", "the system's",
        ),
    )  # fmt: skip


SETTINGS: Final = (
    Setting(
        "write", (CONTEXT,), _SWITCH, "false", "changes are allowed from the start, without :write", "false"
    ),
    Setting(
        "namespace", _BOTH, _TEXT, '"team-a"', 'namespaces that are shown: one, or several as "a,b"', "all"
    ),
    Setting(
        "prometheus-url", _BOTH, _URL, '"http://prometheus.monitoring:9090"',
        "the Prometheus that has the GPU metrics; a password in it is never shown", "found in the cluster",
    ),
    *_login("prometheus"),
    Setting(
        "alertmanager-url", _BOTH, {"type": "string", "pattern": ALERTS_URL},
        '"monitoring/alertmanager:9093"',
        "the Alertmanager whose alerts about nodes and jobs are shown: a URL, namespace/service:port of the"
        " cluster, or find for its Service; a password in it is never shown", "no alerts are read",
    ),
    *_login("alertmanager"),
    Setting(
        "alertmanager-filter", _BOTH, _WORDS, """['cluster="prod-eu"']""",
        "matchers of the alerts that are read, where several clusters share that Alertmanager", "all",
    ),
    Setting("theme", (TOP,), {"type": "string", "enum": list(THEMES)}, '"nord"', "colours", "dark"),
    Setting(
        "template-folders", (TOP,), _WORDS, '["~/jobspecs"]', "folders with job templates of your own", "none"
    ),
    Setting(
        "contexts", (TOP,), _WORDS, '["prod-eu", "prod-us"]', "clusters that the screens open together",
        "the current context",
    ),
    Setting(
        "docs-url", (TOP,), _URL, '"https://docs.example/gpu-cockpit"',
        "where your copy of the site of these documents is: why links the page of a cause there",
        "a command is named",
    ),
    Setting("bell", (TOP,), _SWITCH, "true", "ring the terminal's bell at a new problem", "false"),
    Setting(
        "acknowledgements-folder", _BOTH, {"type": "string", "pattern": "^(/|~/|$)"}, '"/srv/on-call"',
        "folder, writable by the group, in which acknowledged problems are shared", "not shared",
    ),
    Setting(
        "lease-namespace", _BOTH, _TEXT, '"gpu-cockpit"',
        "namespace of the Leases that hold a pool while its size changes", "default",
    ),
    Setting(
        "shrink-at-once", _BOTH, {"type": "integer", "minimum": 1, "maximum": MOST_NODES}, "4",
        "nodes that one shrink or reclaim may remove without being told a number", "a tenth of the pool",
        "nodes",
    ),
    Setting(
        "reclaim-idle-for", _BOTH, _TEXT, '"1h"', "how long a job must be idle to be reclaimed, 10m to 3h",
        "1h", "duration",
    ),
    Setting(
        "reclaim-grace", _BOTH, _TEXT, '"15m"', "time from the mark on a job to its suspension, 0 to 30d",
        "15m", "duration",
    ),
    Setting(
        "autoscaler-status", _BOTH, _TEXT, '"scaling/status"',
        "namespace/name of the ConfigMap in which the autoscaler writes its status",
        "that of a usual installation",
    ),
    Setting(
        "audit-keep", (TOP,), _TEXT, '"365d"', "how long full files of the audit log are kept, 1d to 3650d",
        "365d", "duration",
    ),
    Setting("keys", (TOP,), _TABLE, '{kill = "ctrl+k"}', "other keys: action = key", "none"),
    Setting("prices", (TOP,), _TABLE, '{currency = "$"}', "what machines cost", "none"),
    Setting("findings", (TOP,), _TABLE, '{slack = "@~/.slack"}', "where findings are sent", "nowhere"),
    Setting(
        "accelerators", (TOP,), _TABLE, '{Tensorwave = {resource = "tensorwave.example/chip"}}',
        "accelerators of vendors that are not built in, by a name of yours", "none",
    ),
    Setting("context", (TOP,), _TABLE, '{"prod-eu" = {write = false}}', "settings of one context", "none"),
    Setting(
        "alertmanager", (FINDINGS,), _TEXT, '"http://alertmanager.monitoring:9093"',
        "URL of an Alertmanager, or @FILE with it", is_secret=True,
    ),
    Setting(
        "slack", (FINDINGS,), _TEXT, '"@~/.slack-url"', "URL of a Slack-compatible webhook, or @FILE with it",
        is_secret=True,
    ),
    Setting(
        "command", (FINDINGS,), _WORDS, '["notify-me", "--gpu"]',
        "program that is given each change as JSON on its standard input",
    ),
    Setting(
        "headers", (FINDINGS,), {"type": "object", "additionalProperties": {"type": "string"}},
        '{Authorization = "@~/.alert-token"}', "headers of each request, or @FILE with the value",
        is_secret=True,
    ),
    Setting(
        "metrics-file", (FINDINGS,), _TEXT, '"/var/lib/node_exporter/gpu-cockpit.prom"',
        "file of OpenMetrics that is replaced at each look",
    ),
    Setting(
        "metrics-listen", (FINDINGS,), _TEXT, '"9411"', "PORT of loopback, or HOST:PORT, that serves /metrics"
    ),
    Setting("currency", (PRICES,), _TEXT, '"$"', "sign or code of the currency", "$"),
    Setting("billed", (PRICES, MACHINE), _BILLED, '"second"', "the unit of time that is billed", "second"),
    Setting(
        "machines", (PRICES,), _TABLE, '{"p5.48xlarge" = 98.32}', "money an hour by machine type", "none"
    ),
    Setting("hourly", (MACHINE,), _MONEY, "98.32", "price of a machine", "", "money per hour"),
    Setting("spot", (MACHINE,), _MONEY, "39.33", "price of a spot machine", "unknown", "money per hour"),
    Setting(
        "resource", (VENDOR,), _TEXT, '"tensorwave.example/chip"', "extended resource that counts its devices"
    ),
    Setting("model-label", (VENDOR,), _TEXT, '"tensorwave.example/model"', "node label with the model"),
    Setting(
        "count-label", (VENDOR,), _TEXT, '"tensorwave.example/count"',
        "node label with how many devices the node is to have", "as many as it offers",
    ),
    Setting(
        "exporter", (VENDOR,), _TEXT, '"tensorwave-exporter"',
        "app.kubernetes.io/name, app or k8s-app of its exporter's pods", "Prometheus alone is asked",
    ),
    Setting(
        "exporter-port", (VENDOR,), {"type": "integer", "minimum": 1, "maximum": 65_535}, "9100",
        "port of those pods where they name none", "9400",
    ),
    Setting(
        "card-label", (VENDOR,), _TEXT, '"chip"', "label of its series that tells the cards of a node apart",
        "UUID, uuid and the like",
    ),
    Setting("duty", (VENDOR,), _SERIES, '"tw_utilization %"', f"{_SERIES_OF} %, of 100, or ratio, of 1"),
    Setting("memory-used", (VENDOR,), _SERIES, '"tw_used MiB"', f"{_SERIES_OF} {_MEMORY}"),
    Setting("memory-free", (VENDOR,), _SERIES, '"tw_free MiB"', f"{_SERIES_OF} {_MEMORY}"),
    Setting("memory-total", (VENDOR,), _SERIES, '"tw_total MiB"', f"{_SERIES_OF} {_MEMORY}"),
    Setting("temperature", (VENDOR,), _SERIES, '"tw_temperature C"', f"{_SERIES_OF} C or mC"),
    Setting("power", (VENDOR,), _SERIES, '"tw_power mW"', f"{_SERIES_OF} W or mW"),
    Setting("clock", (VENDOR,), _SERIES, '"tw_clock MHz"', f"{_SERIES_OF} Hz or MHz"),
    Setting("aws", (CONTEXT,), _TABLE, '{region = "eu-west-1"}', "where EKS and auto scaling groups are"),
    Setting("region", (AWS,), _TEXT, '"eu-west-1"', "AWS region", "from the nodes"),
    Setting("cluster", (AWS,), _TEXT, '"prod"', "name of the EKS cluster", "from the nodes"),
    Setting("profile", (AWS,), _TEXT, '"ops"', "profile of the AWS configuration", "AWS' own"),
    Setting(
        "outside-pools", (CONTEXT,), _TABLE, '{rack-a = {read = ["power", "show", "{pool}"]}}',
        'pools outside the cluster by name; "*" is every other pool',
    ),
    Setting(
        "profile", (POOL,), {"type": "string", "enum": ["aks", "gke", "vmss"]}, '"aks"',
        "commands of a cloud that are built in",
    ),
    Setting(
        "values", (POOL,), {"type": "object", "additionalProperties": {"type": "string"}},
        '{resource-group = "research", cluster = "train"}', "values for {NAME} in the words of commands",
    ),
    Setting("read", (POOL,), _WORDS, '["power", "show", "{pool}"]', "command that prints the pool as JSON"),
    Setting("resize", (POOL,), _WORDS, '["power", "set", "{pool}", "{size}"]', "command that sets the size"),
    Setting(
        "limit", (POOL,), _WORDS, '["power", "limit", "{pool}", "{maximum}"]', "command that sets the maximum"
    ),
    Setting(
        "follow", (POOL,), _WORDS, '["power", "show", "{pool}"]', "command that prints progress", "read"
    ),
    Setting("desired", (POOL,), _TEXT, '"machines.wanted"', f"size, {_PATH_IN_JSON}"),
    Setting("minimum", (POOL,), _TEXT, '"machines.min"', "smallest size, likewise"),
    Setting("maximum", (POOL,), _TEXT, '"machines.max"', "largest size, likewise"),
    Setting("machine", (POOL,), _TEXT, '"type"', "machine type, likewise"),
    Setting("status", (POOL,), _TEXT, '"state"', "state of the pool, likewise"),
    Setting("message", (POOL,), _TEXT, '"error"', "message of a failure, likewise"),
    Setting("zones", (POOL,), _TEXT, '"zones"', "list of zones, likewise: sizes are then for each zone"),
    Setting("autoscaled", (POOL,), _TEXT, '"autoscaling"', "whether an autoscaler sets the size, likewise"),
    Setting("identity", (POOL,), _TEXT, '"id"', "what tells the pool from one of the same name, likewise"),
    Setting("busy", (POOL,), _WORDS, '["updating"]', "words at status while a change is under way"),
    Setting("failed", (POOL,), _WORDS, '["error"]', "words at status after a failure"),
    Setting(
        "environment", (POOL,), _WORDS, '["POWER_TOKEN_FILE"]',
        "variables that the command is given in addition to PATH, HOME and the like",
    ),
    Setting(
        "timeout-seconds", (POOL,), {"type": "number", "minimum": 1, "maximum": 600}, "30",
        "longest time for one command", "60", "seconds",
    ),
)  # fmt: skip
"""In the order in which they are documented."""


def names(table: str) -> tuple[str, ...]:
    """The settings that may stand in a table."""
    return tuple(setting.name for setting in of_table(table))


def of_table(table: str) -> Iterator[Setting]:
    """The same as settings."""
    return (setting for setting in SETTINGS if table in setting.tables)


def setting_of(table: str, name: str) -> Setting | None:
    """The setting of that name in that table, None where there is none."""
    return next((setting for setting in of_table(table) if setting.name == name), None)


# ---- JSON Schema


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors: strict, as the reader is."""
    machine = {"oneOf": [dict(_MONEY), _table_schema(MACHINE)]}
    pool = _table_schema(POOL)
    context = _table_schema(CONTEXT, {"aws": _table_schema(AWS), "outside-pools": _map_of(pool)})
    prices = _table_schema(PRICES, {"machines": _map_of(machine)})
    inner = {"keys": _map_of({"type": "string"}), "prices": prices, "context": _map_of(context)}
    inner["findings"] = _table_schema(FINDINGS)
    inner["accelerators"] = _map_of(_table_schema(VENDOR) | {"required": ["resource"]})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.toml of gpu-cockpit",
        **_table_schema(TOP, inner),
    }


def _map_of(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _table_schema(table: str, inner: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    properties = {
        setting.name: {
            **setting.schema,
            **(inner or {}).get(setting.name, {}),
            "description": described(setting),
        }
        for setting in of_table(table)
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def described(setting: Setting) -> str:
    """`nodes that one shrink may remove (nodes; default: a tenth of the pool)`."""
    extra = [setting.unit, f"default: {setting.default}" if setting.default else ""]
    told = "; ".join(item for item in extra if item)
    return f"{setting.about} ({told})" if told else setting.about


# ---- the file and the page


def commented_file() -> str:
    """A `config.toml` in which every setting is a comment with what it does and an example."""
    lines = [
        "# Configuration of gpu-cockpit. Every setting is optional: take away the # of those you need.",
        "",
    ]
    for setting in of_table(TOP):
        if setting.schema is not _TABLE:
            lines += _commented(setting)
    lines += ["", "# [keys]", "# # other keys: action = key", '# kill = "ctrl+k"']
    lines += ["", "# [prices]"]
    for setting in of_table(PRICES):
        lines += _commented(setting)
    lines += ["", "# [findings]"]
    for setting in of_table(FINDINGS):
        lines += _commented(setting)
    lines += ["", "# [accelerators.Tensorwave]"]
    for setting in of_table(VENDOR):
        lines += _commented(setting)
    lines += ["", '# [context."prod-eu"]']
    for setting in of_table(CONTEXT):
        lines += _commented(setting)
    return "\n".join(lines) + "\n"


def _commented(setting: Setting) -> Iterable[str]:
    return (f"# # {described(setting)}", f"# {setting.name} = {setting.example}")


_HEADINGS: Final = {
    TOP: "For every context, at the top of the file",
    CONTEXT: 'For one context: `[context."NAME"]`',
    PRICES: "Prices: `[prices]`",
    MACHINE: 'Price of a machine type: `[prices.machines."TYPE"]`, or a number in `[prices.machines]`',
    FINDINGS: "Findings for others, of `cockpit triage --watch`: `[findings]`",
    VENDOR: "Accelerators of another vendor: `[accelerators.NAME]`",
    AWS: 'AWS: `[context."NAME".aws]`',
    POOL: 'Pools outside the cluster: `[context."NAME".outside-pools.POOL]`',
}


def page() -> str:
    """`docs/configuration.md`: a table for each table of the file."""
    lines = [
        "# Configuration",
        "",
        "`~/.config/gpu-cockpit/config.toml`, in TOML; every setting is optional. `cockpit config init`",
        "writes the file with all settings as comments, `cockpit config validate` checks it, and",
        "`cockpit config show` prints each value and where it comes from. The command line overrides the",
        "environment, which overrides the context, which overrides the top of the file.",
        "[config.schema.json](config.schema.json) is for editors; `cockpit config schema` prints it.",
    ]
    for table, heading in _HEADINGS.items():
        lines += ["", f"## {heading}", "", "| setting | type | unit | default | example | what it does |"]
        lines.append("| --- | --- | --- | --- | --- | --- |")
        lines += [
            f"| `{setting.name}` | {setting.type_words} | {setting.unit} | {setting.default} |"
            f" `{setting.example}` | {setting.about} |"
            for setting in of_table(table)
        ]
    return "\n".join(lines) + "\n"
