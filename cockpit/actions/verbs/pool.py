"""Verbs on pools of nodes: size, maximum, demand, and idle nodes."""

from cockpit.actions.verbs.verb import Flag, Verb, Words
from cockpit.cli_values import wait_time

SCALE = Verb(
    name="scale",
    kind="pool",
    key="S",
    plans="scale:SCALE",
    opener="scale",
    words=Words("scale", "scaled", "scale a pool to a number of nodes", "Scale the pool"),
    flags=(Flag("--to", "to", "new number of nodes", "COUNT", is_required=True),),
    beside=(
        Flag("--wait", "wait", "follow the change until its nodes are there, or it fails", is_switch=True),
        Flag("--deadline", "deadline", "timeout for --wait (default: 30m)", "DURATION", read=wait_time),
    ),
    takes_many=False,
)
ASK = Verb(
    name="ask",
    kind="pool",
    key="S",
    plans="ask:ASK",
    opener="ask",
    words=Words(
        "ask for nodes",
        "asked for",
        "ask for nodes of a pool that grows by demand only, or withdraw that",
        "Ask for nodes where the pool grows by demand only",
    ),
    flags=(
        Flag("--nodes", "nodes", "number of additional nodes", "COUNT"),
        Flag(
            "--way",
            "way",
            "buffer, request, placeholder, machine (default: the first that the cluster serves)",
            "WAY",
        ),
        Flag("--in", "space", "namespace for the request object (default: that of the Leases)", "NAMESPACE"),
        Flag("--for", "time", "lifetime of placeholders and requests (default: 1h)", "TIME"),
        Flag("--withdraw", "withdraw", "withdraw the request for nodes of the pool", is_switch=True),
    ),
    is_for=lambda pool: pool.grows_by_demand,
    takes_many=False,
    is_repeatable=False,
)
LIMIT = Verb(
    name="limit",
    kind="pool",
    key="M",
    plans="limit:LIMIT",
    opener="limit",
    words=Words("limit", "limited", "set the largest number of nodes a pool may have", "Set the maximum"),
    flags=(Flag("--max", "maximum", "new maximum of nodes", "COUNT", is_required=True),),
    takes_many=False,
)
RECLAIM = Verb(
    name="reclaim",
    kind="pool",
    key="R",
    plans="reclaim_nodes:RECLAIM",
    opener="reclaim",
    command="pool_reclaim:run",
    words=Words(
        "reclaim",
        "reclaimed",
        "cordon idle nodes of a pool, then remove those that stay empty",
        "Give back idle nodes of the pool (cordon, look again, remove), or its idle jobs",
    ),
    flags=(
        Flag("--idle-for", "idle_for", "minimum idle time (default: 30m for nodes, 1h for jobs)", "TIME"),
        Flag(
            "--most",
            "most",
            "maximum number of nodes to reclaim (default: shrink-at-once, else a tenth)",
            "COUNT",
        ),
        Flag(
            "--include-unknown",
            "include_unknown",
            "also nodes that are empty now, for an unknown time",
            is_switch=True,
        ),
    ),
    beside=(
        Flag("--list", "list", "list the idle nodes and change nothing", is_switch=True),
        Flag("--jobs", "jobs", "its idle jobs instead: as cockpit job reclaim, on each", is_switch=True),
        Flag("--grace", "grace", "with --jobs: from the mark to the end (default: 15m)", "TIME"),
    ),
    takes_many=False,
    is_repeatable=False,
)
