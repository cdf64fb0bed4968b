"""What may stand in config maps, secrets and mounts: encodings, sizes and paths."""

import base64
from typing import Any

import pytest

from tests.bed.api import Api
from tests.contract.asking import in_space, maps_in, pods_in
from tests.contract.shapes import pod

MOST_BYTES = 1024 * 1024
WRAPPED = base64.encodebytes(bytes(range(256))).decode()


def _secret(data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": data}


def test_base64_may_be_wrapped(space: str, admin: Api) -> None:
    assert WRAPPED.count("\n") > 2
    made = admin.create(in_space(space, "secrets"), _secret({"a": WRAPPED, "b": "YQ==\r\n"}))
    assert made["data"] == {"a": base64.b64encode(bytes(range(256))).decode(), "b": "YQ=="}
    tree = {"metadata": {"name": "m"}, "binaryData": {"a": WRAPPED}}
    made = admin.create(maps_in(space), tree)
    assert base64.b64decode(made["binaryData"]["a"]) == bytes(range(256))
    assert "\n" not in made["binaryData"]["a"]


@pytest.mark.parametrize("text", ["YQ", "Y", "YQ==YQ==", "Y Q==", "YQ=\n", "%%%%"])
def test_what_is_not_base64_is_refused(space: str, admin: Api, text: str) -> None:
    reply = admin.request("POST", in_space(space, "secrets"), _secret({"a": text}))
    assert (reply.status, reply.json()["reason"]) == (400, "BadRequest")
    assert "illegal base64 data at input byte" in reply.json()["message"]


@pytest.mark.parametrize("part", ["data", "binaryData"])
def test_a_config_map_of_a_mebibyte_is_the_largest(space: str, admin: Api, part: str) -> None:
    def value(size: int) -> str:
        return "a" * size if part == "data" else base64.b64encode(b"a" * size).decode()

    full = {"metadata": {"name": "m"}, part: {"a": value(MOST_BYTES // 2), "b": value(MOST_BYTES // 2)}}
    admin.create(maps_in(space), full)
    patch = {"data": {"c": "x"}}
    for reply in (
        admin.request("POST", maps_in(space), full | {"metadata": {"name": "n"}, **patch})
        if part == "binaryData"
        else admin.request(
            "POST", maps_in(space), {"metadata": {"name": "n"}, "data": full["data"] | {"c": "x"}}
        ),
        admin.request(
            "PATCH",
            in_space(space, "configmaps", "m"),
            patch,
            content_type="application/merge-patch+json",
        ),
    ):
        assert (reply.status, reply.json()["reason"]) == (422, "Invalid")
        (cause,) = reply.json()["details"]["causes"]
        assert (cause["reason"], cause["message"]) == (
            "FieldValueTooLong",
            f"Too long: may not be more than {MOST_BYTES} bytes",
        )


def test_a_secret_of_a_mebibyte_is_the_largest(space: str, admin: Api) -> None:
    value = base64.b64encode(b"a" * (MOST_BYTES + 1)).decode()
    reply = admin.request("POST", in_space(space, "secrets"), _secret({"a": value}))
    assert reply.status == 422
    (cause,) = reply.json()["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueTooLong", "data")


@pytest.mark.parametrize(
    ("field", "path", "why"),
    [
        ("subPath", "../etc", "must not contain '..'"),
        ("subPath", "a/../../etc", "must not contain '..'"),
        ("subPath", "/etc", "must be a relative path"),
        ("subPathExpr", "$(A)/../b", "must not contain '..'"),
    ],
)
def test_a_mount_stays_inside_its_volume(space: str, admin: Api, field: str, path: str, why: str) -> None:
    tree = pod("p")
    tree["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    tree["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v", field: path}]
    reply = admin.request("POST", pods_in(space), tree)
    assert reply.status == 422
    (cause,) = reply.json()["details"]["causes"]
    assert (cause["message"], cause["field"]) == (
        f'Invalid value: "{path}": {why}',
        f"spec.containers[0].volumeMounts.{field}",
    )


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "..x"])
def test_an_item_of_a_volume_stays_inside_it(space: str, admin: Api, path: str) -> None:
    tree = pod("p")
    source = {"name": "m", "items": [{"key": "a", "path": path}]}
    tree["spec"]["volumes"] = [{"name": "v", "configMap": source}]
    reply = admin.request("POST", pods_in(space), tree)
    assert reply.status == 422
    (cause,) = reply.json()["details"]["causes"]
    assert cause["field"] == "spec.volumes[0].configMap.items[0].path"


@pytest.mark.parametrize("path", ["a", "..a", "a..b", "a/b", "./a"])
def test_dots_in_a_name_are_no_way_out(space: str, admin: Api, path: str) -> None:
    tree = pod("p")
    tree["spec"]["volumes"] = [{"name": "v", "emptyDir": {}}]
    tree["spec"]["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v", "subPath": path}]
    assert admin.create(pods_in(space), tree)["metadata"]["name"] == "p"
