"""Validation errors with their point first."""

import pytest

from cockpit.k8s.field_errors import field_error_words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "Found validation errors: spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1",
            "spec.mpiReplicaSpecs[Launcher].replicas is 2: must be 1",
        ),
        (
            "Found validation errors: spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value:"
            ' "Always": supported values: "Never", "OnFailure"',
            'spec.mpiReplicaSpecs[Worker].restartPolicy is "Always": supported values: "Never", "OnFailure"',
        ),
        (
            'Job "x" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure"',
            'spec.template.spec.restartPolicy is missing: valid values: "OnFailure"',
        ),
        (
            'admission webhook "vjob.kb.io" denied the request: metadata.labels[kueue.x-k8s.io/queue-name]:'
            ' Invalid value: "x": field is immutable',
            'metadata.labels[kueue.x-k8s.io/queue-name] is "x": field is immutable',
        ),
        (
            'metadata.name: Invalid value: "a-very-long-name-of-a-job-that-goes-on-and-on": must be short',
            'metadata.name is "a-very-long-name-of-a-job-th…: must be short',
        ),
        (
            'spec.template: Invalid value: {"a":{"b":1}}: field is immutable',
            'spec.template is {"a":{"b":1}}: field is immutable',
        ),
        ("worker pod created failed: exceeded quota", ""),
        ("", ""),
    ],
)
def test_the_field_its_value_and_what_it_should_be(message: str, words: str) -> None:
    assert field_error_words(message) == words
