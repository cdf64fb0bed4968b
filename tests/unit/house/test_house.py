"""The house rules that no linter keeps: sizes, forbidden imports, what is loaded before the first frame."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CODE = ("cockpit", "widgets", "exporter", "jobspecs")
HELD_TO_SIZE = (*CODE, "tests")
GENERATED = ("_pb2.py", "_pb2.pyi")


def _sources(rooms: tuple[str, ...] = CODE) -> list[Path]:
    found = [p for room in rooms for p in (ROOT / room).rglob("*.py") if not p.name.endswith(GENERATED)]
    assert len(found) > 30, "the walk found no code: the test would pass on nothing"
    return found


def test_no_file_is_longer_than_500_lines() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in _sources(HELD_TO_SIZE)
        if (n := len(p.read_text().splitlines())) > 500
    }
    assert long == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long: list[str] = []
    for path in _sources(HELD_TO_SIZE):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > 60:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} {lines}")
    assert long == []


MOST_LATE_IMPORTS = 57
"""Imports inside functions, or by name at run time: of what costs the start more than 5 ms, or may be
missing. Only to be lowered."""


def _late_imports(path: Path) -> list[str]:
    tree = ast.parse(path.read_text())
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    found = {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"))
    }
    return [f"{path.relative_to(ROOT)}:{line}" for line in sorted(found)]


def test_few_imports_wait_for_their_function() -> None:
    product = [path for path in _sources() if ROOT / "cockpit" / "sim" not in path.parents]
    late = [line for path in product if "jobspecs" not in path.parts for line in _late_imports(path)]
    assert len(late) <= MOST_LATE_IMPORTS, "\n".join(late)


def _top_level_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


HOMES = {
    "kubernetes": ("cockpit/kube/",),
    "textual": ("widgets/", "cockpit/screens/", "cockpit/app.py"),
    "pynvml": ("exporter/",),
    "torch": ("jobspecs/",),
    "horovod": ("jobspecs/",),
    "aiohttp": (
        "cockpit/kube/",
        "cockpit/sim/",
        "cockpit/telemetry/http_client.py",
        "cockpit/daemon_thread.py",
    ),
    "requests": (),
    # packages that only an extra or another distribution installs
    "cryptography": ("cockpit/sim/",),
    "grpc": ("exporter/",),
    "prometheus_client": ("exporter/",),
}


def test_packages_stay_in_their_rooms() -> None:
    strangers = [
        f"{name} imports {package}"
        for path in _sources()
        for package in sorted(_top_level_imports(path) & HOMES.keys())
        if not (name := str(path.relative_to(ROOT))).startswith(HOMES[package])
    ]
    assert strangers == []


def _sent_by_hand(path: Path) -> list[str]:
    """Places that send anything but a read straight through a session."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        method = node.args[0]
        if node.func.attr == "request" and not (
            isinstance(method, ast.Constant) and method.value in ("GET", "HEAD")
        ):
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return found


def test_a_write_goes_through_a_plan_and_its_audit_lines() -> None:
    """Outside `kube` nothing is sent by hand; who may import `kube.calls` is a contract of lint-imports."""
    rooms = [one for one in _sources() if one.is_relative_to(ROOT / "cockpit")]
    rooms = [one for one in rooms if not one.is_relative_to(ROOT / "cockpit" / "kube")]
    rooms = [one for one in rooms if not one.is_relative_to(ROOT / "cockpit" / "sim")]
    assert len(rooms) > 200
    assert [place for path in rooms for place in _sent_by_hand(path)] == []


def _modules_after(code: str, *, isolated_path: str = "") -> set[str]:
    program = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    if isolated_path:
        program = f"import sys\nsys.path.insert(0, {isolated_path!r})\n" + program
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True, cwd="/"
    )
    return set(done.stdout.split())


HEAVY = (
    "kubernetes",
    "aiohttp",
    "requests",
    "google.protobuf",
    "yaml",
    "pydantic",
    "pandas",
    "torch",
    "grpc",
)


def test_nothing_heavy_is_imported_before_the_first_frame() -> None:
    """The first frame is drawn by a running app: run it headless, stop it at its first idle moment, look."""
    loaded = _modules_after(
        "import asyncio\n"
        "from cockpit.app import AppOptions, CockpitApp\n"
        "async def first_frame():\n"
        "    app = CockpitApp(AppOptions(attach=False))\n"
        "    async with app.run_test(size=(80, 24)) as pilot:\n"
        "        await pilot.pause()\n"
        "asyncio.run(first_frame())\n"
    )
    assert "cockpit.screens.now" in loaded, "the app drew no screen: the test would pass on nothing"
    assert sorted(name for name in HEAVY if name in loaded) == []


def test_help_loads_neither_textual_nor_the_transport() -> None:
    loaded = _modules_after(
        "from cockpit.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
    )
    assert sorted(name for name in (*HEAVY, "textual") if name in loaded) == []


def test_the_widgets_stand_alone() -> None:
    loaded = _modules_after(
        "import cockpit_widgets\nfor name in cockpit_widgets.__all__: getattr(cockpit_widgets, name)\n",
        isolated_path=str(ROOT / "widgets"),
    )
    assert "cockpit_widgets.resource_table" in loaded
    assert [name for name in loaded if name.split(".")[0] in ("cockpit", "kubernetes", "yaml")] == []
