"""Building: keys, locks, where a program comes from. No Go is run here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bed import builder, toolchain
from tests.bed.binaries import (
    BINARIES,
    GENERATION_VARIABLE,
    NEWER,
    OLDER,
    Binary,
    chosen_generation,
)
from tests.bed.cache import BedError, cache_root, content_key, locked


def test_the_cache_folder_follows_the_environment() -> None:
    assert cache_root({"GPU_COCKPIT_CACHE": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}) == Path("/a/bed")
    assert cache_root({"XDG_CACHE_HOME": "/b", "HOME": "/c"}) == Path("/b/gpu-cockpit/bed")
    assert cache_root({"HOME": "/c"}) == Path("/c/.cache/gpu-cockpit/bed")


def test_the_key_tells_where_one_part_ends() -> None:
    assert content_key(b"ab", b"c") != content_key(b"a", b"bc")
    assert content_key(b"ab") == content_key(b"ab")
    assert len(content_key(b"")) == 16


def test_every_program_is_a_tool_of_a_pinned_module() -> None:
    for binary in BINARIES.values():
        module = (binary.module_dir / "go.mod").read_text()
        assert binary.package in module, binary.name
        assert (binary.module_dir / "go.sum").stat().st_size > 0, binary.name


def test_the_key_changes_with_flags_and_not_with_the_name() -> None:
    one = BINARIES["kube-apiserver"]
    assert one.key == BINARIES["kubectl"].key
    assert Binary(one.name, one.folder, one.package, ldflags="-s").key != one.key


def test_the_generation_comes_from_the_environment_and_a_wrong_one_is_named() -> None:
    assert chosen_generation({}) == NEWER
    assert chosen_generation({GENERATION_VARIABLE: OLDER}) == OLDER
    with pytest.raises(BedError, match="GPU_COCKPIT_ENGINES 'oldest' is no generation of engines: say newer"):
        chosen_generation({GENERATION_VARIABLE: "oldest"})


def test_a_cached_generation_is_found_under_its_program_s_name(tmp_path: Path) -> None:
    path = builder.folder(BINARIES["kueue-0.15"], tmp_path) / "kueue"
    path.parent.mkdir(parents=True)
    path.touch()
    assert builder.cached("kueue-0.15", tmp_path) == path
    assert builder.cached("kueue-0.19", tmp_path) is None


def test_a_cached_program_is_found_without_building(tmp_path: Path) -> None:
    assert builder.cached("kwok", tmp_path) is None
    path = builder.folder(BINARIES["kwok"], tmp_path) / "kwok"
    path.parent.mkdir(parents=True)
    path.touch()
    built = builder.ensure("kwok", root=tmp_path)
    assert (built.path, built.how) == (path, "cached")


def test_a_lock_is_dropped_when_its_holder_dies(tmp_path: Path) -> None:
    file = tmp_path / "one.lock"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time; from pathlib import Path; from tests.bed.cache import locked\n"
            "with locked(Path(sys.argv[1])):\n print('held', flush=True); time.sleep(60)",
            str(file),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        waited: list[str] = []

        def waiting() -> None:
            waited.append("yes")
            holder.kill()

        with locked(file, waiting):
            assert waited == ["yes"]
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version go1.27rc1 linux/arm64", (1, 27)),
        ("go version devel go1.28-abcdef linux/amd64", (1, 28)),
        ("command not found", None),
    ],
)
def test_go_versions(line: str, version: tuple[int, int] | None) -> None:
    assert toolchain.parse_version(line) == version


def test_an_old_go_on_path_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go version go1.19.8 linux/amd64\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert toolchain.go_on_path() is None
    old.write_text("#!/bin/sh\necho go version go1.26.0 linux/amd64\n")
    assert toolchain.go_on_path() == str(old)
