"""The scripted estate with an Alertmanager: alerts beside a finding, alone, and one over several nodes."""

from cockpit.model.alert import Alert
from cockpit.model.record import Kind
from tests.tui.estate import NOW, Estate

RUNBOOKS = "https://runbooks.example/nodes"


def alert(name: str, kind: str, about: str, severity: str, minutes: float, summary: str) -> Alert:
    return Alert(
        uid=f"{name}/{about}", name=name, severity=severity, summary=summary, about=((kind, about),),
        since_seconds=NOW - 60 * minutes, runbook=f"{RUNBOOKS}/{name.lower()}",
    )  # fmt: skip


class AlertedEstate(Estate):
    """An estate whose Alertmanager was read a second ago."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for name, about, severity, minutes, summary in (
            (
                "KubeNodeNotReady",
                "gpu-h100-19",
                "critical",
                10,
                "gpu-h100-19 has been unready for 15 minutes",
            ),
            ("TargetDown", "gpu-h100-19", "warning", 15, "node-exporter of gpu-h100-19 cannot be scraped"),
            (
                "NodeFilesystemAlmostOutOfSpace",
                "gpu-a100-03",
                "critical",
                38,
                "/var has 2.1% available space left",
            ),
            *(
                (
                    "NodeClockNotSynchronising",
                    f"gpu-l40s-0{at}",
                    "warning",
                    52,
                    f"gpu-l40s-0{at}: not synchronised",
                )
                for at in range(5)
            ),
        ):
            self.add(Kind.ALERT, alert(name, "host", about, severity, minutes, summary))
