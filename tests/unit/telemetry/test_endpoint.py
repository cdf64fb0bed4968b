"""The metrics server that a person named: what is taken, what is refused, and that no secret is ever told."""

import pytest

from cockpit.errors import BadInput
from cockpit.model.metrics_server import MetricsServer, in_force
from cockpit.telemetry.endpoint import Endpoint, configured

TAKEN = {
    "https://user:se@cret@prom:9090/x": ("https://prom:9090/x", "user", "se@cret"),
    "https://us%40er:se%2Fcret@prom": ("https://prom", "us@er", "se/cret"),
    "https://user:se:cret@prom": ("https://prom", "user", "se:cret"),
    "https://user:50%cret@prom": ("https://prom", "user", "50%cret"),
    "https://user:[secret@prom": ("https://prom", "user", "[secret"),
    "https://user:se\u2100cret@prom": ("https://prom", "user", "se\u2100cret"),
    "https://:secret@prom": None,
    "http://user:secret@127.0.0.1:9090": ("http://127.0.0.1:9090", "user", "secret"),
    "http://user:secret@[::1]:9090/": ("http://[::1]:9090", "user", "secret"),
    "http://user:secret@localhost": ("http://localhost", "user", "secret"),
    "HTTPS://user:secret@prom": ("https://prom", "user", "secret"),
}


@pytest.mark.parametrize("url", TAKEN)
def test_credentials_stand_apart(url: str) -> None:
    wanted = TAKEN[url]
    if wanted is None:
        with pytest.raises(BadInput) as caught:
            configured(MetricsServer(url))
        assert "secret" not in caught.value.sentence
        return
    target = configured(MetricsServer(url))
    assert isinstance(target.place, Endpoint)
    assert (target.place.url, target.login.username, target.login.password) == wanted
    assert wanted[2] not in repr(target) + target.who + repr(MetricsServer(url))


REFUSED = [
    "https://user:se/cret@prom:9090",
    "https://user:12/secret@prom:9090",
    "https://us@er:se/cret@prom",
    "https://user:se?cret@prom",
    "https://user:se#cret@prom",
    "https://user:secret",
    "https://user:secret@",
    "https://user:secret@prom:port",
    "https://user:secret@prom:99999",
    "https://user:secret@pr om",
    "https://user:secret@prom/a b",
    "https://user:secret@[::1",
    "https://prom/x?token=secret",
    "https://prom/x#secret",
    "ftp://user:secret@prom",
    "user:secret@prom:9090",
    "http://user:secret@prom:9090",
    "https://user:secret\x1b[2J@pro\x1bm",
]


@pytest.mark.parametrize("url", REFUSED)
def test_what_cannot_be_read_without_doubt_is_refused_in_a_sentence_without_it(url: str) -> None:
    with pytest.raises(BadInput) as caught:
        configured(MetricsServer(url), "--prometheus-url")
    said = caught.value.sentence
    assert "cret" not in said and "user:" not in said
    assert said.startswith("--prometheus-url")
    assert said.isprintable() and said.endswith(".")


LOGINS = [
    (MetricsServer("https://u:p@prom", token="hidden"), "others are given"),
    (MetricsServer("https://prom", token="hidden", username="u", password="hidden"), "not both"),
    (MetricsServer("https://prom", username="u"), "go together"),
    (MetricsServer("https://u@prom"), "go together"),
    (MetricsServer("https://prom", password="hidden"), "go together"),
    (MetricsServer("https://prom", username="a:b", password="hidden"), "colon"),
    (MetricsServer("", token_file="/t"), "need the URL"),
    (MetricsServer("", ca_file="/t"), "need the URL"),
    (MetricsServer("monitoring/prometheus", token_file="/t"), "passes no credentials on"),
    (MetricsServer("http://prom", token_file="/t"), "unencrypted"),
]


@pytest.mark.parametrize(("server", "words"), LOGINS)
def test_a_login_that_cannot_be_meant_is_refused(server: MetricsServer, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        configured(server)
    assert "hidden" not in caught.value.sentence


def test_credentials_go_to_the_url_that_stands_beside_them() -> None:
    config = MetricsServer("https://config", token_file="/config", ca_file="/ca")
    assert in_force(MetricsServer("https://line"), config) == MetricsServer("https://line")
    beside = in_force(MetricsServer(token_file="/line"), config)
    assert beside == MetricsServer("https://config", token_file="/line", ca_file="/ca")
    assert in_force(MetricsServer(), MetricsServer(), config) == config
    assert in_force(MetricsServer(username="u", password_file="/p"), config).token_file == ""
