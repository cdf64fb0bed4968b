"""`job submit -f`: objects of a file as they are, and `job wait`, against both servers."""

from pathlib import Path
from typing import Any

import pytest

from tests.bed.api import Api

FILE = """\
# a file as people have it
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, uid: 1f2e3d4c, resourceVersion: "7", creationTimestamp: 2024-01-01T00:00:00Z}
data: {begun: 2024-01-01}
---
---
apiVersion: v1
kind: List
items:
  - apiVersion: batch/v1
    kind: Job
    metadata: {generateName: train-}
    spec:
      suspend: true
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: "registry.test/train:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


def names(admin: Api, space: str, path: str) -> list[str]:
    items = admin.get(f"{path.format(space)}")["items"]
    return [item["metadata"]["name"] for item in items if item["metadata"]["name"] != "kube-root-ca.crt"]


MAPS, JOBS = "/api/v1/namespaces/{}/configmaps", "/apis/batch/v1/namespaces/{}/jobs"


@pytest.mark.parametrize("is_given", [False, True], ids=["file", "standard input"])
async def test_every_object_is_created_under_the_name_that_was_shown(
    said: Any, admin: Api, space: str, tmp_path: Path, is_given: bool
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(FILE)
    name, given = ("-", FILE) if is_given else (str(path), "")
    code, text = await said("job", "submit", "-f", name, "-n", space, "--write", "--dry-run", given=given)
    assert code == 0 and "the cluster would accept it" in text
    assert (names(admin, space, MAPS), names(admin, space, JOBS)) == ([], [])
    code, text = await said("job", "submit", "-f", name, "-n", space, "--write", "--yes", given=given)
    assert code == 0, text
    assert names(admin, space, MAPS) == ["settings"]
    [job] = names(admin, space, JOBS)
    assert job.startswith("train-") and len(job) == len("train-") + 5
    assert admin.get(f"{MAPS.format(space)}/settings")["data"] == {"begun": "2024-01-01"}
    code, text = await said("job", "wait", f"job/{space}/{job}", "--for", "running", "--within", "0.1")
    assert code == 1 and f"job {space}/{job} is not running after 0.1 s: suspended" in text


async def test_one_object_that_is_refused_keeps_all_from_being_sent(
    said: Any, admin: Api, space: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(FILE + "---\napiVersion: nowhere.test/v1\nkind: Widget\nmetadata: {name: w}\n")
    code, text = await said("job", "submit", "-f", str(path), "-n", space, "--write", "--yes")
    assert code == 2 and "does not serve Widget of nowhere.test/v1" in text
    assert (names(admin, space, MAPS), names(admin, space, JOBS)) == ([], [])
