"""Verbs on nodes."""

from cockpit.actions.verbs.verb import Flag, Verb, Words, later

CORDON = Verb(
    name="cordon",
    kind="node",
    key="X",
    plans="cordon:CORDON",
    undone_by="uncordon",
    words=Words(
        "cordon",
        "cordoned",
        "mark nodes unschedulable; their pods keep running",
        "Cordon the node, or uncordon it",
    ),
)
UNCORDON = Verb(
    name="uncordon",
    kind="node",
    key="X",
    plans="cordon:UNCORDON",
    undone_by="cordon",
    words=Words("uncordon", "uncordoned", "mark nodes schedulable again"),
    is_for=later("pools.idle:is_closed"),
)
DRAIN = Verb(
    name="drain",
    kind="node",
    key="D",
    plans="drain.plan:DRAIN",
    opener="drain",
    words=Words(
        "drain",
        "drained",
        "cordon nodes and evict their pods, now or after the jobs on them",
        "Drain the node, now or after its jobs, or call that off",
    ),
    flags=(
        Flag(
            "--after-job", "after_job", "wait until the jobs that hold GPUs on it have ended", is_switch=True
        ),
        Flag("--grace", "grace", "time that pods get to end (default: their own)", "TIME"),
        Flag("--within", "within", "give up after this long; what stays is told", "TIME"),
        Flag("--force", "force", "also pods without a controller", is_switch=True),
        Flag("--delete-emptydir-data", "delete_emptydir_data", "also pods with an emptyDir", is_switch=True),
    ),
    is_destructive=True,
    is_repeatable=False,
)
STOP_DRAIN = Verb(
    name="stop-drain",
    kind="node",
    key="D",
    plans="drain.stop:STOP_DRAIN",
    opener="drain",
    words=Words("stop the drain of", "no longer drained", "call the drain of nodes off", label="stop drain"),
    is_for=later("pools.drain_mark:is_draining"),
    is_repeatable=False,
)
KEEP = Verb(
    name="keep",
    kind="node",
    key="H",
    plans="keep:KEEP",
    opener="keep",
    words=Words(
        "keep",
        "kept",
        "keep nodes from being scaled down",
        "Keep the node from being scaled down, or no longer",
    ),
    flags=(Flag("--off", "off", "no longer keep them", is_switch=True),),
    is_shown=False,
)
SMOKE_TEST = Verb(
    name="smoke-test",
    kind="node",
    key="U",
    plans="form_rights:SMOKE_TEST",
    opener="smoke test",
    command="smoke:run",
    words=Words("test", "tested", "run a GPU smoke test on a node", "Run a GPU smoke test on the node"),
    is_shown=False,
    is_repeatable=False,
    takes_many=False,
)
