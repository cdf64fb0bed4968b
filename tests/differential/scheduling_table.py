"""The table of situations."""

from tests.differential.scheduling_choices import CHOICES, PREEMPTION, VOLUMES
from tests.differential.scheduling_places import COMPANY, LABELS, PORTS, RESOURCES, SPREADS, TAINTS

TABLE = [*RESOURCES, *TAINTS, *LABELS, *PORTS, *COMPANY, *SPREADS, *VOLUMES, *PREEMPTION, *CHOICES]
