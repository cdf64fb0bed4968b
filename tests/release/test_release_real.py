"""The release as a whole: built twice, judged by twine and abi3audit, installed in empty environments.

Real, because the environments are filled from the package index; what needs no index is in
`tests/unit/house/test_builds.py`.
"""

from pathlib import Path

import pytest

from tests.release.__main__ import main
from tests.release.bill_of_materials import DISTRIBUTIONS

pytestmark = pytest.mark.real


def test_what_is_released_is_reproducible_and_works_in_an_empty_home(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dist = tmp_path / "dist"
    code = main(["--quick", "--into", str(dist)])
    assert code == 0, capsys.readouterr().out
    names = {path.name.partition("-")[0] for path in dist.iterdir()}
    assert names == {"SHA256SUMS", *(one.stem for one in DISTRIBUTIONS)}
