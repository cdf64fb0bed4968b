"""What Pod Security admission forbids, with what the pod asks for first."""

import pytest

from cockpit.k8s.pod_security import forbidden_words

SILENT = (
    'allowPrivilegeEscalation != false (container "train" must set'
    ' securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "train" must set'
    ' securityContext.capabilities.drop=["ALL"]), '
)
REST = (
    'runAsNonRoot != true (pod or container "train" must set securityContext.runAsNonRoot=true),'
    ' seccompProfile (pod or container "train" must set securityContext.seccompProfile.type to'
    ' "RuntimeDefault" or "Localhost")'
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f'{SILENT}restricted volume types (volume "shm" uses restricted volume type "hostPath"), {REST}',
            "hostPath volumes, allowPrivilegeEscalation != false and 3 more",
        ),
        (SILENT + REST, "allowPrivilegeEscalation != false, unrestricted capabilities and 2 more"),
        ("host namespaces (hostNetwork=true, hostIPC=true)", "hostNetwork=true, hostIPC=true"),
        ('privileged (container "train" must not set securityContext.privileged=true)', "privileged"),
        ('hostPath volumes (volume "shm")', "hostPath volumes"),
        ("something else altogether", ""),
    ],
)
def test_what_the_pod_asks_for_goes_first(text: str, words: str) -> None:
    assert forbidden_words(text) == words
