"""Names of the contexts that could be attached to."""

from cockpit.errors import NoConnection
from cockpit.kube.decode.clean import clean
from cockpit.kube.kubeconfig import check, files


def context_names(kubeconfig: str | None) -> tuple[str, ...]:
    """Every context of the kubeconfig files, in their order; a name that comes twice counts once.

    Raises NoConnection when there is no file, or one cannot be read.
    """
    names: dict[str, None] = {}
    found = [path for path in files(kubeconfig) if path.exists()]
    if not found:
        raise NoConnection("There is no kubeconfig; name one with --kubeconfig or KUBECONFIG.")
    for path in found:
        for entry in check(path).get("contexts") or ():
            names.setdefault(clean(entry["name"], 253))
    return tuple(names)
