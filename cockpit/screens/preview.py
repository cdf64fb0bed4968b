"""The right half of a form: verdict, what fits, the command line, the manifest."""

from typing import Any

from cockpit.model.plan import Plan
from cockpit.store.store import Store


def preview_lines(plan: Plan | None, problem: str, verdict: str, store: Store) -> list[str]:
    """Lines of the preview; the manifest last, because it is the longest."""
    if plan is None:
        return ["not ready to be sent", "", problem]
    lines = [f"server: {verdict or 'asking for a dry run ...'}", *_fit(plan, store), ""]
    lines += [f"  {line}" for line in plan.lines]
    lines += [f"! {line}" for line in plan.warnings]
    lines += ["", "$ " + plan.shell, ""]
    return lines + manifest_lines(plan.calls[0].body)


def _fit(plan: Plan, store: Store) -> list[str]:
    from cockpit.fit.gang import fit_sentence
    from cockpit.jobs.render import parts

    return [
        fit_sentence(store, part.replicas, part.gpus_each)
        for part in parts(plan.calls[0].body)
        if part.gpus_each
    ]


def manifest_lines(tree: Any) -> list[str]:
    """The tree as YAML, in the order it was written."""
    import yaml

    text: str = yaml.safe_dump(tree, sort_keys=False, default_flow_style=False, allow_unicode=True, width=100)
    return text.splitlines()
