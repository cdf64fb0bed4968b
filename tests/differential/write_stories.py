"""Stories of requests to an API server without controllers; both servers are to answer and to tell the same.

A step is (method, path, body, options). In paths `C` is the core collection root of the story's namespace
(`/api/v1/namespaces/NS`), `B` batch/v1's, `A` apps/v1's, `P` policy/v1's; a path that begins with `/` is
taken as it is, with NS replaced. Options: `query`, `type` (content type of a patch), `save` (a name under
which the answer is kept: `{name.uid}`, `{name.version}` in later bodies and paths).

Not in here, and different: claims and volumes get no protecting finalizer (nobody would take it off), and
a second, equal apply of a Job writes nothing.
"""

from typing import Any

Tree = dict[str, Any]
Step = tuple[str, str, Any, Tree]

MERGE = {"type": "application/merge-patch+json"}
STRATEGIC = {"type": "application/strategic-merge-patch+json"}
JSON = {"type": "application/json-patch+json"}
APPLY = {"type": "application/apply-patch+yaml", "query": {"fieldManager": "applier"}}


def config(name: str = "c", **extra: Any) -> Tree:
    metadata = {"name": name, **extra.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **extra}


def pod(name: str = "p", spec: Tree | None = None, **metadata: Any) -> Tree:
    container = {"name": "main", "image": "registry.test/train:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container], **(spec or {})},
    }


def with_container(**fields: Any) -> Tree:
    return pod(spec={"containers": [{"name": "main", "image": "registry.test/train:1", **fields}]})


def job(name: str = "j", template: Tree | None = None, **spec: Any) -> Tree:
    container = {"name": "main", "image": "registry.test/train:1"}
    inner = {"restartPolicy": "Never", "containers": [container], **(template or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": inner}, **spec},
    }


def workload(kind: str, name: str = "d", pod_labels: Tree | None = None, **spec: Any) -> Tree:
    labels = {"app": "x"}
    container = {"name": "main", "image": "registry.test/serve"}
    template = {"metadata": {"labels": pod_labels or labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": template, **spec},
    }


def options(**fields: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def post(path: str, body: Any, **more: Any) -> Step:
    return ("POST", path, body, more)


def put(path: str, body: Any, **more: Any) -> Step:
    return ("PUT", path, body, more)


def patch(path: str, body: Any, how: Tree = MERGE, **more: Any) -> Step:
    return ("PATCH", path, body, {**how, **more})


def delete(path: str, body: Any = None, **more: Any) -> Step:
    return ("DELETE", path, body, more)


def get(path: str, **query: str) -> Step:
    return ("GET", path, None, {"query": query})


HELD: Tree = {"finalizers": ["stories.test/hold"]}
NODE_GONE: Tree = {"nodeName": "no-such-node"}

WIDGETS = "/apis/NS.stories.test/v1/namespaces/NS/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def widget(name: str = "w", **fields: Any) -> Tree:
    return {"apiVersion": "NS.stories.test/v1", "kind": "Widget", "metadata": {"name": name}, **fields}


def definition() -> Tree:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer", "minimum": 0, "default": 1},
                    "size": {"type": "string", "enum": ["small", "large"]},
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.NS.stories.test"},
        "spec": {
            "group": "NS.stories.test",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def until(path: str, status: int) -> Step:
    """Asks again until the answer has this status."""
    return ("GET", path, None, {"until": status})


STORIES: dict[str, list[Step]] = {
    "a name that is none": [
        post("C/configmaps", config("Not A Name")),
        post("C/configmaps", config("x" * 254)),
        post("C/configmaps", config("")),
        post("C/services", {"metadata": {"name": "1st"}, "spec": {"ports": [{"port": 80}]}}),
        post("/api/v1/namespaces", {"metadata": {"name": "a.b"}}),
        post("C/pods", pod("-p")),
        post("C/configmaps", {"metadata": {"generateName": "Upper-"}}),
    ],
    "labels and annotations that are none": [
        post("C/configmaps", config(metadata={"labels": {"a b": "c"}})),
        post("C/configmaps", config(metadata={"labels": {"a": "b c"}})),
        post("C/configmaps", config(metadata={"labels": {"a/b/c": "d"}})),
        post("C/configmaps", config(metadata={"labels": {"a": "x" * 64}})),
        post("C/configmaps", config(metadata={"annotations": {"a b": "c"}})),
        post("C/configmaps", config(metadata={"annotations": {"a": "x" * 270_000}})),
        post("C/configmaps", config(metadata={"finalizers": ["plain"]})),
        post("C/configmaps", config(metadata={"finalizers": ["a b/c"]})),
        post("C/configmaps", config(metadata={"ownerReferences": [{"apiVersion": "v1"}]})),
        post("C/configmaps", config(data={"a b": "c"})),
    ],
    "metadata that is the server's": [
        post("C/configmaps", config(metadata={"uid": "u", "generation": 7, "creationTimestamp": None})),
        post("C/configmaps", config("d", metadata={"resourceVersion": "7"})),
        post("C/configmaps", config("e", metadata={"namespace": "elsewhere"})),
        patch("C/configmaps/c", {"metadata": {"uid": "another"}}),
        patch("C/configmaps/c", {"metadata": {"name": "another"}}),
        patch("C/configmaps/c", {"metadata": {"namespace": "another"}}),
        patch("C/configmaps/c", {"metadata": {"generation": 9, "creationTimestamp": "2020-01-01T00:00:00Z"}}),
        patch("C/configmaps/c", {"metadata": {"resourceVersion": "1"}, "data": {"a": "b"}}),
        put("C/configmaps/c", config("d")),
        put("C/configmaps/c", config("c", metadata={"resourceVersion": "1"})),
        put("C/configmaps/c", config("c", metadata={"uid": "another"})),
        put("C/configmaps/c", config("c", data={"a": "1"})),
        put("C/configmaps/never", config("never")),
    ],
    "a second one": [
        post("C/configmaps", config()),
        post("C/configmaps", config(), query={"dryRun": "All"}),
        post("C/configmaps", config()),
        post("C/configmaps", config("d", data={"a": "1"}), query={"dryRun": "All"}),
        get("C/configmaps/d"),
    ],
    "nothing new": [
        post("C/configmaps", config(data={"a": "1"}), save="one"),
        patch("C/configmaps/c", {"data": {"a": "1"}}),
        put("C/configmaps/c", config(data={"a": "1"})),
        patch("C/configmaps/c", {"data": {"a": "2"}}, query={"dryRun": "All"}),
        get("C/configmaps/c"),
    ],
    "a finalizer holds": [
        post("C/configmaps", config(metadata=HELD), save="one"),
        delete("C/configmaps/c", query={"dryRun": "All"}),
        delete("C/configmaps/c"),
        delete("C/configmaps/c"),
        patch("C/configmaps/c", {"metadata": {"finalizers": ["stories.test/hold", "stories.test/late"]}}),
        patch("C/configmaps/c", {"metadata": {"deletionTimestamp": None}}),
        patch("C/configmaps/c", {"data": {"still": "written"}}),
        patch("C/configmaps/c", {"metadata": {"finalizers": None}}),
        get("C/configmaps/c"),
    ],
    "a job is held, and counts its end as a generation": [
        post("B/jobs", {**job(), "metadata": {"name": "j", **HELD}}),
        delete("B/jobs/j"),
        patch("B/jobs/j", {"metadata": {"finalizers": None}}),
        post("B/jobs", job("k")),
        delete("B/jobs/k", options(propagationPolicy="Background")),
    ],
    "policies": [
        post("C/configmaps", config()),
        delete("C/configmaps/c", options(propagationPolicy="Somehow")),
        delete("C/configmaps/c", options(propagationPolicy="Foreground")),
        delete("C/configmaps/c", options(propagationPolicy="Background")),
        post("C/configmaps", config("d")),
        delete("C/configmaps/d", options(propagationPolicy="Orphan")),
        delete("C/configmaps/d", options(propagationPolicy="Foreground")),
    ],
    "preconditions of a delete": [
        post("C/pods", pod(), save="one"),
        delete("C/pods/p", options(preconditions={"uid": "another"})),
        delete("C/pods/p", options(preconditions={"resourceVersion": "1"})),
        delete(
            "C/pods/p",
            options(preconditions={"uid": "{one.uid}", "resourceVersion": "{one.version}"}),
        ),
        delete("C/pods/p"),
    ],
    "grace": [
        post("C/pods", pod(spec=NODE_GONE)),
        delete("C/pods/p", options(gracePeriodSeconds=120)),
        delete("C/pods/p", options(gracePeriodSeconds=200)),
        delete("C/pods/p", options(gracePeriodSeconds=60)),
        delete("C/pods/p"),
        delete("C/pods/p", options(gracePeriodSeconds=0)),
        get("C/pods/p"),
    ],
    "no grace": [
        post("C/pods", pod(spec=NODE_GONE)),
        delete("C/pods/p", options(gracePeriodSeconds=0)),
        post("C/pods", pod("q", spec=NODE_GONE)),
        patch("C/pods/q/status", {"status": {"phase": "Succeeded"}}),
        delete("C/pods/q"),
        post("C/pods", pod("r", spec=NODE_GONE)),
        delete("C/pods/r", options(gracePeriodSeconds=-1)),
        delete("C/pods/r", options(gracePeriodSeconds=0)),
        post("C/pods", pod("s")),
        delete("C/pods/s", options(gracePeriodSeconds=30)),
    ],
    "a held pod": [
        post("C/pods", pod(spec=NODE_GONE, **HELD)),
        delete("C/pods/p", options(gracePeriodSeconds=10)),
        patch("C/pods/p", {"metadata": {"finalizers": None}}),
        delete("C/pods/p", options(gracePeriodSeconds=0)),
        post("C/pods", pod("q", **HELD)),
        delete("C/pods/q"),
        delete("C/pods/q"),
        patch("C/pods/q", {"metadata": {"finalizers": None}}),
    ],
    "a collection": [
        post("C/configmaps", config("a", metadata={"labels": {"team": "a"}})),
        post("C/configmaps", config("b", metadata={"labels": {"team": "b"}})),
        delete("C/configmaps", query={"labelSelector": "team=a", "dryRun": "All"}),
        delete("C/configmaps", query={"labelSelector": "team=a"}),
        get("C/configmaps"),
        delete("C/configmaps", query={"fieldSelector": "metadata.name=b"}),
        get("C/configmaps"),
    ],
    "a pod with everything left out": [
        post("C/pods", pod()),
        post(
            "C/pods",
            pod("q", spec={"containers": [{"name": "m", "image": "x", "ports": [{"containerPort": 1}]}]}),
        ),
        post("C/pods", pod("t", spec={"tolerations": [{"operator": "Exists"}]})),
        post("C/pods", pod("g", spec={"schedulingGates": [{"name": "stories.test/gate"}]})),
        patch("C/pods/g", {"spec": {"schedulingGates": None}}),
        post(
            "C/pods", pod("v", spec={"volumes": [{"name": "a"}, {"name": "b", "configMap": {"name": "c"}}]})
        ),
    ],
    "classes of service": [
        post("C/pods", with_container(resources={"limits": {"cpu": "1", "memory": "1Gi"}})),
        delete("C/pods/p"),
        post("C/pods", with_container(resources={"requests": {"cpu": "1"}})),
        delete("C/pods/p"),
        post("C/pods", with_container(resources={"limits": {"nvidia.com/gpu": "1"}})),
        delete("C/pods/p"),
        post(
            "C/pods",
            with_container(resources={"limits": {"cpu": "1000m", "memory": "1Gi"}, "requests": {"cpu": "1"}}),
        ),
    ],
    "pods that are none": [
        post("C/pods", pod(spec={"containers": []})),
        post("C/pods", pod(spec={"containers": [{"name": "m"}]})),
        post("C/pods", pod(spec={"containers": [{"image": "x"}]})),
        post("C/pods", pod(spec={"containers": [{"name": "M x", "image": "x"}]})),
        post("C/pods", pod(spec={"containers": [{"name": "m", "image": "x"}, {"name": "m", "image": "x"}]})),
        post("C/pods", pod(spec={"restartPolicy": "Sometimes"})),
        post("C/pods", pod(spec={"dnsPolicy": "Never"})),
        post("C/pods", pod(spec={"activeDeadlineSeconds": 0})),
        post("C/pods", pod(spec={"nodeName": "Not A Node"})),
        post("C/pods", pod(spec={"volumes": [{"name": "a"}, {"name": "a"}]})),
        post("C/pods", with_container(imagePullPolicy="Maybe")),
        post("C/pods", with_container(volumeMounts=[{"name": "none", "mountPath": "/x"}])),
        post("C/pods", with_container(ports=[{"containerPort": 70000}])),
        post("C/pods", with_container(resources={"requests": {"nvidia.com/gpu": "1"}})),
        post("C/pods", with_container(resources={"limits": {"nvidia.com/gpu": "500m"}})),
        post(
            "C/pods",
            with_container(
                resources={"limits": {"nvidia.com/gpu": "2"}, "requests": {"nvidia.com/gpu": "1"}}
            ),
        ),
        post("C/pods", with_container(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}})),
        post("C/pods", with_container(resources={"limits": {"cpu": "-1"}})),
        post("C/pods", with_container(resources={"limits": {"cpu": "much"}})),
    ],
    "what a pod may change": [
        post("C/pods", pod()),
        patch("C/pods/p", {"spec": {"nodeName": "n"}}),
        patch("C/pods/p", {"spec": {"restartPolicy": "Never"}}),
        patch("C/pods/p", {"spec": {"containers": [{"name": "main", "image": "x:2"}]}}, STRATEGIC),
        patch("C/pods/p", {"spec": {"activeDeadlineSeconds": 60}}),
        patch("C/pods/p", {"spec": {"tolerations": None}}),
        patch("C/pods/p", {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Running"}}),
        patch("C/pods/p/status", {"metadata": {"labels": {"c": "d"}}, "status": {"phase": "Running"}}),
        patch("C/pods/p/status", {"spec": {"nodeName": "n"}, "status": {"message": "hi"}}),
        get("C/pods/p"),
    ],
    "bindings": [
        post("C/pods", pod(), save="one"),
        post("C/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": ""}}),
        post(
            "C/pods/p/binding",
            {"metadata": {"name": "p", "uid": "another"}, "target": {"kind": "Node", "name": "n"}},
        ),
        post("C/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
        post("C/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "m"}}),
        get("C/pods/p"),
        post(
            "C/pods/never/binding", {"metadata": {"name": "never"}, "target": {"kind": "Node", "name": "m"}}
        ),
        post("C/pods", pod("g", spec={"schedulingGates": [{"name": "stories.test/gate"}]})),
        post("C/pods/g/binding", {"metadata": {"name": "g"}, "target": {"kind": "Node", "name": "n"}}),
    ],
    "evictions": [
        post("C/pods", pod(labels={"app": "x"})),
        post("C/pods/p/eviction", {"metadata": {"name": "p"}}, query={"dryRun": "All"}),
        post("C/pods/p/eviction", {"metadata": {"name": "p"}}),
        post("C/pods", pod("q", labels={"app": "x"})),
        patch(
            "C/pods/q/status",
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        ),
        post(
            "P/poddisruptionbudgets",
            {
                "metadata": {"name": "keep"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
            },
        ),
        post("C/pods/q/eviction", {"metadata": {"name": "q"}}),
        patch(
            "P/poddisruptionbudgets/keep/status",
            {
                "status": {
                    "observedGeneration": 1,
                    "disruptionsAllowed": 0,
                    "currentHealthy": 1,
                    "desiredHealthy": 1,
                    "expectedPods": 1,
                }
            },
        ),
        post("C/pods/q/eviction", {"metadata": {"name": "q"}}),
        patch("P/poddisruptionbudgets/keep/status", {"status": {"disruptionsAllowed": 1}}),
        post("C/pods/q/eviction", {"metadata": {"name": "q"}}),
        get("P/poddisruptionbudgets/keep"),
        post("C/pods/never/eviction", {"metadata": {"name": "never"}}),
    ],
    "jobs": [
        post("B/jobs", job()),
        post("B/jobs", job("k", completions=3, parallelism=2, completionMode="Indexed")),
        post("B/jobs", job("l", template={"restartPolicy": "Always"})),
        post("B/jobs", job("l", template={"restartPolicy": "Sometimes"})),
        post("B/jobs", job("l", template={"restartPolicy": None})),
        post("B/jobs", job("l", parallelism=-1)),
        post("B/jobs", job("l", completionMode="Indexed")),
        patch("B/jobs/j", {"spec": {"completionMode": "Indexed"}}),
        patch("B/jobs/j", {"spec": {"completions": 4}}),
        patch("B/jobs/j", {"spec": {"parallelism": 4}}),
        patch("B/jobs/j", {"spec": {"suspend": True}}),
        patch("B/jobs/k", {"spec": {"completions": 4, "parallelism": 4}}),
        patch("B/jobs/j/status", {"status": {"active": 1, "startTime": "2026-01-01T00:00:00Z"}}),
        get("B/jobs/j"),
        delete("B/jobs/j"),
        get("B/jobs/j"),
    ],
    "a suspended job's template": [
        post("B/jobs", job(suspend=True)),
        patch("B/jobs/j", {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}),
        patch("B/jobs/j", {"spec": {"template": {"metadata": {"labels": {"queue": "b"}}}}}),
        patch("B/jobs/j", {"spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}),
        patch("B/jobs/j", {"spec": {"suspend": False}}),
    ],
    "deployments": [
        post("A/deployments", workload("Deployment")),
        post("A/deployments", workload("Deployment", "e", pod_labels={"app": "y"})),
        post("A/deployments", workload("Deployment", "e", replicas=-1)),
        post("A/deployments", workload("Deployment", "e", selector=None)),
        post("A/deployments", workload("Deployment", "e", selector={})),
        get("A/deployments/d/scale"),
        patch("A/deployments/d/scale", {"spec": {"replicas": 3}}),
        patch("A/deployments/d/scale", {"spec": {"replicas": -3}}),
        patch("A/deployments/d/scale", {"spec": {"replicas": 4}, "metadata": {"resourceVersion": "1"}}),
        patch("A/deployments/d", {"spec": {"selector": {"matchLabels": {"app": "y"}}}}),
        patch("A/deployments/d", {"metadata": {"annotations": {"a": "b"}}}),
        patch("A/deployments/d/status", {"status": {"replicas": 3}}),
        patch("A/deployments/d", {"spec": {"template": {"spec": {"restartPolicy": "Never"}}}}),
        delete("A/deployments/d"),
    ],
    "other workloads": [
        post("A/replicasets", workload("ReplicaSet", "r")),
        get("A/replicasets/r/scale"),
        patch("A/replicasets/r", {"spec": {"replicas": 3}}),
        post("A/daemonsets", workload("DaemonSet", "s")),
        patch("A/daemonsets/s", {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}),
        patch("A/daemonsets/s", {"metadata": {"labels": {"a": "b"}}}),
        get("A/daemonsets/s/scale"),
        delete("A/daemonsets/s"),
    ],
    "nodes": [
        post("/api/v1/nodes", {"metadata": {"name": "n-NS"}, "status": {"capacity": {"cpu": "4"}}}),
        patch("/api/v1/nodes/n-NS", {"spec": {"unschedulable": True}}),
        patch("/api/v1/nodes/n-NS", {"spec": {"taints": None}}),
        patch("/api/v1/nodes/n-NS", {"status": {"capacity": {"cpu": "8"}}}),
        patch("/api/v1/nodes/n-NS/status", {"status": {"capacity": {"cpu": "8"}}}),
        delete("/api/v1/nodes/n-NS"),
    ],
    "namespaces": [
        post("/api/v1/namespaces", {"metadata": {"name": "NS-x", "labels": {"a": "b"}}}),
        patch("/api/v1/namespaces/NS-x", {"metadata": {"labels": None}}),
        patch("/api/v1/namespaces/NS-x", {"spec": {"finalizers": []}}),
        delete("/api/v1/namespaces/NS-x"),
        delete("/api/v1/namespaces/NS-x"),
        post("/api/v1/namespaces/NS-x/configmaps", config()),
        post("/api/v1/namespaces/NS-x/configmaps", {"metadata": {"generateName": "x-"}}),
        post("/api/v1/namespaces/NS-never/configmaps", config()),
        get("/api/v1/namespaces/NS-x"),
        delete("/api/v1/namespaces/default"),
    ],
    "services": [
        post(
            "C/services", {"metadata": {"name": "s"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}
        ),
        post(
            "C/services", {"metadata": {"name": "t"}, "spec": {"type": "ExternalName", "externalName": "a.b"}}
        ),
        delete("C/services/s"),
    ],
    "secrets and config maps": [
        post("C/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}}),
        post("C/secrets", {"metadata": {"name": "t"}, "data": {"a": "not base64"}}),
        patch("C/secrets/s", {"type": "another"}),
        patch("C/secrets/s", {"immutable": True}),
        patch("C/secrets/s", {"stringData": {"a": "c"}}),
        patch("C/secrets/s", {"immutable": False}),
        post("C/configmaps", config(data={"a": "b"}, immutable=True)),
        patch("C/configmaps/c", {"data": {"a": "c"}}),
        patch("C/configmaps/c", {"metadata": {"labels": {"a": "c"}}}),
    ],
    "priorities": [
        post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "p-NS"}, "value": 7}),
        patch("/apis/scheduling.k8s.io/v1/priorityclasses/p-NS", {"value": 8}),
        patch("/apis/scheduling.k8s.io/v1/priorityclasses/p-NS", {"description": "x"}),
        post(
            "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "q-NS"}, "value": 2000000000}
        ),
        post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "system-NS"}, "value": 7}),
        delete("/apis/scheduling.k8s.io/v1/priorityclasses/p-NS"),
    ],
    "events of two groups": [
        post(
            "C/events",
            {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "NS"},
                "reason": "Because",
                "message": "it is",
                "type": "Normal",
                "count": 2,
            },
        ),
        get("/apis/events.k8s.io/v1/namespaces/NS/events/e"),
        post(
            "C/events",
            {"metadata": {"name": "f"}, "involvedObject": {"kind": "Pod", "namespace": "elsewhere"}},
        ),
        post(
            "/apis/events.k8s.io/v1/namespaces/NS/events",
            {
                "metadata": {"name": "n"},
                "regarding": {"kind": "Pod", "name": "p", "namespace": "NS"},
                "reason": "Because",
                "note": "it is",
                "type": "Normal",
                "eventTime": "2026-01-01T00:00:00.000000Z",
                "action": "Look",
                "reportingController": "stories.test/me",
                "reportingInstance": "me-1",
            },
        ),
        get("C/events/n"),
        post(
            "/apis/events.k8s.io/v1/namespaces/NS/events",
            {"metadata": {"name": "o"}, "regarding": {"kind": "Pod", "namespace": "NS"}},
        ),
        patch("/apis/events.k8s.io/v1/namespaces/NS/events/n", {"note": "it was"}),
        get("C/events", fieldSelector="involvedObject.kind=Pod,reason=Because"),
    ],
    "leases and budgets": [
        post(
            "/apis/coordination.k8s.io/v1/namespaces/NS/leases",
            {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}},
            save="one",
        ),
        put(
            "/apis/coordination.k8s.io/v1/namespaces/NS/leases/l",
            {"metadata": {"name": "l"}, "spec": {"holderIdentity": "you"}},
        ),
        put(
            "/apis/coordination.k8s.io/v1/namespaces/NS/leases/l",
            {
                "metadata": {"name": "l", "resourceVersion": "{one.version}"},
                "spec": {"holderIdentity": "you"},
            },
        ),
        put(
            "/apis/coordination.k8s.io/v1/namespaces/NS/leases/m",
            {"metadata": {"name": "m"}, "spec": {"holderIdentity": "you"}},
        ),
        post(
            "P/poddisruptionbudgets",
            {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "maxUnavailable": 1}},
        ),
        post("P/poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": {"minAvailable": "many"}}),
        post("P/poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": {"minAvailable": -1}}),
        post("P/poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": {"maxUnavailable": "30%"}}),
    ],
    "selectors": [
        get("C/pods", fieldSelector="status.podIP=1.2.3.4,spec.nodeName!=x"),
        get("C/pods", fieldSelector="spec.nonsense=x"),
        get("C/configmaps", fieldSelector="data.a=x"),
        get("B/jobs", fieldSelector="spec.x=y"),
        get("/api/v1/nodes", fieldSelector="spec.unschedulable=true"),
        get("/api/v1/nodes", fieldSelector="spec.x=true"),
        get("C/pods", fieldSelector="x"),
        get("C/pods", labelSelector="a in b"),
        get("C/pods", labelSelector="a in (b"),
        get("C/pods", labelSelector="a=b=c"),
        get("C/pods", labelSelector="a b"),
        get("C/pods", labelSelector=",a"),
        get("C/pods", labelSelector="a=b c"),
        get("C/pods", labelSelector="-a=b"),
        get("C/pods", labelSelector="a>x"),
        get("C/pods", labelSelector="a>1,b<2,!c,d,e notin (f,g),h!=i"),
        get("C/secrets", fieldSelector="type=Opaque"),
        get("A/replicasets", fieldSelector="status.replicas=0"),
        get("A/deployments", fieldSelector="status.replicas=0"),
    ],
    "versions of lists": [
        get("C/configmaps", resourceVersion="abc"),
        get("C/configmaps", resourceVersionMatch="Exact"),
        get("C/configmaps", resourceVersionMatch="Exact", resourceVersion="0"),
        get("C/configmaps", resourceVersionMatch="Maybe", resourceVersion="1"),
        get("C/configmaps", limit="-1"),
        get("C/configmaps", watch="1", sendInitialEvents="true"),
        get("C/configmaps", watch="1", resourceVersionMatch="NotOlderThan"),
    ],
    "quotas, limits, accounts": [
        post("C/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "4"}}}),
        post(
            "C/limitranges",
            {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]}},
        ),
        post("C/serviceaccounts", {"metadata": {"name": "a"}}),
        delete("C/serviceaccounts/a"),
    ],
    "custom kinds": [
        post(DEFINITIONS, definition()),
        until(WIDGETS, 200),
        post(WIDGETS, widget(spec={"size": "small", "colour": "red"})),
        post(WIDGETS, widget("x", spec={"size": "odd", "replicas": -1})),
        post(WIDGETS, widget("Not A Name")),
        patch(f"{WIDGETS}/w", {"spec": {"replicas": 2}, "status": {"replicas": 7}}),
        patch(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}}),
        patch(f"{WIDGETS}/w/status", {"spec": {"replicas": 9}, "status": {"replicas": 1}}),
        patch(f"{WIDGETS}/w/status", {"metadata": {"labels": {"c": "d"}}, "status": {"replicas": 2}}),
        get(f"{WIDGETS}/w/scale"),
        patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": 3}}),
        patch(f"{WIDGETS}/w/scale", {"spec": {"replicas": -3}}),
        patch(f"{WIDGETS}/w", {"spec": {"replicas": 4}}, STRATEGIC),
        patch(f"{WIDGETS}/w", {"metadata": {"uid": "another"}}),
        put(f"{WIDGETS}/w", widget(spec={"size": "large"})),
        put(f"{WIDGETS}/never", widget("never")),
        get(WIDGETS, fieldSelector="spec.size=large"),
        patch(f"{WIDGETS}/w", {"metadata": HELD}),
        delete(f"{WIDGETS}/w"),
        patch(f"{WIDGETS}/w", {"metadata": {"finalizers": None}}),
        post(WIDGETS, widget("y")),
        delete(f"{DEFINITIONS}/widgets.NS.stories.test"),
        until(WIDGETS, 404),
    ],
    "applies": [
        patch("C/configmaps/c", config(data={"a": "1"}), APPLY),
        patch("C/configmaps/c", config(data={"a": "1"}), APPLY),
        patch("C/configmaps/c", config("d"), APPLY),
        patch("C/configmaps/c", config(metadata={"uid": "another"}, data={"a": "2"}), APPLY),
        patch("C/configmaps/e", config("e", metadata={"uid": "another"}), APPLY),
        patch("C/pods/p/status", pod(), APPLY),
        patch("B/jobs/j", job(), APPLY),
    ],
}

WATCHED = ("C/configmaps", "C/pods", "B/jobs", "A/deployments", "A/replicasets", "A/daemonsets", "C/services")
"""Collections whose whole history both servers are to tell alike."""
