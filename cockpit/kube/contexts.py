"""Names of the contexts that a person may switch to, without importing the `kubernetes` package."""

from cockpit.clean import clean
from cockpit.kube.kubeconfig import check, files


def context_names(kubeconfig: str | None = None) -> tuple[str, ...]:
    """Names in the order of the files; of a name given twice the first counts, as kubectl merges them.

    Raises NoConnection for a file that is broken. Blocking (files): call it in a thread.
    """
    names: dict[str, None] = {}
    for path in files(kubeconfig):
        if path.exists():
            for entry in check(path).get("contexts") or ():
                names.setdefault(clean(entry["name"], 253))
    return tuple(names)
