"""What the elastic state makes of the launcher's notices of new hosts: `python notices.py`, one line each."""

import horovod.torch as hvd
from horovod.common.exceptions import HostsUpdatedInterrupt
from networks import SmallNet
from progress_line import say
from train import ElasticState, optimizer_of

ADDED = 1


def is_heard(state: ElasticState) -> bool:
    """Whether the next look at notices interrupts the training."""
    try:
        state.check_host_updates()
    except HostsUpdatedInterrupt:
        return True
    return False


def main() -> None:
    """One host, another within the same second, a third while ranks are exchanged, then none."""
    hvd.init()
    model = SmallNet()
    state = ElasticState(model, optimizer_of(model, 0.1, "none"), step=0)
    state.on_hosts_updated(5, ADDED)
    say("notice", of="first", heard=int(is_heard(state)))
    state.on_hosts_updated(5, ADDED)
    say("notice", of="same-second", heard=int(is_heard(state)))
    state.on_hosts_updated(9, ADDED)
    state.on_reset()
    say("notice", of="exchange", heard=int(is_heard(state)))
    say("notice", of="none", heard=int(is_heard(state)))


if __name__ == "__main__":
    main()
