"""The command line that would do the same as an action: shown before "yes" and kept in the audit, so without
secrets."""

import shlex
from collections.abc import Iterable, Mapping

from cockpit.jobs.template import Template
from cockpit.mask import mask_words
from cockpit.model.job import Job
from cockpit.model.pool import Pool


def submit_line(
    template: Template, values: Mapping[str, str], context: str = "", engine: str = "", namespace: str = ""
) -> str:
    """`cockpit job submit mpijob --set name=llm ... --write`: the values that differ from the defaults.

    `namespace` is where it goes by the template's or the screen's word; "" where a parameter says it.
    """
    words = ["cockpit", "job", "submit", template.name]
    for one in template.parameters:
        value = values.get(one.name, "").strip()
        # What is empty takes the default, so it needs no word.
        if value and value != one.default:
            words += ["--set", f"{one.name}={value}"]
    if engine:
        words += ["--engine", engine]
    if namespace:
        words += ["--namespace", namespace]
    return _line(words, context)


def submit_file_line(file: str, context: str = "", namespace: str = "") -> str:
    """`cockpit job submit -f job.yaml --write`."""
    words = ["cockpit", "job", "submit", "-f", file, *(["--namespace", namespace] if namespace else [])]
    return _line(words, context)


def kill_line(job: Job, context: str = "") -> str:
    """`cockpit job kill mpijob/team-a/llm --write`."""
    return _line(["cockpit", "job", "kill", f"{job.kind.lower()}/{job.namespace}/{job.name}"], context)


def job_line(verb: str, job: Job, context: str = "", *more: str) -> str:
    """`cockpit job suspend mpijob/team-a/llm --write`; `more` are the words after the name."""
    name = f"{job.kind.lower()}/{job.namespace}/{job.name}"
    return _line(["cockpit", "job", verb, name, *more], context)


def queue_line(verb: str, name: str, context: str = "", *more: str) -> str:
    """`cockpit queue stop team-a/main --drain --write`."""
    return _line(["cockpit", "queue", verb, name, *more], context)


def scale_line(pool: Pool, replicas: int, context: str = "") -> str:
    """`cockpit pool scale h100 --to 6 --write`."""
    return _line(["cockpit", "pool", "scale", pool.name, "--to", str(replicas)], context)


def ask_line(pool: Pool, nodes: int, more: Iterable[str] = (), context: str = "") -> str:
    """`cockpit pool ask h100 --nodes 2 --write`; `more` are options besides."""
    return _line(["cockpit", "pool", "ask", pool.name, "--nodes", str(nodes), *more], context)


def withdraw_line(pool: Pool, context: str = "") -> str:
    """`cockpit pool ask h100 --withdraw --write`."""
    return _line(["cockpit", "pool", "ask", pool.name, "--withdraw"], context)


def limit_line(pool: Pool, maximum: int, context: str = "") -> str:
    """`cockpit pool limit h100 --max 42 --write`."""
    return _line(["cockpit", "pool", "limit", pool.name, "--max", str(maximum)], context)


def restore_line(audit_id: str, context: str = "") -> str:
    """`cockpit audit restore 1f2e3d4c5b6a --write`."""
    return _line(["cockpit", "audit", "restore", audit_id], context)


def words_line(words: Iterable[str], context: str = "") -> str:
    """These words, with the context and `--write`."""
    return _line(words, context)


def _line(words: Iterable[str], context: str) -> str:
    return shlex.join(mask_words([*words, *(["--context", context] if context else []), "--write"]))
