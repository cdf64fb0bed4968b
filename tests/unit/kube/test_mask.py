"""The one rule by which secrets are hidden wherever a manifest, a command or a message is shown."""

import json
import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.kube.decode.wire import ServerStatus
from cockpit.kube.refusal import read_refusal
from cockpit.mask import HIDDEN, FormMask, mask_text, mask_tree, mask_value, mask_words, secret_values

CANARY = "k4n4ry-7Vd"
SECRET_TEXTS = (
    "cockpit job submit x --set 'command=env WANDB_API_KEY=§ python t.py'",
    "train --token § --lr 1",
    "run --password=§",
    "run --hf-token '§ §'",
    'env SECRET="§ more" run',
    "curl https://user:§@example.com/x",
    "redis://:§@cache:6379/0",
    "git+https://§@github.com/team/code.git",
    "postgres://u:p@§@db:5432/x?sslmode=off",
    "git clone https://user:a/§@github.com/x",
    'curl -H "Authorization: Bearer §" https://x',
    "curl -H 'Authorization: Basic §' -H 'X-Api-Key: §'",
    "curl -H 'Cookie: a=b; session=§' https://x",
    "curl -u bob:§ https://x",
    "DB_PASS=§ REDIS_AUTH=§ MYSQL_PWD=§ PGPASSWORD=§ CI_PAT=§ HFTOKEN=§ AccountKey=§",
    "https://x/?token=§&lr=3",
    '{"API_TOKEN":"§","lr":1}',
    r"{\"API_TOKEN\":\"§\"}",
    'core.EnvVar{Name:"API_TOKEN", Value:"§", ValueFrom:nil}, Args:[]string{"--token", "§"}',
    "args: [--token § --lr 1]",
    "- --token\n- §\n- --lr",
    "- name: API_TOKEN\n  value: §",
    "password: §",
    "Error: bad password: §",
    "webhook: token: § is not valid",
    "-----BEGIN RSA PRIVATE KEY-----\n§\n-----END RSA PRIVATE KEY-----",
)
PLAIN_TEXTS = (
    "cockpit job submit mpijob --set name=tokenizer --set 'command=python secrets_of_training.py --lr 1'",
    "TOKENIZERS_PARALLELISM=false MAX_TOKENS=4096 TOKEN_FILE=/run/token PWD=/work HF_TOKEN=$(HF_TOKEN)",
    "--pull-secret regcred --max-tokens 100 --token-budget 3 --auth none --sort-key rank",
    'MountVolume.SetUp failed for volume "x" : failed to fetch token: serviceaccounts "y" is forbidden',
    'CreateContainerConfigError: secret "hf-token" not found',
    "docker-pullable://registry:5000/team/train@sha256:0123 http://host:8080/a@b ssh://git@github.com/x",
    "topologyKey: kubernetes.io/hostname",
    'User "system:serviceaccount:a:token-user" cannot create resource "secrets" in API group ""',
)


@pytest.mark.parametrize("text", SECRET_TEXTS)
def test_a_secret_is_hidden_wherever_it_stands(text: str) -> None:
    shown = mask_text(text.replace("§", CANARY))
    assert CANARY not in shown
    assert HIDDEN in shown
    assert mask_text(shown) == shown


@pytest.mark.parametrize("text", PLAIN_TEXTS)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert mask_text(text) == text


@given(st.text(alphabet="ab -=:'\"/@\\{}[]tokenpas\n", max_size=80))
@settings(deadline=None, max_examples=300)
def test_hiding_twice_is_hiding_once(text: str) -> None:
    once = mask_text(text)
    assert mask_text(once) == once


def test_words_of_a_command_are_read_together() -> None:
    words = ["sh", "-c", "train --token 'a b' --lr 1", "--token", "a b", "--token=a b", "-u", "bob:pw"]
    assert mask_words([*words, "-u", "1000:1000", "--lr", "1"]) == [
        *("sh", "-c", f"train --token '{HIDDEN}' --lr 1", "--token", HIDDEN, f"--token={HIDDEN}"),
        *("-u", f"bob:{HIDDEN}", "-u", "1000:1000", "--lr", "1"),
    ]


def test_the_name_of_a_secret_with_its_folder_is_no_secret() -> None:
    line = ["cockpit", "job", "submit", "--set", "secret-names=hf-token:/run/hf db-password:/x", "--write"]
    assert mask_words(line) == line
    assert mask_text(shlex.join(line)) == shlex.join(line)
    assert mask_text("--set data=token-cache:/cache") == "--set data=token-cache:/cache"
    assert mask_words(["--secret-names", "hf-token:/x"]) == ["--secret-names", "hf-token:/x"]
    assert mask_value("secret-names", "hf-token:/x") == "hf-token:/x"


@pytest.mark.parametrize(
    "words",
    [
        ["--set", f"secret-names=hf-token:{CANARY}"],
        ["--set", f"token=/{CANARY}"],
        ["--token", f"hf-token:/{CANARY.lower()}"],
        ["--set", f"command=run token:/{CANARY}"],
        ["--set", "env=HF_TOKEN=" + CANARY],
    ],
)
def test_what_stands_in_the_place_of_such_a_name_stays_hidden(words: list[str]) -> None:
    assert CANARY.lower() not in " ".join(mask_words(words)).lower()
    assert CANARY.lower() not in mask_text(shlex.join(words)).lower()


def test_a_field_that_is_called_a_secret_is_hidden_whole() -> None:
    assert mask_value("hf-token", CANARY) == HIDDEN
    assert mask_value("command", f"train --token {CANARY}") == f"train --token {HIDDEN}"


def canary_manifest() -> dict[str, Any]:
    """A Job with a canary wherever a manifest can hold one, and neighbours that have to stay."""
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "command": ["sh", "-c", f"git clone https://me:{CANARY}@git.example/x && train --token {CANARY}"],
        "args": ["--api-key", CANARY, f"--password={CANARY}", "--lr", "0.1"],
        "env": [
            {"name": "HF_TOKEN", "value": CANARY},
            {"name": "DATABASE_URL", "value": f"postgres://u:{CANARY}@db/x"},
            {"name": "HEADERS", "value": f"Authorization: Bearer {CANARY}"},
            {"name": "CONFIG", "value": json.dumps({"auth": {"password": CANARY}, "lr": 1})},
            {"name": "TOKENIZERS_PARALLELISM", "value": "false"},
            {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
        ],
        "livenessProbe": {
            "httpGet": {"port": 80, "httpHeaders": [{"name": "Authorization", "value": CANARY}]}
        },
    }
    spec = {"containers": [container], "imagePullSecrets": [{"name": "regcred"}], "restartPolicy": "Never"}
    made: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "canary", "namespace": "team-a", "annotations": {"team/api-key": CANARY}},
        "spec": {"backoffLimit": 0, "template": {"spec": spec}},
    }
    notes = made["metadata"]["annotations"]
    notes["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps(made)
    return made


def test_a_manifest_keeps_all_but_its_secrets() -> None:
    manifest = canary_manifest()
    shown = mask_tree(manifest)
    assert CANARY not in json.dumps(shown)
    assert json.dumps(manifest).count(CANARY) > 15, "what was masked is a copy"
    main = shown["spec"]["template"]["spec"]["containers"][0]
    assert main["args"] == ["--api-key", HIDDEN, f"--password={HIDDEN}", "--lr", "0.1"]
    assert main["command"][2] == f"git clone https://{HIDDEN}@git.example/x && train --token {HIDDEN}"
    assert main["env"][3]["value"] == '{"auth":{"password":"[hidden]"},"lr":1}'
    assert main["env"][4:] == manifest["spec"]["template"]["spec"]["containers"][0]["env"][4:]
    assert shown["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "regcred"}]


def test_values_of_charts_and_workflows_are_hidden_too() -> None:
    helm = {
        "helm": {"values": f"hf:\n  token: {CANARY}\nreplicas: 2\n"},
        "valuesObject": {"dbPassword": 1234567},
    }
    flow = {"arguments": {"parameters": [{"name": "token", "value": CANARY}, {"name": "lr", "value": "1"}]}}
    secret = {"kind": "Secret", "data": {"x": CANARY}}
    shown = json.dumps([mask_tree(helm), mask_tree(flow), mask_tree(secret)])
    assert CANARY not in shown
    assert "1234567" not in shown
    assert "replicas: 2" in shown


def test_a_form_gives_back_what_it_hides() -> None:
    hidden = FormMask()
    text = f"train --token {CANARY} --url https://u:pw-of-u@h/x --password 'two words' --lr 1"
    shown = hidden.text(text)
    assert CANARY not in shown and "pw-of-u" not in shown and "two words" not in shown
    assert hidden.restored(shown) == text
    assert hidden.restored(shown.replace("--lr 1", "--lr 2")) == text.replace("--lr 1", "--lr 2")


def test_a_server_that_repeats_what_was_sent_is_quoted_without_it() -> None:
    value = "only letters"
    sent = {"env": [{"name": "HF_TOKEN", "value": value}]}
    told = ServerStatus(message=f'admission webhook "w" denied the request: "{value}" is weak')
    refusal = read_refusal(403, told, "", secret_values(sent))
    assert value not in f"{refusal.message} {refusal.why}"
    assert HIDDEN in refusal.why


def test_a_sentence_of_an_error_has_no_secret() -> None:
    assert CANARY not in BadInput(f"--prometheus-url: https://u:{CANARY}@h is no URL").sentence
