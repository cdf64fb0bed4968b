"""Query texts: escaped twice, selecting what they say."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.telemetry.names import MEANINGS, GpuMetric, names_of
from cockpit.telemetry.promql import any_of, escape_re2, has_gpus, instant, quote, sample_times


def test_instant() -> None:
    assert instant(("a", "b")) == '{__name__=~"a|b"}'
    assert instant(("a",), ("n1", "n.2")) == (
        '{__name__=~"a",Hostname=~"n1|n\\\\.2"} or {__name__=~"a",hostname=~"n1|n\\\\.2"} '
        'or {__name__=~"a",node=~"n1|n\\\\.2"}'
    )


def test_sample_times_ask_one_selector_a_family() -> None:
    text = sample_times()
    name = "DCGM_FI_DEV_GPU_TEMP"
    assert f' or label_replace(timestamp({name}), "cockpit_family", "{name}", "", "") or ' in text
    assert "timestamp(DCGM_FI_DEV_GPU_TEMP_CELSIUS)" in text
    assert f'timestamp({name}{{hostname=~"n1"}})' in sample_times(["n1"])
    assert sample_times(by=("node",)) == f"max by (node) ({text})"


def test_has_gpus() -> None:
    assert has_gpus(["x"]) == 'count({__name__=~"x"})'


def test_every_quantity_has_a_name_in_every_dcgm_generation() -> None:
    for quantity in GpuMetric:
        names = names_of((quantity,))
        sources = {MEANINGS[name].source.value for name in names}
        # the throttle reasons are no default field: their name did not change with generation C
        if quantity is GpuMetric.HOLDER:
            assert sources == {
                "cockpit",
                "nvidia-smi",
                "xpumd",
            }  # dcgm repeats a card's series for each of its pods
            continue
        assert ({"cockpit", "dcgm A", "dcgm C"} - sources) <= (
            {"dcgm C"} if quantity is GpuMetric.THROTTLE else set()
        )


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=30))
def test_a_literal_matches_itself_and_nothing_else(text: str) -> None:
    # Python's re agrees with RE2 on escaped literals
    assert re.fullmatch(escape_re2(text), text)
    assert not re.fullmatch(escape_re2(text), text + "x")


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=30))
def test_a_quoted_text_cannot_leave_its_quotes(text: str) -> None:
    inside = quote(text)[1:-1]
    assert re.fullmatch(r'(?:[^"\\\n]|\\.)*', inside)
    assert any_of([text])[1:-1].count("\n") == 0
