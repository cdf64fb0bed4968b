"""Kubelets' messages of evictions."""

import pytest

from cockpit.k8s.evictions import eviction_words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 22Mi. Container main"
            " was using 61Gi, request is 0, has larger consumption of memory. ",
            "evicted: node low on memory",
        ),
        ("The node was low on resource: ephemeral-storage. ", "evicted: node low on local disk"),
        ("The node had condition: [DiskPressure]. ", "evicted: node low on local disk"),
        (
            "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ",
            "evicted: it wrote more to local disk than its limit",
        ),
        ("Taint manager was here", ""),
        ("", ""),
    ],
)
def test_an_eviction_in_plain_words(message: str, words: str) -> None:
    assert eviction_words(message) == words
