"""Command lines of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok for a layout."""

import os
from pathlib import Path

import yaml

from tests.bed import engines, pod_logs
from tests.bed.layout import ADVERTISED_ADDRESS, POD_RANGE, Layout
from tests.bed.part import Part, http_probe

KWOK_STAGES = Path(__file__).parent / "kwok-stages.yaml"
_NO_ACCOUNTS = ("--disable-admission-plugins", "ServiceAccount")
SERVER_HOSTS = ("localhost", "kubernetes", "kubernetes.default.svc", "127.0.0.1", "::1", "10.0.0.1")


def etcd(layout: Layout) -> Part:
    client, peer = layout.url("etcd"), layout.url("etcd-peer")
    return Part(
        "etcd",
        (
            layout.programs["etcd"],
            *("--data-dir", str(layout.run_dir / "etcd")),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
            # The data never outlives the run, and fsync is what slow shared discs are slowest at.
            *("--unsafe-no-fsync", "--log-level", "warn"),
            *("--quota-backend-bytes", str(8 * 1024**3), "--max-request-bytes", str(16 * 1024**2)),
        ),
        http_probe(f"{client}/health"),
        layout.run_dir,
    )


def apiserver(layout: Layout) -> Part:
    pki = layout.pki
    return Part(
        "apiserver",
        (
            layout.programs["apiserver"],
            *("--etcd-servers", layout.url("etcd")),
            *("--bind-address", "127.0.0.1", "--secure-port", str(layout.ports["apiserver"])),
            # There is no default route in a namespace to guess it from, and loopback is refused.
            *("--advertise-address", ADVERTISED_ADDRESS, "--endpoint-reconciler-type", "none"),
            *("--tls-cert-file", f"{pki}/server.crt", "--tls-private-key-file", f"{pki}/server.key"),
            *("--client-ca-file", f"{pki}/ca.crt", "--token-auth-file", str(layout.tokens)),
            *("--service-account-key-file", f"{pki}/sa.key"),
            *("--service-account-signing-key-file", f"{pki}/sa.key"),
            *("--service-account-issuer", "https://kubernetes.default.svc"),
            *("--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/16"),
            "--allow-privileged",
            # It refuses pods until a controller has made the namespace's account; who wants that asks for it.
            *(() if "ServiceAccount" in layout.apiserver_flags else _NO_ACCOUNTS),
            # Aggregated APIs (Kueue's visibility server) know the caller from these headers.
            *("--requestheader-client-ca-file", f"{pki}/front-proxy-ca.crt"),
            *("--requestheader-allowed-names", "front-proxy-client"),
            *("--requestheader-username-headers", "X-Remote-User"),
            *("--requestheader-group-headers", "X-Remote-Group"),
            *("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            *("--proxy-client-cert-file", f"{pki}/front-proxy-client.crt"),
            *("--proxy-client-key-file", f"{pki}/front-proxy-client.key"),
            # For logs it dials the address that kwok gave the node; names of nodes are in no resolver.
            *("--kubelet-preferred-address-types", "InternalIP"),
            *(engines.NATIVE_API_FLAGS if "native" in layout.parts else ()),
            *layout.apiserver_flags,
        ),
        http_probe(f"{layout.server}/readyz"),
        layout.run_dir,
        deadline_seconds=180.0,
    )


def controller_manager(layout: Layout) -> Part:
    port = layout.ports["kcm"]
    return Part(
        "kcm",
        (
            layout.programs["kcm"],
            *("--kubeconfig", str(layout.controller_kubeconfig)),
            *("--service-account-private-key-file", f"{layout.pki}/sa.key"),
            *("--root-ca-file", str(layout.ca_file)),
            *("--use-service-account-credentials=false", "--leader-elect=false"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(port)),
            # nodelifecycle stays on: without it new nodes keep the not-ready taint of the admission.
            *("--controllers", "*,-nodeipam,-bootstrapsigner,-tokencleaner,-serviceaccount-token"),
            # A pod that ends before the controller watches pods is counted out in its next round: 5 min else.
            *("--resource-quota-sync-period", "10s"),
            *(engines.NATIVE_FLAGS if "native" in layout.parts else ()),
        ),
        http_probe(f"https://127.0.0.1:{port}/healthz"),
        layout.run_dir,
    )


def scheduler(layout: Layout) -> Part:
    port = layout.ports["scheduler"]
    kubeconfig = str(layout.controller_kubeconfig)
    return Part(
        "scheduler",
        (
            layout.programs["scheduler"],
            *("--kubeconfig", kubeconfig, "--leader-elect=false"),
            *("--bind-address", "127.0.0.1", "--secure-port", str(port)),
            *("--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig),
            *(engines.NATIVE_FLAGS if "native" in layout.parts else ()),
        ),
        http_probe(f"https://127.0.0.1:{port}/healthz"),
        layout.run_dir,
    )


def kwok(layout: Layout) -> Part:
    """Plays the kubelet of every Node annotated kwok.x-k8s.io/node=fake: its stages, its leases, its logs."""
    port = layout.ports["kwok"]
    pod_logs.prepare(layout.run_dir)
    config = layout.run_dir / "kwok.yaml"
    logs = yaml.safe_dump(pod_logs.configuration(layout.run_dir))
    config.write_text(f"{KWOK_STAGES.read_text()}---\n{logs}")
    return Part(
        "kwok",
        (
            layout.programs["kwok"],
            *("--kubeconfig", str(layout.controller_kubeconfig), "--config", str(config)),
            *("--manage-nodes-with-annotation-selector", "kwok.x-k8s.io/node=fake"),
            *("--node-lease-duration-seconds", "40"),
            *("--cidr", POD_RANGE, "--node-ip", "127.0.0.1"),
            *("--server-address", f"127.0.0.1:{port}", "--node-port", str(port)),
            # kube-apiserver speaks TLS to kubelets, for logs.
            *("--tls-cert-file", f"{layout.pki}/server.crt"),
            *("--tls-private-key-file", f"{layout.pki}/server.key"),
        ),
        http_probe(f"http://127.0.0.1:{port}/healthz"),
        layout.run_dir,
        # kwok keeps a working folder in the home directory; the bed leaves nothing there.
        env={"KWOK_WORKDIR": str(layout.run_dir / "kwok"), "HOME": os.fspath(layout.run_dir)},
    )
