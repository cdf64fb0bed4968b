"""`make screenshots`: draw every scene into screenshots/, and record the tour into docs/."""

import asyncio
from pathlib import Path

from tests.screenshots.cast import CAST, PICTURE, record
from tests.screenshots.scenes import SCENES, draw_all

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "screenshots"


def main() -> None:
    """Write what changed, remove what no scene draws any more, and say so."""
    FOLDER.mkdir(exist_ok=True)
    drawn = draw_all(SCENES)
    for name, svg in drawn.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != svg:
            path.write_text(svg, encoding="utf-8")
            print(f"drawn  {name}")
    for path in FOLDER.glob("*.svg"):
        if path.name not in drawn:
            path.unlink()
            print(f"gone   {path.name}")
    print(f"{len(drawn)} screens in {FOLDER.name}/")
    for name, text in zip((CAST, PICTURE), asyncio.run(record()), strict=True):
        (ROOT / "docs" / name).write_text(text, encoding="utf-8")
        print(f"drawn  docs/{name}")


main()
