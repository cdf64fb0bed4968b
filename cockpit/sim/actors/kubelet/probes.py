"""Startup, readiness and liveness probes of running containers.

Source: Kubernetes 1.36 pkg/kubelet/prober/{worker.go, prober.go}: thresholds, the order of the three, the
sentence of the event.
"""

from cockpit.sim.actors.kubelet.behaviour import FOREVER
from cockpit.sim.actors.kubelet.runs import INIT, ContainerRun, PodRun, ProbeRun
from cockpit.sim.actors.kubelet.runtime import ProbeResult

KINDS = ("startup", "readiness", "liveness")
PROBE_KILL_GRACE_FIELD = "terminationGracePeriodSeconds"


def begin_probes(one: ContainerRun, now: float) -> None:
    """A container has started: set its probes up; without them it is started and ready at once."""
    one.probes = []
    if one.kind == INIT:
        one.is_started, one.is_ready = True, False
        return
    for kind in KINDS:
        spec = one.spec.get(f"{kind}Probe")
        if spec:
            delay = float(spec.get("initialDelaySeconds") or 0)
            one.probes.append(ProbeRun(kind, spec, now + delay))
    known = {probe.kind for probe in one.probes}
    one.is_started = "startup" not in known
    one.is_ready = one.is_started and "readiness" not in known


def step_probes(run: PodRun, one: ContainerRun, now: float) -> bool:
    """Run the probes that are due; True when something changed."""
    changed = False
    for probe in one.probes:
        if one.running is None or one.is_stopping:
            break
        if probe.kind != "startup" and not one.is_started:
            continue
        if probe.next_at > now and not probe.is_pending:
            continue
        outcome = one.running.probe(probe.kind, probe.spec, now)
        if outcome is None:
            probe.is_pending = True
            probe.next_at = FOREVER
            continue
        probe.is_pending = False
        changed |= _take(run, one, probe, outcome, now)
    return changed


def probes_due(one: ContainerRun) -> float:
    """When the next probe is due."""
    if one.is_stopping:
        return FOREVER
    waiting = [probe.next_at for probe in one.probes if probe.kind == "startup" or one.is_started]
    return min(waiting, default=FOREVER)


def _take(run: PodRun, one: ContainerRun, probe: ProbeRun, outcome: ProbeResult, now: float) -> bool:
    period = float(probe.spec.get("periodSeconds") or 10)
    probe.next_at = now + period
    if outcome.is_success:
        probe.successes, probe.failures = probe.successes + 1, 0
        if probe.successes < int(probe.spec.get("successThreshold") or 1):
            return False
        was_ok, probe.is_ok = probe.is_ok, True
        _skip_ahead(one, probe, period, now)
        return not was_ok and _passed(one, probe)
    probe.failures, probe.successes = probe.failures + 1, 0
    run.tell(
        "Warning", "Unhealthy", f"{probe.kind.capitalize()} probe failed: {outcome.text}", one.field_path
    )
    if probe.failures < int(probe.spec.get("failureThreshold") or 3):
        return False
    probe.is_ok = False
    return _failed(run, one, probe, now)


def _skip_ahead(one: ContainerRun, probe: ProbeRun, period: float, now: float) -> None:
    """Do not ask again while the answer is known to stay; keep the beat of the period."""
    if one.running is None:
        return
    changes_at = one.running.probe_changes_at(probe.kind, now)
    if changes_at == FOREVER or probe.kind == "startup":
        probe.next_at = FOREVER
    elif changes_at > probe.next_at:
        probe.next_at += period * int((changes_at - probe.next_at + period - 1e-9) // period)


def _passed(one: ContainerRun, probe: ProbeRun) -> bool:
    if probe.kind == "startup":
        one.is_started = True
        if not any(other.kind == "readiness" for other in one.probes):
            one.is_ready = True
    elif probe.kind == "readiness":
        one.is_ready = True
    else:
        return False
    return True


def _failed(run: PodRun, one: ContainerRun, probe: ProbeRun, now: float) -> bool:
    if probe.kind == "readiness":
        was_ready, one.is_ready = one.is_ready, False
        return was_ready
    message = f"Container {one.name} failed {probe.kind} probe"
    if run.restart_policy != "Never":
        message += ", will be restarted"
    run.tell("Normal", "Killing", message, one.field_path)
    grace = probe.spec.get(PROBE_KILL_GRACE_FIELD)
    one.kill_message, one.is_stopping = message, True
    if one.running is not None:
        one.running.stop(now, run.grace_seconds if grace is None else float(grace))
    return True
