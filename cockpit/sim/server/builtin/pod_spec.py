"""Defaults of a pod's spec and of pod templates (pkg/apis/core/v1/defaults.go)."""

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import each, filled

_MODE = 0o644
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def complete_spec(spec: Tree) -> Tree:
    """Everything a pod has whether it says so or not."""
    spec = _of_template(spec)
    for key in ("containers", "initContainers"):
        spec = each(spec, key, _requests_of_limits)
        if spec.get("hostNetwork"):
            spec = each(spec, key, _ports_of_the_host)
    return spec


def _of_template(spec: Tree) -> Tree:
    # What is limited and not requested is filled in for pods only (SetDefaults_Pod).
    spec = filled(
        spec,
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
    )
    if "serviceAccountName" in spec and "serviceAccount" not in spec:
        spec = {**spec, "serviceAccount": spec["serviceAccountName"]}
    spec = each(spec, "containers", _container)
    spec = each(spec, "initContainers", _container)
    return each(spec, "volumes", _volume)


def complete_template(template: Tree) -> Tree:
    """A pod template of a workload."""
    metadata = template.get("metadata") or {}
    return {
        **template,
        "metadata": metadata,
        "spec": _of_template(template.get("spec") or {}),
    }


def _container(container: Tree) -> Tree:
    container = filled(
        container,
        resources={},
        terminationMessagePath="/dev/termination-log",
        terminationMessagePolicy="File",
        imagePullPolicy=_pull_policy(container.get("image", "")),
    )
    container = each(container, "ports", lambda port: filled(port, protocol="TCP"))
    container = each(container, "env", _variable)
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(probe):
            done = filled(container[probe], **_PROBE)
            if "httpGet" in done:
                done = {**done, "httpGet": filled(done["httpGet"], path="/", scheme="HTTP")}
            if done is not container[probe]:
                container = {**container, probe: done}
    return container


def _pull_policy(image: str) -> str:
    last = image.rsplit("/", 1)[-1]
    if "@" in last:
        return "IfNotPresent"
    tag = last.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _requests_of_limits(container: Tree) -> Tree:
    """What is limited and not requested is requested as it is limited."""
    resources = container["resources"]
    limits = resources.get("limits")
    if not limits:
        return container
    requests = resources.get("requests") or {}
    if all(name in requests for name in limits):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def _ports_of_the_host(container: Tree) -> Tree:
    """On the network of its host a port of a container is one of the host (defaultHostNetworkPorts)."""

    def on_host(port: Tree) -> Tree:
        return port if port.get("hostPort") else {**port, "hostPort": port.get("containerPort")}

    return each(container, "ports", on_host)


def _variable(variable: Tree) -> Tree:
    source = variable.get("valueFrom") or {}
    field = source.get("fieldRef")
    if not field or "apiVersion" in field:
        return variable
    return {**variable, "valueFrom": {**source, "fieldRef": {"apiVersion": "v1", **field}}}


def _volume(volume: Tree) -> Tree:
    if not any(key != "name" and volume[key] is not None for key in volume):
        return {**volume, "emptyDir": {}}
    for source in ("secret", "configMap", "projected", "downwardAPI"):
        held = volume.get(source)
        if held is not None and "defaultMode" not in held:
            return {**volume, source: {**held, "defaultMode": _MODE}}
    held = volume.get("hostPath")
    if held is not None and "type" not in held:
        return {**volume, "hostPath": {**held, "type": ""}}
    return volume
