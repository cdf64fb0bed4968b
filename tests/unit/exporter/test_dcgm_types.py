"""Types under dcgm-exporter's names: those that its own lists declare, in a text that Prometheus takes."""

import http.client
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest
from cockpit_exporter import dcgm_names
from cockpit_exporter.attribution import join
from cockpit_exporter.dcgm_names import TABLE
from cockpit_exporter.model import Card, Device, Snapshot, Value, Xid
from cockpit_exporter.seen import Seen
from cockpit_exporter.web import Server
from prometheus_client.metrics_core import Metric

DECLARED = dict(
    line.split()
    for line in Path(__file__).with_name("dcgm_types.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
OURS = {"DCGM_FI_DEV_FB_TOTAL": "gauge"}  # a field of DCGM that no list of dcgm-exporter has
LABELS = {
    "ecc_errors_total": ("kind", "counter"),
    "retired_pages": ("cause",),
    "remapped_rows_total": ("kind",),
    "throttle_seconds_total": ("policy",),
}


def everything() -> Seen:
    """A card that tells all there is, with two links."""
    values: list[Value] = []
    for family, *told in TABLE:
        if family == "nvlink_errors_total":
            values += [Value(family, 3.0, (("link", link), ("kind", told[0]))) for link in ("0", "1")]
        else:
            values.append(Value(family, 2.0, tuple(zip(LABELS.get(family, ()), told, strict=True))))
    card = Card(Device("GPU-0", 0, 0, "H100"), 0.0, values=tuple(values))
    snapshot = Snapshot(0.0, "", cards=(card,))
    xids = {"GPU-0": Xid(31, 0.0, {31: 1})}
    return Seen(1.0, snapshot, "n", join((card,), ()), xids=xids, is_xid_watched=True)


def scraped(generation: dcgm_names.Generation, accept: str) -> tuple[str, str]:
    """Content type and text of the page as it goes over the wire."""

    def page() -> Iterable[Metric]:
        return dcgm_names.page(everything(), generation)

    server = Server("127.0.0.1", 0, page, lambda: "", dcgm_names.encoding)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()
        server.stop()


def types(text: str) -> dict[str, str]:
    found = [line.split() for line in text.splitlines() if line.startswith("# TYPE DCGM_")]
    return {name: kind for _, _, name, kind in found}


ACCEPTED = ("", "text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")


@pytest.mark.parametrize("accept", ACCEPTED)
def test_every_name_has_the_type_that_dcgm_exporter_declares(accept: str) -> None:
    kind, text = scraped("A", accept)
    assert kind.startswith("text/plain; version=0.0.4")
    assert types(text) == {**DECLARED, **OURS}


def test_a_renamed_field_keeps_its_type() -> None:
    _, text = scraped("C", "")
    found = types(text)
    assert "untyped" not in text
    for both in TABLE.values():
        if both.a is not None and both.c is not None:
            assert found[both.c.name] == DECLARED.get(both.a.name, "gauge"), both.c.name


def test_series_keep_their_names_and_links_are_added_up() -> None:
    _, text = scraped("A", "")
    # by hand: prometheus_client's parser gives every counter the suffix
    lines = [line for line in text.splitlines() if line.startswith("DCGM_")]
    values = {line.split("{")[0]: float(line.split()[-1]) for line in lines}
    assert set(values) == {*DECLARED, *OURS}
    assert values["DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"] == 6.0
    assert values["DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"] == 2.0
    assert values["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"] == 2000.0
