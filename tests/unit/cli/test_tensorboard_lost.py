"""`cockpit job tensorboard` when the connection is lost between the lists and the first read."""

import pytest

from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.unit.cli import builders


class _Lost(builders.Attached):
    """Its lists came in, and then the session was gone."""

    @property
    def session(self) -> None:
        return None

    @session.setter
    def session(self, _session: object) -> None:
        """It does not stay."""


def test_a_lost_connection_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = builders.patch(monkeypatch)
    cluster.add(Kind.POD, Pod(uid="p1", name="llm", namespace="team-a", phase="Running", node="n1", gpus=1))
    monkeypatch.setattr("cockpit.commands.attached.Attachment", type("Here", (_Lost,), {"cluster": cluster}))
    code, _out, err = builders.run(capsys, "job", "tensorboard", "team-a/llm", "--write")
    assert code == 2 and "not connected to a cluster" in err
