"""What was deleted to be recreated is created again from the audit log, with secrets that nothing shows."""

import json
import subprocess
from pathlib import Path

import pytest

from cockpit.model.finding import Subject
from tests.triage.applied import COCKPIT, OfferGround
from tests.triage.builders import job, pod_spec
from tests.triage.case import Case, CaseFile, Recorded
from tests.triage.offer_plays import embedded

pytestmark = pytest.mark.waits

SECRET = "hunter2-5f1e"
PATH = "/apis/batch/v1/namespaces/default/jobs"


def _cockpit(ground: OfferGround, home: Path, *words: str) -> str:
    done = subprocess.run(
        [str(COCKPIT), *words],
        env=ground.environment(str(home)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_recreated_job_is_created_again_as_it_was(tmp_path: Path) -> None:
    file = CaseFile(
        (), "gpus-short", (), Subject("job", "a", "b"), (), 1_800_000_000.0, Recorded("fixture", "none", 1)
    )
    with embedded(Case("restored", file, {})) as ground:
        tree = job("fit", pod_spec(gpus=1, nodeSelector={"zone": "a"}))
        tree["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": SECRET}]
        tree["metadata"]["namespace"] = "default"
        before = ground.api.create(PATH, tree)
        patch = json.dumps([{"op": "remove", "path": "/spec/template/spec/nodeSelector/zone"}])
        told = _cockpit(
            ground, tmp_path, "job", "recreate", "job/default/fit", "--patch", patch, "--write", "--yes"
        )
        after = ground.api.get(f"{PATH}/fit")
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert "nodeSelector" not in after["spec"]["template"]["spec"]
        ground.api.delete(f"{PATH}/fit", {"propagationPolicy": "Background"})

        lines = (tmp_path / "gpu-cockpit" / "audit.jsonl").read_text()
        (audit_id,) = {json.loads(line)["audit_id"] for line in lines.splitlines()}
        told += _cockpit(ground, tmp_path, "audit", "list")
        assert f"cockpit audit restore {audit_id}" in told
        told += _cockpit(ground, tmp_path, "audit", "restore", audit_id, "--write", "--yes")
        again = ground.api.get(f"{PATH}/fit")["spec"]["template"]["spec"]
        assert again["nodeSelector"] == {"zone": "a"}
        assert again["containers"][0]["env"] == [{"name": "TOKEN", "value": SECRET}]
        assert SECRET not in told + (tmp_path / "gpu-cockpit" / "audit.jsonl").read_text()
