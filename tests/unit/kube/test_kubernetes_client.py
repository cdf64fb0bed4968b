"""The `kubernetes` package is entered without its front doors, and stays whole for whoever else asks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def said(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_synchronous_client_is_not_imported() -> None:
    program = (
        "import sys, cockpit.kube.credentials as own;"
        "print(own.Configuration.__module__, 'kubernetes.config' in sys.modules, 'websocket' in sys.modules)"
    )
    assert said(program) == "kubernetes.aio.client.configuration False False"


def test_others_find_everything_afterwards() -> None:
    program = (
        "import cockpit.kube.kubernetes_client;"
        "from kubernetes import client, config, watch;"
        "from kubernetes.aio import client as other;"
        "print(client.CoreV1Api.__name__, other.CoreV1Api.__name__, config.load_kube_config.__name__)"
    )
    assert said(program) == "CoreV1Api CoreV1Api load_kube_config"


def test_what_was_imported_whole_before_stays_as_it_is() -> None:
    program = (
        "import kubernetes.aio, sys; whole = sys.modules['kubernetes'];"
        "import cockpit.kube.kubernetes_client;"
        "print(sys.modules['kubernetes'] is whole, kubernetes.aio.watch.__name__)"
    )
    assert said(program) == "True kubernetes.aio.watch"


def test_a_package_that_needs_its_front_door_is_imported_whole() -> None:
    program = (
        "import importlib, sys; real = importlib.import_module\n"
        "def refuse(name, package=None):\n"
        "    if name.startswith('kubernetes'):\n"
        "        raise AttributeError('not without the front door')\n"
        "    return real(name, package)\n"
        "importlib.import_module = refuse\n"
        "import cockpit.kube.kubernetes_client as stock\n"
        "print(stock.kube_config.__name__, sys.modules['kubernetes'].client.__name__)"
    )
    assert said(program) == "kubernetes.aio.config.kube_config kubernetes.client"


def test_the_loader_of_kubeconfigs_does_not_bring_the_client_and_its_models() -> None:
    program = (
        "import sys, cockpit.kube.kubernetes_client as stock;"
        "print('pydantic' in sys.modules, 'kubernetes.aio.client.api_client' in sys.modules);"
        "from kubernetes.aio.client import ApiClient;"
        "print(ApiClient.__module__, type(stock.kube_config.ApiClient(stock.Configuration())) is ApiClient)"
    )
    assert said(program).splitlines() == ["False False", "kubernetes.aio.client.api_client True"]
