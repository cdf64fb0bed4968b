"""Small templates for tests."""

from cockpit.jobs.template import Template, read_template

HEAD = """template: {name: small, title: A small one}
"""
PARAMETERS = """parameters:
  - {name: name, type: dns-label, longest: 20}
  - {name: workers, type: integer, default: 2, minimum: 1, maximum: 64}
  - {name: gpus, type: integer, default: 1, minimum: 1, maximum: 8}
  - {name: queue, type: dns-label, default: ""}
  - {name: command, type: command, default: ""}
"""
MANIFEST = """manifest:
  apiVersion: batch/v1
  kind: Job
  metadata:
    name: {$param: name}
    labels:
      kueue.x-k8s.io/queue-name: {$param: queue}
  spec:
    suspend: {$given: queue}
    parallelism: {$param: workers}
    template:
      spec:
        containers:
          - name: main
            command: {$param: command}
            args:
              - -np
              - {$text: {$product: [workers, gpus]}}
              - {$splice: command}
            resources: {limits: {nvidia.com/gpu: {$param: gpus}}}
"""


def text(head: str = HEAD, parameters: str = PARAMETERS, manifest: str = MANIFEST, more: str = "") -> str:
    """A whole template file, made of its sections."""
    return head + parameters + manifest + more


def small() -> Template:
    """The template of the sections above."""
    return read_template(text(), "small.yaml")
