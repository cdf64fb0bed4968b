"""Sequences of writes to one object: the same ones for the real server and for the functions of the sim.

A step is (kind of patch, body, options). Options: `manager`, `force`, `sub` (subresource), `fails` is never
said: whether a step is refused, and how, is what is compared.
"""

from typing import Any

Tree = dict[str, Any]


Step = tuple[str, Any, Tree]


M, J, S, A = "merge", "json", "strategic", "apply"


def config(**extra: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", **extra}


def deployment(spec: Tree | None = None, pod: Tree | None = None, **metadata: Any) -> Tree:
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "main", "image": "train:1"}], **(pod or {})},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template, **(spec or {})},
    }


def applied(spec: Tree | None = None, **metadata: Any) -> Tree:
    """A Deployment that names only what is given."""
    tree: Tree = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    if spec is not None:
        tree["spec"] = spec
    return tree


def containers(*items: Tree) -> Tree:
    return {"spec": {"template": {"spec": {"containers": list(items)}}}}


def pod_spec(**spec: Any) -> Tree:
    return {"spec": {"template": {"spec": spec}}}


LAST_APPLIED = (
    '{"apiVersion":"v1","data":{"a":"1","b":"2"},"kind":"ConfigMap",'
    '"metadata":{"annotations":{},"name":"NAME","namespace":"NAMESPACE"}}\n'
)


CONFIG_START = config(data={"a": "1", "b": "2"}, metadata={"labels": {"x": "1"}, "annotations": {"n": "1"}})


CONFIG_STEPS: list[Step] = [
    (M, {"data": {"a": "9"}}, {}),
    (M, {"data": {"a": None}}, {}),
    (M, {"data": None}, {}),
    (M, {"data": {"c": "3"}, "metadata": {"labels": {"y": "2"}}}, {}),
    (M, {"metadata": {"labels": None}}, {}),
    (M, {"metadata": {"labels": {}}}, {}),
    (M, {"metadata": {"finalizers": ["a.b/c"]}}, {}),
    (M, {"metadata": {"finalizers": []}}, {}),
    (M, {"metadata": {"annotations": {"n": "1"}}}, {}),
    (M, {"data": {"a": 1}}, {}),
    (M, {"data": {"a": True}}, {}),
    (M, {"data": ["a"]}, {}),
    (M, {"colour": "red"}, {}),
    (M, {"colour": "red"}, {"validation": "Ignore"}),
    (M, {"colour": None}, {}),
    (M, {"data": {"d": None}}, {}),
    (M, {"immutable": False}, {}),
    (M, {"immutable": True}, {}),
    (M, {"binaryData": {"z": "AAEC"}}, {}),
    (J, [{"op": "add", "path": "/data/c", "value": "3"}], {}),
    (J, [{"op": "add", "path": "/data/c~1d", "value": "3"}], {}),
    (J, [{"op": "replace", "path": "/data/a", "value": "3"}], {}),
    (J, [{"op": "replace", "path": "/data/none", "value": "3"}], {}),
    (J, [{"op": "remove", "path": "/data/a"}], {}),
    (J, [{"op": "remove", "path": "/data/none"}], {}),
    (J, [{"op": "remove", "path": "/none/none"}], {}),
    (J, [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}], {}),
    (J, [{"op": "test", "path": "/data/a", "value": "2"}, {"op": "remove", "path": "/data/a"}], {}),
    (J, [{"op": "test", "path": "/data/none", "value": None}], {}),
    (J, [{"op": "move", "from": "/data/a", "path": "/data/z"}], {}),
    (J, [{"op": "copy", "from": "/data/a", "path": "/data/z"}], {}),
    (J, [{"op": "copy", "from": "/data/none", "path": "/data/z"}], {}),
    (J, [{"op": "move", "from": "/data/none", "path": "/data/z"}], {}),
    (J, [{"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]}], {}),
    (J, [{"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/c"}], {}),
    (J, [{"op": "add", "path": "/data", "value": {"only": "1"}}], {}),
    (J, [{"op": "replace", "path": "/data", "value": {}}], {}),
    (J, [{"op": "shake", "path": "/data"}], {}),
    (J, [{"op": "add", "path": "", "value": {}}], {}),
    (J, [], {}),
    (J, [{"op": "add", "path": "/data/a", "value": 5}], {}),
    (J, [{"op": "add", "path": "/colour", "value": "red"}], {}),
    (S, {"data": {"a": "9"}}, {}),
    (S, {"data": {"a": None}}, {}),
    (S, {"data": {"$patch": "replace", "z": "1"}}, {}),
    (S, {"data": {"$patch": "delete"}}, {}),
    (S, {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}, {}),
    (S, {"data": {"$patch": "shake"}}, {}),
    (S, {"data": {"$retainKeys": ["a"], "a": "5"}}, {}),
    (S, {"data": {"$retainKeys": ["b"], "a": "5"}}, {}),
    (S, {"metadata": {"labels": {"y": "1", "x": None}}}, {}),
    (S, {"data": {"a": 7}}, {}),
    (S, {"colour": "red"}, {}),
    (A, config(data={"a": "1"}), {"manager": "one"}),
    (A, config(data={"a": "2"}), {"manager": "one"}),
    (A, config(data={"a": "2"}), {"manager": "one", "force": True}),
    (A, config(data={"c": "3"}, metadata={"labels": {"y": "1"}}), {"manager": "one"}),
    (A, config(data={}), {"manager": "one"}),
    (A, config(), {"manager": "one"}),
    (A, config(data={"a": "1", "b": "9", "c": "3"}, metadata={"labels": {"x": "2"}}), {"manager": "one"}),
    (A, config(colour="red"), {"manager": "one"}),
    (A, config(data={"a": 1}), {"manager": "one"}),
    (A, config(data=["a"]), {"manager": "one"}),
    (A, config(metadata={"managedFields": []}), {"manager": "one"}),
    (A, config(metadata={"finalizers": ["a.b/c"]}), {"manager": "one"}),
    (A, config(metadata={"finalizers": ["a.b/c", "a.b/c"]}), {"manager": "one"}),
]
"""Each is sent to an object made anew like `CONFIG_START`."""


DEPLOYMENT_START = deployment(
    {"replicas": 2},
    {
        "containers": [
            {
                "name": "main",
                "image": "train:1",
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
                "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "1500m"}},
            },
            {"name": "side", "image": "log:1"},
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "c"}}],
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "nodeSelector": {"pool": "gpu"},
    },
)


DEPLOYMENT_STEPS: list[Step] = [
    (M, {"spec": {"replicas": 5}}, {}),
    (M, {"spec": {"replicas": 0}}, {}),
    (M, {"spec": {"replicas": "many"}}, {}),
    (M, {"spec": {"replicas": 1.5}}, {}),
    (M, {"spec": {"replicas": None}}, {}),
    (M, {"spec": {"paused": True}}, {}),
    (M, {"spec": {"paused": False}}, {}),
    (M, pod_spec(tolerations=None), {}),
    (M, pod_spec(nodeSelector={"zone": "a"}), {}),
    (M, pod_spec(nodeSelector={"zone": 1}), {}),
    (M, pod_spec(hostNetwork=False), {}),
    (M, containers({"name": "new", "image": "i:1"}), {}),
    (M, pod_spec(containers="x"), {}),
    (M, pod_spec(containerz=[]), {}),
    (
        M,
        {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "t"}}}}},
        {},
    ),
    (J, [{"op": "replace", "path": "/spec/replicas", "value": 4}], {}),
    (J, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "train:2"}], {}),
    (J, [{"op": "remove", "path": "/spec/template/spec/containers/1"}], {}),
    (J, [{"op": "remove", "path": "/spec/template/spec/containers/-1"}], {}),
    (J, [{"op": "remove", "path": "/spec/template/spec/containers/7"}], {}),
    (
        J,
        [{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "n", "image": "i:1"}}],
        {},
    ),
    (J, [{"op": "add", "path": "/spec/template/spec/volumes/-", "value": {"name": "v", "emptyDir": {}}}], {}),
    (S, containers({"name": "main", "image": "train:2"}), {}),
    (S, containers({"name": "new", "image": "i:1"}), {}),
    (S, containers({"name": "side", "$patch": "delete"}), {}),
    (S, containers({"$patch": "replace"}, {"name": "only", "image": "i:1"}), {}),
    (S, containers({"image": "i:1"}), {}),
    (S, containers({"name": "main", "$patch": "shake"}), {}),
    (S, containers({"name": "main", "env": [{"name": "B", "value": "9"}, {"name": "C", "value": "3"}]}), {}),
    (S, containers({"name": "main", "env": [{"name": "A", "$patch": "delete"}]}), {}),
    (S, containers({"name": "main", "ports": [{"containerPort": 90}]}), {}),
    (S, containers({"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}), {}),
    (S, containers({"name": "main", "resources": {"limits": {"nvidia.com/gpu": None}}}), {}),
    (S, containers({"name": "main", "resources": None}), {}),
    (S, containers({"name": "main", "command": ["a", "b"]}), {}),
    (S, pod_spec(tolerations=[{"key": "other", "operator": "Exists"}]), {}),
    (S, pod_spec(nodeSelector={"pool": None, "zone": "b"}), {}),
    (
        S,
        pod_spec(
            volumes=[{"name": "scratch", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]
        ),
        {},
    ),
    (S, pod_spec(volumes=[{"name": "scratch", "emptyDir": {"medium": "Memory"}}]), {}),
    (S, pod_spec(**{"volumes": [{"name": "scratch", "$patch": "delete"}]}), {}),
    (
        S,
        pod_spec(
            **{
                "$setElementOrder/containers": [{"name": "side"}, {"name": "main"}],
                "containers": [{"name": "main", "image": "train:3"}],
            }
        ),
        {},
    ),
    (
        S,
        pod_spec(
            **{
                "$setElementOrder/containers": [{"name": "new"}, {"name": "main"}],
                "containers": [{"name": "new", "image": "i:1"}],
            }
        ),
        {},
    ),
    (S, pod_spec(**{"$setElementOrder/containers": [{"name": "side"}], "containers": [{"name": "x"}]}), {}),
    (S, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}, {}),
    (S, {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}, {}),
    (S, {"spec": {"replicas": "many"}}, {}),
    (S, {"spec": {"replicaz": 3}}, {}),
    (S, {"spec": {"template": {"spec": {"containers": {"name": "x"}}}}}, {}),
    (S, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"], "finalizers": ["c.d/e"]}}, {}),
    (A, applied({"replicas": 2}), {"manager": "one"}),
    (A, applied({"replicas": 3}), {"manager": "one"}),
    (A, applied({"replicas": 3}), {"manager": "one", "force": True}),
    (A, applied({"replicas": "many"}), {"manager": "one"}),
    (A, applied({"replicaz": 3}), {"manager": "one"}),
    (A, applied(containers({"name": "new", "image": "i:1"})["spec"]), {"manager": "one"}),
    (A, applied(containers({"image": "i:1"})["spec"]), {"manager": "one"}),
    (
        A,
        applied(containers({"name": "n", "image": "a"}, {"name": "n", "image": "b"})["spec"]),
        {"manager": "one"},
    ),
    (A, applied(containers({"name": "main", "image": "other:1"})["spec"]), {"manager": "one", "force": True}),
    (
        A,
        applied({"replicas": 7, **containers({"name": "main", "image": "other:1"})["spec"]}),
        {"manager": "one"},
    ),
    (A, applied(containers({"name": "main", "ports": [{"containerPort": 80}]})["spec"]), {"manager": "one"}),
    (A, applied(containers({"name": "main", "ports": [{"hostPort": 80}]})["spec"]), {"manager": "one"}),
    (A, applied(pod_spec(tolerations=[{"key": "x", "operator": "Exists"}])["spec"]), {"manager": "one"}),
    (A, applied(pod_spec(nodeSelector={"pool": "cpu"})["spec"]), {"manager": "one", "force": True}),
    (A, applied({"strategy": {"type": "Recreate"}}), {"manager": "one"}),
    (
        A,
        applied(containers({"name": "main", "resources": {"limits": {"cpu": "1.5"}}})["spec"]),
        {"manager": "one"},
    ),
    (A, {**applied({"replicas": 2}), "kind": "ReplicaSet"}, {"manager": "one"}),
    (A, {**applied({"replicas": 2}), "apiVersion": "v1"}, {"manager": "one"}),
]
