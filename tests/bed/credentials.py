"""Everything secret that a bed makes for itself: certificates, tokens, kubeconfig files."""

import json
import shutil

from tests.bed import people, pki
from tests.bed.control_plane import SERVER_HOSTS
from tests.bed.layout import Layout


def write_credentials(layout: Layout) -> None:
    """Fills pki/, hook/, the token files and both kubeconfigs of a new run folder."""
    ca = pki.make_ca(layout.pki, "ca")
    pki.make_server(layout.pki, "server", ca, SERVER_HOSTS)
    pki.make_client(layout.pki, "admin", ca, "admin", "system:masters")
    pki.write_key(layout.pki / "sa.key")
    front = pki.make_ca(layout.pki, "front-proxy-ca")
    pki.make_client(layout.pki, "front-proxy-client", front, "front-proxy-client")
    hooks = pki.make_ca(layout.pki, "hook-ca")
    hook = pki.make_server(layout.pki, "hook", hooks, ("localhost", "127.0.0.1"))
    for source, name in ((hook.certificate_file, "tls.crt"), (hook.key_file, "tls.key")):
        shutil.copyfile(source, layout.run_dir / "hook" / name)
    tokens = people.make_tokens()
    for name, text in (
        ("tokens.csv", people.token_file(tokens)),
        ("tokens.json", json.dumps(tokens)),
        ("controllers.token", tokens[people.CONTROLLERS.context]),
    ):
        path = layout.run_dir / name
        path.touch(mode=0o600)
        path.write_text(text)
    people.write_kubeconfigs(layout, tokens)
