"""Kubelets as one actor: every node that is marked `cockpit.dev/kubelet: simulated` (or `process`) gets one.

The mark is an annotation or a label of the node; nodes without it are left to others. Annotations that steer
the simulated world (all optional; `KEY.CONTAINER` means one container of the pod only):

On pods:

| annotation | meaning |
| --- | --- |
| `cockpit.dev/duration` | how long a run lasts: `90s`, `2h`, `forever`; without it for ever under `restartPolicy: Always`, else drawn |
| `cockpit.dev/exit-code` | exit code of a run, 0 by default |
| `cockpit.dev/oom-after` | killed by the kernel after this long: OOMKilled, 137 |
| `cockpit.dev/stop-seconds` | how long it takes to follow SIGTERM; `never` waits for SIGKILL |
| `cockpit.dev/image-size` | compressed size of the image: `9Gi` |
| `cockpit.dev/image-error` | `not-found`, `unauthorized`, `rate-limit`, `unavailable`, `never` or `invalid` |
| `cockpit.dev/liveness-probe` (`readiness-`, `startup-`) | outcomes of the probe the spec has: `ok-after=20s,fail-after=5m` |
| `cockpit.dev/memory`, `cockpit.dev/cpu` | usage that metrics see |
| `cockpit.dev/log` | `training`, `service` or `none` |
| `cockpit.dev/step-seconds` | seconds between two lines of a training |

On nodes:

| annotation | meaning |
| --- | --- |
| `cockpit.dev/ready-after` | NotReady (no network plugin) for this long after its creation |
| `cockpit.dev/kubelet-outage` | `true`: no lease, no status, no logs, until it is taken away |
| `cockpit.dev/device-plugin` | `restarting`: new pods get no devices, the scheduler's arithmetic alone counts |

Image pulls, sandbox and start times are drawn per pod from the seed of the actor's Random, whatever the order
in which pods are looked at; an image's size is known by name or drawn from it (`images.py`).

The *process* runtime (`process.py`) runs the container's command as children of this program: see there for
what it does with volumes and paths, and for how its children die. It has no images, network or cgroups but
what `local_images.py` and `hosts.py` put in their place.
A node's mark may choose it for all pods of the node; in the demo it plays only pods whose images all begin
with `local/` (`local_images.py`), whatever their node is marked with.
"""  # noqa: E501 - a table's row is one line
