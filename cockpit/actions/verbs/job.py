"""Verbs on jobs, and on a pod of one."""

from cockpit.actions.verbs.verb import Flag, Verb, Words
from cockpit.cli_values import whole

SUBMIT = Verb(
    name="submit",
    kind="job",
    key="N",
    plans="form_rights:SUBMIT",
    opener="submit",
    command="job:submit",
    words=Words(
        "submit", "submitted", "submit a job from a template", "New job from a template", label="new job"
    ),
    finds_own=True,
    takes_many=False,
)
KILL = Verb(
    name="kill",
    kind="job",
    key="K",
    plans="kill:KILL",
    words=Words("kill", "killed", "delete jobs and their pods", "Kill the job with all its members"),
    is_destructive=True,
)
EXEC = Verb(
    name="exec",
    kind="pod",
    noun="job",
    key="E",
    plans="form_rights:EXEC",
    opener="shell",
    command="enter:run",
    words=Words(
        "enter",
        "entered",
        "run a command or a shell in a pod of a job",
        "Open a shell in the pod",
        label="shell",
    ),
    is_repeatable=False,
    takes_many=False,
)
TENSORBOARD = Verb(
    name="tensorboard",
    kind="job",
    key="B",
    plans="form_rights:TENSORBOARD",
    opener="tensorboard",
    command="tensorboard:run",
    words=Words(
        "forward",
        "forwarded",
        "forward TensorBoard or another pod port to localhost",
        "Open or close the TensorBoard port-forward",
        label="tensorboard",
    ),
    is_on_page=True,
    is_shown=False,
    is_repeatable=False,
    takes_many=False,
)
FORWARD = Verb(
    name="forward",
    kind="pod",
    key="F",
    plans="form_rights:FORWARD",
    opener="forward",
    command="port_forward:run",
    words=Words(
        "forward a port of",
        "forwarded",
        "forward a port of a pod to localhost",
        "Forward a port of the pod, or stop one",
        label="forward",
    ),
    is_shown=False,
    is_repeatable=False,
    takes_many=False,
)
SUSPEND = Verb(
    name="suspend",
    kind="job",
    key="P",
    plans="suspend:SUSPEND",
    undone_by="resume",
    words=Words(
        "suspend",
        "suspended",
        "suspend jobs through their queueing engine",
        "Suspend the job, or resume it",
    ),
)
RESUME = Verb(
    name="resume",
    kind="job",
    key="P",
    plans="suspend:RESUME",
    undone_by="suspend",
    words=Words("resume", "resumed", "resume suspended jobs"),
    weighs_others=True,
    is_for=lambda job: job.is_suspended,
)
CLONE = Verb(
    name="clone",
    kind="job",
    key="C",
    plans="form_rights:CLONE",
    opener="clone",
    command="clone:run",
    words=Words("clone", "cloned", "submit a copy of a job, with changes", "Clone: edit and resubmit"),
    takes_many=False,
)
RETRY = Verb(
    name="retry",
    kind="job",
    key="T",
    plans="clone_retry:RETRY",
    words=Words(
        "retry",
        "retried",
        "rerun failed jobs; retry scheduling of a waiting gang now",
        "Retry now (failed jobs restart, with more memory after OOM)",
    ),
    weighs_others=True,
    flags=(
        Flag(
            "--memory",
            "memory",
            "new memory limit of OOM-killed members (default: 1.5 times the old limit)",
            "QUANTITY",
        ),
    ),
)
RECREATE = Verb(
    name="recreate",
    kind="job",
    plans="recreate:RECREATE",
    words=Words(
        "recreate",
        "recreated",
        "delete a job and create it again under its name, with changed lines",
        "Delete the job and create it again, without what controllers wrote into it",
    ),
    flags=(Flag("--patch", "patch", "JSON patch of the job's manifest (default: no change)", "JSON"),),
    weighs_others=True,
    is_destructive=True,
    is_repeatable=False,
    takes_many=False,
)
EDIT = Verb(
    name="edit",
    kind="job",
    plans="edit:EDIT",
    opener="edit",
    command="job_edit:run",
    words=Words(
        "edit",
        "edited",
        "edit the manifest of a job in your editor",
        "Edit the manifest: change what can change in place, or recreate the job",
    ),
    flags=(Flag("--patch", "patch", "JSON patch of the job's manifest (default: opens EDITOR)", "JSON"),),
    weighs_others=True,
    is_repeatable=False,
    takes_many=False,
)
RESIZE = Verb(
    name="scale",
    kind="job",
    key="Z",
    plans="job_size:RESIZE",
    opener="resize",
    words=Words("resize", "resized", "resize an elastic job", "Resize an elastic job"),
    weighs_others=True,
    flags=(Flag("--to", "to", "new number of workers", "COUNT", is_required=True, read=whole),),
)
PRIORITISE = Verb(
    name="prioritise",
    kind="job",
    key="I",
    plans="prioritise:PRIORITISE",
    opener="prioritise",
    words=Words(
        "prioritise",
        "prioritised",
        "change the priority class or queue of jobs",
        "Change priority class or queue",
        label="priority",
    ),
    weighs_others=True,
    flags=(
        Flag("--priority", "priority", "priority class of the queueing engine, or else of the pods", "CLASS"),
        Flag("--queue", "queue", "a LocalQueue", "QUEUE"),
    ),
)
PRUNE = Verb(
    name="prune",
    kind="job",
    plans="kill:PRUNE",
    opener="prune",
    words=Words(
        "prune", "deleted", "delete finished jobs older than an age", "Delete finished jobs older than an age"
    ),
    flags=(
        Flag(
            "--older-than",
            "older_than",
            "time since they finished, such as 12h or 7d",
            "AGE",
            is_required=True,
        ),
    ),
    finds_own=True,
    is_destructive=True,
)
RECORD = Verb(
    name="record",
    kind="job",
    plans="record_run:RECORD",
    words=Words("record", "recorded", "keep the throughput of a run, for comparisons after it is deleted"),
    is_repeatable=False,
)
RECLAIM = Verb(
    name="reclaim",
    kind="job",
    key="R",
    plans="reclaim_job:RECLAIM",
    words=Words(
        "reclaim",
        "reclaimed",
        "give back the GPUs of idle jobs: mark them, later suspend them (or delete, by name)",
        "Give back the GPUs of an idle job: mark it, look again, suspend it",
    ),
    flags=(
        Flag(
            "--idle-for",
            "idle_for",
            "idle for so long (10m to 3h; else as is set, else 1h)",
            "TIME",
        ),
        Flag(
            "--grace",
            "grace",
            "from the mark to the end (0: at once; else as is set, else 15m)",
            "TIME",
        ),
        Flag("--off", "off", "take the mark away", is_switch=True),
    ),
    is_measured=True,
    is_shown=False,
    is_repeatable=False,
)
