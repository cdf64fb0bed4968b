"""Shapes read from pod templates: what the scheduler charges and minds, and trees that hold anything."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.fit.shape import Shape, Spread, requests_of, shape_of
from cockpit.k8s.selectors import selector_of
from cockpit.model.scheduling import HostPort, NodeTerm, PodTerm, Requirement, Toleration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def container(limits: dict[str, Any] | None = None, **requests: Any) -> dict[str, Any]:
    return {"resources": {"limits": limits or {}, "requests": requests}}


def test_containers_and_sidecars_add_up_and_the_largest_start_counts() -> None:
    spec = {
        "containers": [container({"nvidia.com/gpu": 2}, cpu="1500m"), container(cpu="1", memory="1Gi")],
        "initContainers": [
            {**container(cpu="500m"), "restartPolicy": "Always"},
            container(cpu="4", memory="512Mi"),
        ],
        "overhead": {"cpu": "100m"},
    }
    assert requests_of(spec) == (("cpu", 4_600), ("memory", 1 << 30), ("nvidia.com/gpu", 2))


def test_a_limit_stands_for_a_request_and_the_pod_overrides_its_containers() -> None:
    assert requests_of({"containers": [container({"cpu": 2, "memory": "1Gi"}, cpu="1")]}) == (
        ("cpu", 1_000),
        ("memory", 1 << 30),
    )
    whole = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "3"}}}
    assert requests_of(whole) == (("cpu", 3_000),)


def test_a_whole_template() -> None:
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {
            "nodeSelector": {"gpu": "h100"},
            "hostNetwork": True,
            "priorityClassName": "high",
            "preemptionPolicy": "Never",
            "tolerations": [{"key": "k", "operator": "Exists"}, {"key": "v", "value": "x"}],
            "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}, {"emptyDir": {}}],
            "containers": [{"ports": [{"containerPort": 22}, {"hostPort": 80, "hostIP": "10.0.0.1"}]}],
            "topologySpreadConstraints": [
                {
                    "topologyKey": "zone",
                    "maxSkew": 2,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {},
                    "matchLabelKeys": ["app", "none"],
                },
                {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            ],
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name"}]}]}
                },
                "podAntiAffinity": {
                    REQUIRED: [
                        {"topologyKey": "host", "labelSelector": {"matchLabels": {"b": "1", "a": "2"}}}
                    ]
                },
            },
        },
    }
    made = shape_of(template, "team", {"job": "llm"})
    assert made == Shape(
        namespace="team",
        labels=(("app", "a"), ("job", "llm")),
        node_selector=(("gpu", "h100"),),
        node_terms=(NodeTerm((), (Requirement("metadata.name", ""),)),),
        tolerations=(Toleration("k", "Exists"), Toleration("v", "Equal", "x")),
        spreads=(Spread("zone", 2, (Requirement("app", "In", ("a",)),)),),
        keeps_away=(
            PodTerm("host", (Requirement("a", "In", ("2",)), Requirement("b", "In", ("1",))), ("team",)),
        ),
        host_ports=(HostPort(22), HostPort(80, address="10.0.0.1")),
        claims=("data",),
        priority_class="high",
        preempts=False,
    )


def test_a_selector_that_is_not_there_selects_nothing_and_an_empty_one_everything() -> None:
    assert selector_of(None) is None
    assert selector_of({}) == ()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "spec",
                    "metadata",
                    "labels",
                    "containers",
                    "resources",
                    "limits",
                    "requests",
                    "nvidia.com/gpu",
                    "cpu",
                    "affinity",
                    "podAffinity",
                    "nodeAffinity",
                    REQUIRED,
                    "nodeSelectorTerms",
                    "tolerations",
                    "topologySpreadConstraints",
                    "labelSelector",
                    "matchLabels",
                    "matchLabelKeys",
                    "matchExpressions",
                    "ports",
                    "hostPort",
                    "volumes",
                    "persistentVolumeClaim",
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


def test_keys_that_are_no_words_are_passed_over() -> None:
    one = {"topologyKey": "zone", "labelSelector": {}, "matchLabelKeys": [{}, 3, None]}
    assert shape_of({"spec": {"topologySpreadConstraints": [one]}}).spreads == (Spread("zone", 1, ()),)


@settings(max_examples=400, deadline=None)
@given(ANYTHING)
def test_a_template_may_hold_anything(tree: object) -> None:
    template = tree if isinstance(tree, dict) else {"spec": tree}
    assert isinstance(shape_of(template), Shape)
    assert isinstance(shape_of({"spec": template, "metadata": template}), Shape)
