"""Paths, Accept headers, options and bodies: read as the real server reads them."""

import pytest
from multidict import MultiDict

from cockpit.sim.port import PortError
from cockpit.sim.server.http.accept import form_of
from cockpit.sim.server.http.proxy import parse
from cockpit.sim.server.http.query import delete_options
from cockpit.sim.server.http.target import target_of


def test_what_follows_a_proxy_stays_as_it_was_written() -> None:
    target = target_of("GET", "/api/v1/namespaces/a/services/http:prom:9090/proxy/api/v1/label/a%2Fb/", {})
    assert (target.name, target.subresource) == ("http:prom:9090", "proxy")
    assert target.rest == "api/v1/label/a%2Fb/"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("p", ("http", "p", "")),
        ("p:8080", ("http", "p", "8080")),
        ("https:p:metrics", ("https", "p", "metrics")),
    ],
)
def test_names_behind_a_proxy(text: str, parts: tuple[str, str, str]) -> None:
    assert parse(text, "pod") == parts


def test_a_name_with_too_many_parts_is_refused() -> None:
    with pytest.raises(PortError, match='invalid pod request "a:b:c:d"'):
        parse("a:b:c:d", "pod")


def test_aggregated_discovery_is_asked_for_by_its_whole_name() -> None:
    header = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    assert form_of(header, discovery=True).as_ == "APIGroupDiscoveryList"
    old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    assert form_of(old, discovery=True).as_ == ""


# ---- options


def test_a_delete_with_a_body_overlooks_its_query() -> None:
    query = MultiDict({"dryRun": "All", "gracePeriodSeconds": "5"})
    options, dry_run = delete_options(query, ["All"], {"kind": "DeleteOptions"})
    assert not dry_run
    assert options.grace_seconds is None
    options, dry_run = delete_options(query, ["All"], None)
    assert dry_run
    assert options.grace_seconds == 5


# ---- bodies
