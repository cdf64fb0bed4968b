"""What stands behind mpirun or horovodrun: their own options end where the command of the ranks begins.

An option that is not known here may or may not take the next word, so a line with one is not read at all.
Sources: mpirun(1) of Open MPI 4.1 and 5.0, Hydra's `mpiexec -help`, horovod/runner/launch.py.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

_MPI: Final = (
    *("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra"),
    *("mpirun.openmpi", "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich"),
)
_HOROVOD: Final = ("horovodrun",)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SHELLS: Final = ("sh", "bash", "dash", "ash", "zsh")
_MPI_ALONE: Final = _set(
    """
    v verbose q quiet l allow-run-as-root bynode byslot nolocal nooversubscribe oversubscribe
    use-hwthread-cpus display-map display-allocation display-topo display-devel-map report-bindings
    tag-output timestamp-output merge-stderr-to-stdout index-argv-by-rank do-not-resolve enable-recovery
    disable-recovery continuous leave-session-attached get-stack-traces pernode noprefix novm
    bind-to-core bind-to-none bind-to-socket genvall envall genvnone envnone prepend-rank print-rank-map
    print-all-exitcodes rr
    """
)
_MPI_ONE: Final = _set(
    """
    np n c H host hostfile machinefile N npernode npersocket map-by rank-by bind-to cpus-per-proc
    cpus-per-rank cpu-list cpu-set slot-list rf rankfile output-filename output stdin path prefix
    preload-files wd wdir x am tune max-restarts timeout personality launch-agent report-uri xterm
    ppn perhost f hosts genvlist envlist launcher launcher-exec iface bootstrap bootstrap-exec rmk
    """
)
_MPI_TWO: Final = _set("mca gmca omca prtemca pmixmca genv env")
_HOROVOD_ALONE: Final = _set(
    """
    verbose gloo mpi jsrun tcp disable-cache hierarchical-allreduce no-hierarchical-allreduce
    hierarchical-allgather no-hierarchical-allgather autotune no-autotune timeline-mark-cycles
    no-timeline-mark-cycles stall-check no-stall-check mpi-threads-disable no-mpi-threads-disable
    log-with-timestamp no-log-with-timestamp log-hide-timestamp no-log-hide-timestamp
    prefix-output-with-timestamp
    """
)
_HOROVOD_ONE: Final = _set(
    """
    np num-proc p ssh-port i ssh-identity-file H hosts hostfile start-timeout network-interfaces
    network-interface output-filename log-level config-file cache-capacity fusion-threshold-mb
    cycle-time-ms timeline-filename autotune-log-file autotune-warmup-samples autotune-steps-per-sample
    autotune-bayes-opt-max-samples autotune-gaussian-process-noise stall-check-warning-time-seconds
    stall-check-shutdown-time-seconds min-np min-num-proc max-np max-num-proc slots-per-host
    elastic-timeout reset-limit host-discovery-script mpi-args binding-args num-nccl-streams
    thread-affinity gloo-timeout-seconds
    """
)
_HOROVOD_TWO: Final = frozenset(("cooldown-range",))
_RANKS: Final = ("np", "n", "c", "num-proc")
_ELASTIC: Final = ("min-np", "min-num-proc", "max-np", "max-num-proc", "host-discovery-script")


class Launch(NamedTuple):
    """A launcher's line of words. `command` is where what every rank runs begins.

    `ranks` are the words that number all ranks; () where hosts come and go, for then they are a beginning.
    """

    command: int
    ranks: tuple[int, ...] = ()


def launch_of(words: Sequence[str]) -> Launch | None:
    """How these words start ranks; None where no launcher can be read in them.

    The launcher is the first word, or the first after `sh -c SCRIPT NAME` whose script runs its arguments.
    """
    at = _program(words)
    if at is None:
        return None
    is_mpi = _base(words[at]) in _MPI
    alone, one, two = (
        (_MPI_ALONE, _MPI_ONE, _MPI_TWO) if is_mpi else (_HOROVOD_ALONE, _HOROVOD_ONE, _HOROVOD_TWO)
    )
    ranks: list[int] = []
    is_elastic = False
    at += 1
    while at < len(words) and words[at].startswith("-"):
        name, equals, _ = words[at].removeprefix("-").removeprefix("-").partition("=")
        values = 0 if name in alone else 1 if name in one else 2 if name in two else None
        if values is None or (equals and values != 1):
            return None
        is_elastic = is_elastic or name in _ELASTIC
        if name in _RANKS and not equals:
            ranks.append(at + 1)
        at += 1 + (0 if equals else values)
    if at >= len(words) or ":" in words[at:]:  # a lone colon divides several programs
        return None
    return Launch(at, () if is_elastic else tuple(ranks))


def runs_sshd(words: Sequence[str]) -> bool:
    """True for a member that only waits for a launcher to log in."""
    return any(_base(part) == "sshd" for word in words for part in word.split())


def _program(words: Sequence[str]) -> int | None:
    """Where the launcher's own name stands."""
    first = 0
    if words and _base(words[0]) in _SHELLS:
        # SCRIPT and NAME stand behind the option that ends in c, the words that "$@" hands on behind them.
        is_handed_on = len(words) > 4 and words[1].startswith("-") and words[1].endswith("c")
        if not is_handed_on or '"$@"' not in words[2]:
            return None
        first = 4
    found = (at for at in range(first, len(words)) if _base(words[at]) in (*_MPI, *_HOROVOD))
    at = next(found, None)
    return at if at == 0 or first else None


def _base(word: str) -> str:
    return word.rpartition("/")[2]
