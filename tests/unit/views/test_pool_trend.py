"""How busy allocated cards of a pool were lately: a column of the pools, a word in the header of its page."""

import pytest

from cockpit.model.pool import Pool
from cockpit.store.trends import Trends
from cockpit.views import pools
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, card, node, store


def seen(*duties: float) -> Trends:
    trends = Trends()
    for at, duty in enumerate(duties):
        trends.note(store(node("gpu-1", 1), card(0, "w", duty=duty)), NOW + 30 * at)
    return trends


def duty(trends: Trends, name: str = "h100") -> str:
    table = pools.table([Pool(name=name, gpus_total=1)], ViewState(), NOW, beside=pools.PoolsBeside(trends))
    ids = [one.id for one in table.columns]
    return table.cells(0)[ids.index("duty")].text


@pytest.mark.parametrize(
    ("duties", "shown"),
    [((), ""), ((0.5,), "50%"), ((0.5, 1.0), "▅█ 100%"), ((0.0,) * 20, "▁▁▁▁ 0%")],
)
def test_the_column(duties: tuple[float, ...], shown: str) -> None:
    assert duty(seen(*duties)) == shown


def test_a_pool_that_nobody_measures_has_no_duty() -> None:
    assert duty(seen(0.5), "other") == ""
    assert pools.last_hour(Pool(name="other"), seen(0.5)) == ""
    assert "duty" not in [one.id for one in pools.table([], ViewState(), NOW).columns]


def test_the_header_has_the_last_hour_where_it_is_known() -> None:
    trends = seen(0.5)
    assert pools.last_hour(Pool(name="h100"), trends) == "its GPUs 50%"
    trends.remember({"pool/h100/duty": (None, 0.0, 1.0)})
    line = pools.last_hour(Pool(name="h100"), trends)
    assert line.startswith("its GPUs ")
    assert line.endswith("▁█▅ 50%")


def test_pools_are_ordered_and_filtered_by_duty() -> None:
    rows = [Pool(name="other", gpus_total=1), Pool(name="h100", gpus_total=1)]
    table = pools.table(rows, ViewState(filter="duty>40%"), NOW, beside=pools.PoolsBeside(seen(0.5)))
    assert len(table) == 1
