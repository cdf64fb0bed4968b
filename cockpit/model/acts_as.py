"""Whom a user of a kubeconfig acts as: the identity that every request asks the API server for."""

import msgspec


class ActsAs(msgspec.Struct, frozen=True):
    """The impersonated identity as it goes over the wire; `user` is never empty."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()  # key and values, in the order of the file
