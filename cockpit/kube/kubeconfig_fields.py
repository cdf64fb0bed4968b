"""The fields of a kubeconfig and what becomes of each: client-go's schema (clientcmd/api/v1), all of it.

A field is honoured as kubectl honours it, or the context is refused by the field's name. What is not of the
schema, and what kubectl passes over, is said in a note. Nothing here is read from disk or sent.
"""

import base64
import binascii
import os
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from cockpit.errors import NoConnection
from cockpit.model.acts_as import ActsAs
from cockpit.nearest import nearest
from cockpit.sanitise import clean

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
"""The extension of a cluster that is handed to credential plugins as `spec.cluster.config`."""
_PLUGIN_API = "client.authentication.k8s.io/"
_MODES = ("Never", "IfAvailable", "Always")
_GONE_PROVIDERS = {
    "gcp": "gke-gcloud-auth-plugin",
    "azure": "kubelogin",
}
"""Login providers that kubectl 1.26 removed, and the exec plugin that took the place of each."""

Schema = Mapping[str, type]
CONFIG: Final[Schema] = {
    "kind": str,
    "apiVersion": str,
    "preferences": dict,
    "clusters": list,
    "users": list,
    "contexts": list,
    "current-context": str,
    "extensions": list,
}
CLUSTER: Final[Schema] = {
    "server": str,
    "tls-server-name": str,
    "insecure-skip-tls-verify": bool,
    "certificate-authority": str,
    "certificate-authority-data": str,
    "proxy-url": str,
    "disable-compression": bool,
    "extensions": list,
}
USER: Final[Schema] = {
    "client-certificate": str,
    "client-certificate-data": str,
    "client-key": str,
    "client-key-data": str,
    "token": str,
    "tokenFile": str,
    "as": str,
    "as-uid": str,
    "as-groups": list,
    "as-user-extra": dict,
    "username": str,
    "password": str,
    "auth-provider": dict,
    "exec": dict,
    "extensions": list,
}
CONTEXT: Final[Schema] = {"cluster": str, "user": str, "namespace": str, "extensions": list}
EXEC: Final[Schema] = {
    "command": str,
    "args": list,
    "env": list,
    "apiVersion": str,
    "installHint": str,
    "provideClusterInfo": bool,
    "interactiveMode": str,
}
PROVIDER: Final[Schema] = {"name": str, "config": dict}
OIDC: Final[Schema] = {
    "idp-issuer-url": str,
    "client-id": str,
    "client-secret": str,
    "idp-certificate-authority": str,
    "idp-certificate-authority-data": str,
    "id-token": str,
    "refresh-token": str,
    "extra-scopes": str,  # no request of kubectl sends them
}
_SHAPES = {str: "text", bool: "true or false", list: "a list", dict: "a mapping"}


class NamedEntry(msgspec.Struct, frozen=True):
    """One named entry of one file, with the words that sentences about it begin with."""

    words: str  # `user 'ann' in /home/ann/.kube/config`
    folder: str  # of its file: paths in it are relative to that
    tree: Mapping[str, Any]

    def fault(self, field: str, why: str) -> NoConnection:
        """The refusal: entry, field, what is wrong and what to do."""
        # no colon behind the field: what follows the name of a secret is masked in sentences
        return NoConnection(f"{clean(self.words, 600)}: {field} cannot be used ({why}).")


def checked(entry: NamedEntry, schema: Schema, prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    """The entry's fields of the schema that hold something, and a note for each that is not of the schema.

    Raises NoConnection for a value of another shape: `"false"` for a yes or no is not false.
    """
    fields: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in entry.tree.items():
        shape = schema.get(name)
        if shape is None:
            alike = nearest(str(name), schema, 1)
            meant = f"; did you mean {prefix}{alike[0]}?" if alike else ""
            notes.append(
                f"{clean(entry.words, 600)}: {prefix}{clean(str(name), 80)} is not a field that kubectl knows"
                f" and has no effect{meant}"
            )
        elif value is None or value in ("", [], {}):
            continue
        elif not isinstance(value, shape):
            raise entry.fault(f"{prefix}{name}", f"must be {_SHAPES[shape]}; correct it")
        else:
            fields[name] = value
    return fields, notes


def cluster_fields(entry: NamedEntry) -> tuple[dict[str, Any], list[str]]:
    """The cluster as it is used: paths whole, one authority. Raises NoConnection by the field's name."""
    fields, notes = checked(entry, CLUSTER)
    server = fields.get("server")
    if server is None or not server.startswith(("https://", "http://")):
        raise NoConnection(
            f"{clean(entry.words, 600)} has no usable server URL"
            f" ({clean(str(entry.tree.get('server')), 200)!r}); fix the file."
        )
    _decoded(entry, fields, "certificate-authority-data")
    _prefer(fields, "certificate-authority-data", "certificate-authority")
    authority = next((name for name in fields if name.startswith("certificate-authority")), "")
    if fields.get("insecure-skip-tls-verify") and authority:
        raise entry.fault(
            "insecure-skip-tls-verify",
            f"an authority ({authority}) cannot be given as well; remove one of the two",
        )
    _absolute(entry, fields, "certificate-authority")
    if (proxy := fields.get("proxy-url")) and urlsplit(proxy).scheme not in ("http", "https"):
        scheme = urlsplit(proxy).scheme or "no scheme"
        raise entry.fault("proxy-url", f"{clean(scheme, 20)} is not supported; give an http or https proxy")
    _check_extensions(entry, fields)
    return fields, notes


def user_fields(entry: NamedEntry) -> tuple[dict[str, Any], ActsAs | None, list[str]]:
    """The user as it is used, paths whole and one way to log in, and whom it acts as.

    Raises NoConnection by the field's name.
    """
    fields, notes = checked(entry, USER)
    acts_as = _acts_as(entry, fields)
    for what in ("client-certificate", "client-key"):
        _decoded(entry, fields, f"{what}-data")
        _prefer(fields, f"{what}-data", what)
        _absolute(entry, fields, what)
    _absolute(entry, fields, "tokenFile")
    _check_certificate(entry, fields)
    _check_extensions(entry, fields)
    _check_login(entry, fields, notes)
    if "exec" in fields:
        fields["exec"] = _exec_fields(entry, fields["exec"], notes)
    if "auth-provider" in fields:
        fields["auth-provider"] = _provider_fields(entry, fields["auth-provider"], notes)
    return fields, acts_as, notes


def context_fields(entry: NamedEntry) -> tuple[dict[str, Any], list[str]]:
    """The context's own fields. Raises NoConnection by the field's name."""
    fields, notes = checked(entry, CONTEXT)
    _check_extensions(entry, fields)
    return fields, notes


def check_config(entry: NamedEntry) -> list[str]:
    """Notes about the file's own fields. Raises NoConnection where it is of another kind or version."""
    fields, notes = checked(entry, CONFIG)
    for name, known in (("kind", "Config"), ("apiVersion", "v1")):
        if fields.get(name, known) != known:
            raise entry.fault(name, f"{clean(fields[name], 80)!r} cannot be read; it must be {known}")
    return notes


def exec_config(cluster: Mapping[str, Any]) -> Any:
    """What the cluster's extension for credential plugins holds; None where there is none."""
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == EXEC_EXTENSION:
            return extension.get("extension")
    return None


# ---- whom a user acts as


def _acts_as(entry: NamedEntry, fields: dict[str, Any]) -> ActsAs | None:
    groups, extra = fields.get("as-groups", []), fields.get("as-user-extra", {})
    for name in ("as-uid", "as-groups", "as-user-extra"):
        if name in fields and "as" not in fields:
            raise entry.fault(name, "no user to act as is named; add `as` or remove it")
    if "as" not in fields:
        return None
    _check_texts(entry, "as-groups", groups)
    for key, values in extra.items():
        _check_texts(entry, "as-user-extra", [key])
        _check_texts(entry, f"as-user-extra.{clean(key, 80)}", values)
    _check_texts(entry, "as", [fields["as"]])
    _check_texts(entry, "as-uid", [fields.get("as-uid", "")])
    return ActsAs(
        fields["as"],
        fields.get("as-uid", ""),
        tuple(groups),
        tuple((key, tuple(values)) for key, values in extra.items()),
    )


def _check_texts(entry: NamedEntry, field: str, values: Any) -> None:
    """Each is text that a header can carry."""
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise entry.fault(field, "must be a list of texts; put numbers in quotes")
    if any(ord(letter) < 0x20 or ord(letter) == 0x7F for value in values for letter in value):
        raise entry.fault(field, "contains a control character, which no header can carry; remove it")


# ---- how a user logs in


def _check_login(entry: NamedEntry, fields: dict[str, Any], notes: list[str]) -> None:
    """One way to log in is left, the one that kubectl takes; the others are named in a note."""
    has_token = "token" in fields or "tokenFile" in fields
    has_basic = "username" in fields or "password" in fields
    if has_token and has_basic:
        raise entry.fault("username", "a token is given as well; remove one of the two ways to log in")
    if "exec" in fields and "auth-provider" in fields:
        raise entry.fault("auth-provider", "an exec plugin is given as well; remove one of the two")
    has_certificate = any(name.startswith("client-certificate") for name in fields)
    for name in ("exec", "auth-provider"):
        is_beaten = has_token or has_basic or (has_certificate and name == "exec")
        if name in fields and is_beaten:
            taken = "the token" if has_token else "the password" if has_basic else "the client certificate"
            notes.append(f"{clean(entry.words, 600)}: {name} is not used: kubectl logs in by {taken} as well")
            del fields[name]


def _check_certificate(entry: NamedEntry, fields: dict[str, Any]) -> None:
    has_certificate = any(name.startswith("client-certificate") for name in fields)
    has_key = any(name.startswith("client-key") for name in fields)
    if has_certificate and not has_key:
        raise entry.fault("client-key", "is missing beside client-certificate; add it")
    if has_key and not has_certificate:
        raise entry.fault("client-certificate", "is missing beside client-key; add it")


def _exec_fields(entry: NamedEntry, tree: Any, notes: list[str]) -> dict[str, Any]:
    section = msgspec.structs.replace(entry, tree=tree)
    fields, more = checked(section, EXEC, "exec.")
    notes += more
    for name in ("command", "apiVersion"):
        if name not in fields:
            raise entry.fault(f"exec.{name}", "is missing; complete the user entry")
    version = fields["apiVersion"]
    if version not in (f"{_PLUGIN_API}v1", f"{_PLUGIN_API}v1beta1"):
        raise entry.fault(
            "exec.apiVersion",
            f"{clean(version, 80)} is not supported; renew the user entry for {_PLUGIN_API}v1",
        )
    if "interactiveMode" not in fields:
        if version == f"{_PLUGIN_API}v1":
            notes.append(
                f"{clean(entry.words, 600)}: exec.interactiveMode is missing, which kubectl refuses:"
                " taken as IfAvailable"
            )
        fields["interactiveMode"] = "IfAvailable"
    if fields["interactiveMode"] not in _MODES:
        raise entry.fault(
            "exec.interactiveMode",
            f"{clean(fields['interactiveMode'], 40)!r}: must be one of {', '.join(_MODES)}",
        )
    if not all(isinstance(value, str) for value in fields.get("args", ())):
        raise entry.fault("exec.args", "must be a list of texts; put numbers in quotes")
    for pair in fields.get("env", ()):
        is_pair = isinstance(pair, dict) and isinstance(pair.get("name"), str) and pair["name"]
        if not is_pair or not isinstance(pair.get("value", ""), str):
            raise entry.fault("exec.env", "each entry needs a name and a value that are text; correct it")
    if os.sep in fields["command"]:
        fields["command"] = os.path.join(entry.folder, fields["command"])
    return fields


def _provider_fields(entry: NamedEntry, tree: Any, notes: list[str]) -> dict[str, Any]:
    fields, more = checked(msgspec.structs.replace(entry, tree=tree), PROVIDER, "auth-provider.")
    notes += more
    name = fields.get("name", "")
    if name != "oidc":
        plugin = _GONE_PROVIDERS.get(name, "")
        remedy = f"log in by the exec plugin {plugin}" if plugin else "log in by an exec plugin"
        raise entry.fault("auth-provider.name", f"{clean(name, 80)!r} is not supported; {remedy}")
    config = msgspec.structs.replace(entry, tree=fields.get("config", {}))
    found, more = checked(config, OIDC, "auth-provider.config.")
    notes += more
    place = "auth-provider.config"
    for needed in ("idp-issuer-url", "client-id"):
        if needed not in found:
            raise entry.fault(f"{place}.{needed}", "is missing; log in to the identity provider again")
    if "id-token" not in found and "refresh-token" not in found:
        raise entry.fault(
            f"{place}.id-token", "is missing, and so is refresh-token; log in to the identity provider again"
        )
    _decoded(entry, found, "idp-certificate-authority-data", f"{place}.")
    _prefer(found, "idp-certificate-authority-data", "idp-certificate-authority")
    _absolute(entry, found, "idp-certificate-authority")
    return {"name": name, "config": found}


# ---- values


def _prefer(fields: dict[str, Any], data: str, file: str) -> None:
    """Data goes before a file, as the schema says."""
    if data in fields:
        fields.pop(file, None)


def _absolute(entry: NamedEntry, fields: dict[str, Any], name: str) -> None:
    if name in fields:
        fields[name] = os.path.join(entry.folder, fields[name])


def _decoded(entry: NamedEntry, fields: dict[str, Any], name: str, prefix: str = "") -> None:
    if name in fields:
        try:
            base64.b64decode("".join(fields[name].split()), validate=True)
        except (binascii.Error, ValueError):
            raise entry.fault(f"{prefix}{name}", "is not base64; write it again") from None


def _check_extensions(entry: NamedEntry, fields: dict[str, Any]) -> None:
    for extension in fields.get("extensions", ()):
        if not isinstance(extension, dict) or not isinstance(extension.get("name"), str):
            raise entry.fault("extensions", "each entry needs a name; correct it")
