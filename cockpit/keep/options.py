"""What the command line asked for, and what follows from it together with the configuration."""

import msgspec

from cockpit.keep.config import Settings


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The global options as given; "" and False mean: not given."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    write: bool = False
    prometheus_url: str = ""

    def may_write(self, settings: Settings, context: str) -> bool:
        """True when `--write` or the configuration of that context unlocks changes."""
        return self.write or settings.of_context(context).write

    def prometheus(self, settings: Settings, context: str) -> str:
        """The Prometheus URL in force, "" when it has to be found in the cluster."""
        return self.prometheus_url or settings.of_context(context).prometheus_url

    def namespace_in(self, settings: Settings, context: str) -> str:
        """The namespace in force, "" for all."""
        return self.namespace or settings.of_context(context).namespace
