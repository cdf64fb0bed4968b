"""How two trees differ: for comparisons of answers and of what a watcher is told."""

from typing import Any


def differences(mine: Any, real: Any, path: str = "") -> list[str]:
    """What is not the same, a line each."""
    if isinstance(mine, dict) and isinstance(real, dict):
        return [
            line
            for key in sorted(mine.keys() | real.keys())
            for line in differences(mine.get(key, "(nothing)"), real.get(key, "(nothing)"), f"{path}.{key}")
        ]
    if isinstance(mine, list) and isinstance(real, list) and len(mine) == len(real):
        pairs = enumerate(zip(mine, real, strict=True))
        return [line for n, (one, other) in pairs for line in differences(one, other, f"{path}[{n}]")]
    return [] if mine == real else [f"{path}:\n    here  {mine}\n    there {real}"]
