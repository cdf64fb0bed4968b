"""A screen that is about one cluster: the one that it was opened for."""

from textual.screen import Screen

from cockpit.screens.app_protocol import Cockpit, cockpit_of


class BoundScreen(Screen[None]):
    """Until it is bound it is about the cluster that what runs now is about."""

    _bound: Cockpit | None = None

    def bind(self, cockpit: Cockpit) -> None:
        """It is about this cluster from now on."""
        self._bound = cockpit

    @property
    def bound_cluster(self) -> Cockpit | None:
        """The cluster that pages opened above it are about; None before there is one."""
        return self._bound

    @property
    def cockpit(self) -> Cockpit:
        """The app, as the cluster of this screen knows it."""
        if self._bound is None:
            self._bound = cockpit_of(self.app)
        return self._bound

    @property
    def acting(self) -> Cockpit:
        """The same for what verbs are for: what is marked, else what is under the cursor."""
        return self.cockpit

    @property
    def mixed_marks(self) -> str:
        """Why no verb is for what is marked: it is in several clusters; "" where it is not."""
        return ""
