"""What random sequences of writes are made of: for each kind a smallest object, and fragments of it.

A fragment is a part of an object that may be merged into a body, or sent alone as a patch. A few of them
are wrong on purpose. `NS` stands for the namespace of the sequence, `{Pod/p.uid}` for what was answered.
"""

from dataclasses import dataclass
from typing import Any

Tree = dict[str, Any]


@dataclass(frozen=True)
class Sort:
    """One kind as the sequences use it; `path` in the letters of `write_stories`."""

    path: str
    kind: str
    version: str
    names: tuple[str, ...]
    base: Tree
    fragments: tuple[Tree, ...]
    status: tuple[Tree, ...] = ()
    has_scale: bool = False
    selectors: tuple[str, ...] = ()
    is_custom: bool = False
    is_generated: bool = False
    """Now and then named by `generateName`; then never deleted as a collection, whose order is the names'."""


_MAIN = {"name": "main", "image": "registry.test/train:1"}


def _pod(**fields: Any) -> Tree:
    return {"spec": fields}


def _main(**fields: Any) -> Tree:
    return {"spec": {"containers": [{**_MAIN, **fields}]}}


def _template(**spec: Any) -> Tree:
    return {"spec": {"template": {"spec": spec}}}


META: tuple[Tree, ...] = (
    {"metadata": {"labels": {"app": "x"}}},
    {"metadata": {"labels": {"app": "y", "tier": "2"}}},
    {"metadata": {"labels": {"tier": "1"}}},
    {"metadata": {"annotations": {"note": "one"}}},
    {"metadata": {"annotations": {"note": "two", "more.test/x": ""}}},
    {"metadata": {"finalizers": ["random.test/hold"]}},
    {"metadata": {"finalizers": ["random.test/hold", "random.test/late"]}},
    {"metadata": {"finalizers": []}},
    {"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "c1", "uid": "{ConfigMap/c1.uid}"}]}},
    {"metadata": {"labels": {"a b": "c"}}},
    {"metadata": {"labels": {"a": "not a value"}}},
    {"metadata": {"finalizers": ["plain"]}},
    {"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}},
    {"metadata": {"namespace": "elsewhere"}},
    {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z", "generation": 9}},
)  # fmt: skip

UNKNOWN: tuple[Tree, ...] = (
    {"nonsense": 1},
    {"spec": {"nonsense": {"a": 1}}},
    {"metadata": {"nonsense": "x"}},
    {"metadata": {"labels": "x"}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"name": "another"}},
    {"metadata": {"name": ""}},
)

WRONG: tuple[Tree, ...] = (
    {"metadata": []},
    {"spec": []},
    {"spec": "x"},
    {"status": 7},
    {"spec": None},
    {"kind": "Strange"},
    {"apiVersion": "strange/v9"},
)

SORTS: tuple[Sort, ...] = (
    Sort(
        "C/pods", "Pod", "v1", ("p1", "p2", "p3"),
        {"spec": {"containers": [_MAIN]}},
        (
            _pod(nodeName="n1-NS"), _pod(nodeName="Not A Node"), _pod(nodeSelector={"gpu": "a100"}),
            _pod(tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]),
            _pod(tolerations=[{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute",
                                                       "tolerationSeconds": 30}]),
            _pod(tolerations=[{"key": "a", "operator": "Sometimes"}]),
            _pod(restartPolicy="Never"), _pod(restartPolicy="OnFailure"), _pod(restartPolicy="Odd"),
            _pod(terminationGracePeriodSeconds=5), _pod(terminationGracePeriodSeconds=0),
            _pod(terminationGracePeriodSeconds=-3), _pod(activeDeadlineSeconds=100),
            _pod(activeDeadlineSeconds=50), _pod(schedulingGates=[{"name": "random.test/gate"}]),
            _pod(schedulingGates=[]), _pod(priorityClassName="system-node-critical"),
            _pod(priorityClassName="none-such"), _pod(priority=5), _pod(preemptionPolicy="Never"),
            _pod(schedulerName="other"), _pod(hostname="h", subdomain="s"), _pod(dnsPolicy="None"),
            _pod(volumes=[{"name": "v", "emptyDir": {}}]), _pod(volumes=[{"name": "v"}, {"name": "v"}]),
            _pod(volumes=[{"name": "c", "configMap": {"name": "c1"}},
                          {"name": "k", "persistentVolumeClaim": {"claimName": "k"}}]),
            _pod(initContainers=[{"name": "first", "image": "i:2"}]),
            _pod(initContainers=[{"name": "side", "image": "i:2", "restartPolicy": "Always"}]),
            _pod(initContainers=[{"name": "main", "image": "i:2"}]),
            _pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "gpu", "operator": "In", "values": ["a", "b"]}]}]}}}),
            _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}]}}),
            _pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone",
                                             "whenUnsatisfiable": "DoNotSchedule",
                                             "labelSelector": {"matchLabels": {"app": "x"}}}]),
            _pod(containers=[]), _pod(containers=[_MAIN, _MAIN]),
            _pod(containers=[_MAIN, {"name": "aside", "image": "i"}]),
            _pod(containers=[{"name": "main", "image": "registry.test/train:2"}]),
            _pod(securityContext={"runAsUser": 1000, "fsGroup": 7}),
            _main(resources={"limits": {"nvidia.com/gpu": "2"}}),
            _main(resources={"limits": {"nvidia.com/gpu": "1.5"}}),
            _main(resources={"requests": {"nvidia.com/gpu": 1}}),
            _main(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
            _main(resources={"requests": {"cpu": "1500m", "memory": "1024Ki"}, "limits": {"cpu": "2"}}),
            _main(resources={"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}),
            _main(resources={"limits": {"cpu": "lots"}}),
            _main(env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.name"}}}]),
            _main(env=[{"name": "A", "value": "2"}]), _main(env=[{"name": "A", "value": 2}]),
            _main(ports=[{"containerPort": 80}]), _main(ports=[{"containerPort": 80, "hostPort": 90000}]),
            _main(ports=[{"containerPort": 80, "name": "web", "hostPort": 80, "protocol": "UDP"}]),
            _main(imagePullPolicy="Never"), _main(imagePullPolicy="Odd"), _main(image=""),
            _main(image="registry.test/train:3"), _main(command=["sleep", "9"], args=["x"]),
            _main(livenessProbe={"httpGet": {"port": 80}}), _main(livenessProbe={"periodSeconds": 3}),
            _main(readinessProbe={"exec": {"command": ["true"]}, "periodSeconds": 3}),
            _main(volumeMounts=[{"name": "v", "mountPath": "/v"}]), _main(lifecycle={"preStop": {
                "exec": {"command": ["x"]}}}),
            _main(securityContext={"privileged": True}), _main(restartPolicy="Always"),
        ),
        (
            {"phase": "Running"}, {"phase": "Succeeded"}, {"phase": "Failed", "reason": "Evicted"},
            {"phase": "Odd"}, {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}, {"hostIP": "10.0.0.1"},
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
            {"nominatedNodeName": "n2-NS"}, {"nominatedNodeName": ""}, {"message": "so it is"},
            {"containerStatuses": [{"name": "main", "image": "i", "imageID": "", "ready": True,
                                    "restartCount": 1, "state": {"running": {}}}]},
            {"startTime": "2026-01-01T00:00:00Z"}, {"qosClass": "Guaranteed"}, {"observedGeneration": 1},
        ),
        selectors=("status.phase=Pending", "spec.nodeName=n1-NS", "spec.nodeName!=n1-NS", "spec.image=x",
                   "metadata.name=p1,status.phase!=Running", "spec.restartPolicy=Always"),
    ),
    Sort(
        "C/configmaps", "ConfigMap", "v1", ("c1", "c2", "c3", "c4", "c5"), {},
        ({"data": {"a": "1"}}, {"data": {"a": "2", "b": "3"}}, {"data": {"b": ""}}, {"data": {"a b": ""}},
         {"data": {"a": 1}}, {"data": None}, {"binaryData": {"z": "AAEC"}}, {"binaryData": {"a": "AAEC"}},
         {"immutable": True}, {"immutable": False}),
        selectors=("metadata.name=c1", "metadata.name!=c1", "data.a=1", "metadata.namespace=NS"),
    ),
    Sort(
        "B/jobs", "Job", "batch/v1", ("j1", "j2"),
        {"metadata": {"labels": {"run": "1"}},
         "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [_MAIN]}}}},
        ({"spec": {"parallelism": 3}}, {"spec": {"parallelism": 0}}, {"spec": {"parallelism": -1}},
         {"spec": {"completions": 4}}, {"spec": {"completions": 2, "completionMode": "Indexed"}},
         {"spec": {"completionMode": "Indexed"}}, {"spec": {"suspend": True}}, {"spec": {"suspend": False}},
         {"spec": {"backoffLimit": 1}}, {"spec": {"backoffLimit": -1}}, {"spec": {"backoffLimit": "x"}},
         {"spec": {"ttlSecondsAfterFinished": 10}}, {"spec": {"activeDeadlineSeconds": 10}},
         {"spec": {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}},
         {"spec": {"podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {
             "operator": "In", "values": [1, 2]}}]}}},
         {"spec": {"podReplacementPolicy": "Failed"}}, {"spec": {"backoffLimitPerIndex": 1}},
         {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}, {"spec": {"managedBy": "no slash"}},
         _template(restartPolicy="OnFailure"), _template(restartPolicy="Always"), _template(containers=[]),
         _template(nodeSelector={"gpu": "a100"}), _template(tolerations=[{"operator": "Exists"}]),
         {"spec": {"template": {"metadata": {"labels": {"queue": "a"}}}}},
         {"spec": {"template": {"metadata": {"annotations": {"n": "b"}}}}},
         {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "main"}}}),
        ({"active": 1}, {"active": 2, "ready": 1}, {"succeeded": 1}, {"startTime": "2026-01-01T00:00:00Z"},
         {"active": "x"},
         {"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]}),
        selectors=("status.successful=0", "metadata.name=j1", "spec.suspend=true"),
    ),
    Sort(
        "A/deployments", "Deployment", "apps/v1", ("d1", "d2"),
        {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": {
            "metadata": {"labels": {"app": "x"}}, "spec": {"containers": [_MAIN]}}}},
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 0}}, {"spec": {"replicas": -2}},
         {"spec": {"paused": True}}, {"spec": {"minReadySeconds": 5}}, {"spec": {"minReadySeconds": -5}},
         {"spec": {"strategy": {"type": "Recreate"}}}, {"spec": {"strategy": {"type": "Odd"}}},
         {"spec": {"strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}}},
         {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}},
         {"spec": {"progressDeadlineSeconds": 1}}, {"spec": {"revisionHistoryLimit": 2}},
         {"spec": {"selector": {"matchLabels": {"app": "y"}}}}, {"spec": {"replicas": "many"}},
         {"spec": {"template": {"metadata": {"labels": {"app": "y"}}}}},
         {"spec": {"template": {"metadata": {"labels": {"app": "x", "v": "2"}}}}},
         _template(restartPolicy="Never"), _template(nodeName="n1-NS"),
         _template(containers=[{**_MAIN, "env": [{"name": "A", "value": "1"}]}]),
         _template(containers=[_MAIN, {"name": "aside", "image": "i"}])),
        ({"replicas": 2, "readyReplicas": 1, "availableReplicas": 1}, {"observedGeneration": 1},
         {"replicas": -1}, {"readyReplicas": 7}, {"conditions": [{"type": "Available", "status": "True"}]}),
        has_scale=True,
        selectors=("metadata.name=d1", "status.replicas=0"),
    ),
    Sort(
        "C/services", "Service", "v1", ("s1", "s2"), {"spec": {"ports": [{"port": 80}]}},
        ({"spec": {"selector": {"app": "x"}}}, {"spec": {"ports": [{"port": 443, "name": "web"}]}},
         {"spec": {"ports": [{"port": 80, "targetPort": "web"}]}}, {"spec": {"ports": []}},
         {"spec": {"ports": [{"port": 80}, {"port": 81}]}}, {"spec": {"ports": [{"port": 99999}]}},
         {"spec": {"sessionAffinity": "ClientIP"}},
         {"spec": {"publishNotReadyAddresses": True}}, {"spec": {"type": "Odd"}},
         ),
        ({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},),
        selectors=("metadata.name=s1", "spec.type=ClusterIP", "spec.clusterIP=None"),
    ),
    Sort(
        "P/poddisruptionbudgets", "PodDisruptionBudget", "policy/v1", ("b1", "b2"),
        {"spec": {"selector": {"matchLabels": {"app": "x"}}}},
        ({"spec": {"minAvailable": 1}}, {"spec": {"minAvailable": "50%"}}, {"spec": {"maxUnavailable": 0}},
         {"spec": {"maxUnavailable": "150%"}}, {"spec": {"minAvailable": -1}}, {"spec": {"selector": {}}},
         {"spec": {"selector": {"matchLabels": {"app": "y"}}}}, {"spec": {"minAvailable": "x"}},
         {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
         {"spec": {"unhealthyPodEvictionPolicy": "Odd"}}),
        ({"disruptionsAllowed": 1, "observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1,
          "expectedPods": 2},
         {"disruptionsAllowed": 0, "observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1,
          "expectedPods": 1},
         {"disruptionsAllowed": 2, "observedGeneration": 2, "currentHealthy": 3, "desiredHealthy": 1,
          "expectedPods": 3},
         {"disruptionsAllowed": -1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}),
    ),
    Sort(
        "/apis/coordination.k8s.io/v1/namespaces/NS/leases", "Lease", "coordination.k8s.io/v1", ("l1", "l2"),
        {},
        ({"spec": {"holderIdentity": "me"}}, {"spec": {"holderIdentity": "you", "leaseTransitions": 2}},
         {"spec": {"leaseDurationSeconds": 15}}, {"spec": {"leaseDurationSeconds": 0}},
         {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}, {"spec": {"renewTime": "late"}},
         {"spec": {"leaseTransitions": -1}}, {"spec": {"holderIdentity": ""}}),
        is_generated=True,
    ),
    Sort(
        "C/resourcequotas", "ResourceQuota", "v1", ("q1", "q2"), {},
        ({"spec": {"hard": {"pods": "2"}}}, {"spec": {"hard": {"requests.nvidia.com/gpu": "3"}}},
         {"spec": {"hard": {"count/configmaps": "4", "count/jobs.batch": "1"}}},
         {"spec": {"hard": {"requests.cpu": "2", "limits.memory": "2Gi"}}}, {"spec": {"hard": {"pods": "x"}}},
         {"spec": {"hard": {"pods": "-1"}}}, {"spec": {"hard": {"nonsense": "1"}}},
         {"spec": {"scopes": ["Odd"]}},
         {"spec": {"hard": {"services": "1", "services.nodeports": "0"}}}),
    ),
    Sort(
        "C/limitranges", "LimitRange", "v1", ("r1", "r2"), {"spec": {"limits": [{"type": "Pod"}]}},
        ({"spec": {"limits": [{"type": "Container", "default": {"cpu": "2", "memory": "1Gi"},
                               "defaultRequest": {"cpu": "500m"}}]}},
         {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1", "nvidia.com/gpu": "1"}}]}},
         {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}},
         {"spec": {"limits": [{"type": "Odd", "max": {"cpu": "1"}}]}},
         {"spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}]}}),
    ),
    Sort(
        "C/events", "Event", "v1", ("e1", "e2", "e3"),
        {"involvedObject": {"kind": "Pod", "name": "p1", "namespace": "NS"}},
        ({"reason": "Because"}, {"message": "it is"}, {"type": "Warning"}, {"type": "Odd"}, {"count": 3},
         {"source": {"component": "me", "host": "h"}}, {"firstTimestamp": "2026-01-01T00:00:00Z"},
         {"lastTimestamp": "2026-01-01T00:00:09Z"}, {"involvedObject": {"namespace": "elsewhere"}},
         {"involvedObject": {"uid": "{Pod/p1.uid}", "apiVersion": "v1"}},
         {"eventTime": "2026-01-01T00:00:00.000000Z"}, {"action": "Look"},
         {"reportingComponent": "me", "reportingInstance": "me-1"},
         {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}),
        selectors=("involvedObject.name=p1", "type=Warning", "reason!=Because", "involvedObject.kind=Node",
                   "source=me", "nonsense=1"),
    ),
    Sort(
        "/apis/events.k8s.io/v1/namespaces/NS/events", "Event", "events.k8s.io/v1", ("e8", "e9"),
        {"regarding": {"kind": "Pod", "name": "p1", "namespace": "NS"}, "reason": "Because", "action": "Look",
         "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "random.test/me",
         "reportingInstance": "me-1", "type": "Normal"},
        ({"note": "it is"}, {"type": "Odd"}, {"reason": "Another"},
         {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
         {"note": "it was"}, {"eventTime": None}, {"reportingController": ""},
         {"deprecatedCount": 2}),
    ),
    Sort(
        "/api/v1/nodes", "Node", "v1", ("n1-NS", "n2-NS"), {"metadata": {"labels": {"space": "NS"}}},
        ({"spec": {"unschedulable": True}}, {"spec": {"unschedulable": False}},
         {"spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule", "value": "x"}]}},
         {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}]}},
         {"spec": {"taints": [{"key": "a", "effect": "Odd"}]}}, {"spec": {"taints": []}},
         {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]}},
         {"spec": {"podCIDR": "10.9.0.0/24"}}, {"spec": {"providerID": "cloud://NS"}},
         {"spec": {"providerID": "cloud://other"}}, {"status": {"capacity": {"cpu": "8"}}},
         {"status": {"capacity": {"nvidia.com/gpu": "8"}, "allocatable": {"nvidia.com/gpu": "8"}}}),
        ({"capacity": {"nvidia.com/gpu": "8", "cpu": "64"}, "allocatable": {"nvidia.com/gpu": "8"}},
         {"capacity": {"cpu": "x"}}, {"conditions": [{"type": "Ready", "status": "True"}]},
         {"conditions": [{"type": "Ready", "status": "False"}, {"type": "DiskPressure", "status": "True"}]},
         {"addresses": [{"type": "InternalIP", "address": "10.0.0.7"}]}, {"capacity": {"memory": "1024Ki"}},
         {"nodeInfo": {"kubeletVersion": "v1.36.0"}}, {"phase": "Running"}),
        selectors=("metadata.name=n1-NS", "spec.unschedulable=true"),
    ),
    Sort(
        "/apis/random.test/v1/namespaces/NS/widgets", "Widget", "random.test/v1", ("w1", "w2"), {},
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": -2}},
         {"spec": {"size": "small"}}, {"spec": {"size": "odd"}}, {"spec": {"size": "large"}},
         {"spec": {"parts": [{"name": "a", "count": 1}, {"name": "b"}]}}, {"spec": {"cap": "1Gi"}},
         {"spec": {"parts": [{"name": "a", "count": 2}]}}, {"spec": {"parts": [{"count": 2}]}},
         {"spec": {"parts": [{"name": "a"}, {"name": "a"}]}}, {"spec": {"tags": ["x", "y"]}},
         {"spec": {"tags": ["x", "z"]}}, {"spec": {"free": {"a": {"b": 1}}}}, {"spec": {"cap": 5}}),
        ({"replicas": 1}, {"replicas": 3, "selector": "app=x"}, {"words": "fine"}),
        has_scale=True,
        is_custom=True,
        selectors=("spec.size=small", "spec.replicas=1", "metadata.name=w1"),
    ),
)  # fmt: skip

DEFINITION: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.random.test"},
    "spec": {
        "group": "random.test",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "selectableFields": [{"jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer", "minimum": 0, "default": 1},
                                    "size": {"type": "string", "enum": ["small", "large"]},
                                    "cap": {"x-kubernetes-int-or-string": True},
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "tags": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "set",
                                        "items": {"type": "string"},
                                    },
                                    "parts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {
                                                "name": {"type": "string"},
                                                "count": {"type": "integer"},
                                            },
                                        },
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "properties": {
                                    "replicas": {"type": "integer"},
                                    "selector": {"type": "string"},
                                    "words": {"type": "string"},
                                },
                            },
                        },
                    }
                },
            }
        ],
    },
}
"""The custom kind of the sequences: lists as sets and maps, defaults, status and scale."""
