"""The proxy of the fault layer, by the names that the cases use."""

from cockpit.sim.faults.exchange import Exchange, Fault, Rule, Seen
from cockpit.sim.faults.proxy import FaultProxy

__all__ = ["Exchange", "Fault", "FaultProxy", "Rule", "Seen"]
