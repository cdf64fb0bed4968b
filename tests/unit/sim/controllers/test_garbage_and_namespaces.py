"""What goes with its owner, and how a namespace ends."""

from cockpit.kube.resource import JOBS, NAMESPACES, PODS
from cockpit.sim.actors.controllers.garbage import Garbage
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.actors.controllers.namespaces import NamespaceDefaults, NamespaceEnd
from cockpit.sim.port import Tree
from cockpit.sim.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from tests.unit.sim.controllers.stage import Stage, conditions, job

CERTIFICATE = "-----BEGIN CERTIFICATE-----\n"


def secret(name: str, *owners: Tree) -> Tree:
    references = [
        {
            "apiVersion": o["apiVersion"],
            "kind": o["kind"],
            "name": o["metadata"]["name"],
            "uid": o["metadata"]["uid"],
        }
        for o in owners
    ]
    return {"metadata": {"name": name, "namespace": "team-a", "ownerReferences": references}}


async def test_one_of_two_owners_is_enough_to_stay() -> None:
    stage = await Stage([Garbage()]).start()
    first, second = [
        await stage.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "team-a"}})
        for name in ("first", "second")
    ]
    await stage.create(SECRETS, secret("shared", first, second))
    await stage.port.delete(CONFIG_MAPS, "team-a", "first", propagation="Background")
    await stage.engine.advance(5)
    held = await stage.get(SECRETS, "shared")
    assert [owner["name"] for owner in held["metadata"]["ownerReferences"]] == ["second"]
    await stage.port.delete(CONFIG_MAPS, "team-a", "second", propagation="Background")
    await stage.engine.advance(5)
    assert await stage.names(SECRETS) == []


async def test_what_is_born_after_its_owners_end_goes_at_once() -> None:
    stage = await Stage([Garbage()]).start()
    owner = await stage.create(CONFIG_MAPS, {"metadata": {"name": "owner", "namespace": "team-a"}})
    await stage.port.delete(CONFIG_MAPS, "team-a", "owner", propagation="Background")
    await stage.create(CONFIG_MAPS, {"metadata": {"name": "owner", "namespace": "team-a"}})
    await stage.create(SECRETS, secret("late", owner))
    await stage.engine.advance(5)
    assert await stage.names(SECRETS) == []


async def test_every_namespace_has_its_account_and_the_root_certificate() -> None:
    stage = await Stage([NamespaceDefaults(CERTIFICATE)]).start()
    await stage.create(NAMESPACES, {"metadata": {"name": "team-b"}})
    await stage.engine.advance(1)
    for namespace in ("team-a", "team-b"):
        assert await stage.names(SERVICE_ACCOUNTS, namespace) == ["default"]
        held = await stage.get(CONFIG_MAPS, "kube-root-ca.crt", namespace)
        assert held["data"] == {"ca.crt": CERTIFICATE}
    await stage.port.delete(SERVICE_ACCOUNTS, "team-a", "default")
    await stage.patch(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "other"}})
    await stage.engine.advance(1)
    assert await stage.names(SERVICE_ACCOUNTS, "team-a") == ["default"]
    assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"] == {"ca.crt": CERTIFICATE}


async def test_a_namespace_ends_with_its_content() -> None:
    actors = [NamespaceEnd(), NamespaceDefaults(CERTIFICATE), Jobs(), Garbage()]
    stage = await Stage(actors).start()
    await stage.create(JOBS, job())
    await stage.engine.advance(5)
    stage.puppet.removes = False
    await stage.port.delete(NAMESPACES, "", "team-a")
    await stage.engine.advance(2)
    held = await stage.get(NAMESPACES, "team-a")
    assert held["status"]["phase"] == "Terminating"
    remaining = [c for c in conditions(held) if c.startswith("NamespaceContentRemaining")]
    assert remaining == [
        "NamespaceContentRemaining True SomeResourcesRemain | "
        "Some resources are remaining: pods. has 1 resource instances"
    ]
    for name in await stage.names(PODS, "team-a"):
        await stage.port.delete(PODS, "team-a", name, grace_seconds=0)
    await stage.engine.advance(10)
    assert await stage.find(NAMESPACES, "team-a") is None
    assert "default" in await stage.names(NAMESPACES)
