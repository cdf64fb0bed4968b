"""Which namespaces are shown: some by name, or every one."""

import msgspec


class Namespaces(msgspec.Struct, frozen=True):
    """Some namespaces by name, in the order given; without names every namespace.

    `namespace in namespaces` is True for each that is shown.
    """

    names: tuple[str, ...] = ()

    def __contains__(self, namespace: str) -> bool:
        return not self.names or namespace in self.names

    def __bool__(self) -> bool:
        """True where only some are shown."""
        return bool(self.names)

    def __str__(self) -> str:
        return ", ".join(self.names)

    @property
    def words(self) -> str:
        """`namespace team-a`, `namespaces team-a, team-b`; "all namespaces" without names."""
        if not self.names:
            return "all namespaces"
        return f"namespace{'s' * (len(self.names) > 1)} {self}"

    @property
    def only(self) -> str:
        """The name where there is exactly one, else ""."""
        return self.names[0] if len(self.names) == 1 else ""


EVERY = Namespaces()


def namespaces_of(text: str) -> Namespaces:
    """The namespaces that `a,b` names, each once; of "" every one. The names are not checked."""
    return Namespaces(tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip()))))
