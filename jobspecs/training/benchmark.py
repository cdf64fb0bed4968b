"""ResNet-50 on random images with Horovod: samples a second of one rank and of all.

Ten batches to warm up, then ten times ten batches; the mean of the ten and 1.96 standard deviations,
without the warm-up.
"""

import argparse
import os
import socket
import statistics
import sys
import time

import horovod.torch as hvd
import torch
from compute_time import ComputeTime
from networks import NETWORKS, resnet50
from number_options import at_least
from progress_line import say
from torch.nn import functional


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="benchmark.py", description="Samples a second of ResNet-50 with Horovod."
    )
    add, positive = parser.add_argument, at_least(1)
    add("--model", choices=["resnet50", *sorted(NETWORKS)], default="resnet50")
    add("--batch", type=positive, default=32, help="images of one rank in a step (32)")
    add("--warmup-batches", type=positive, default=10, help="before it is measured (10)")
    add("--batches", type=positive, default=10, help="of one measurement (10)")
    add("--measurements", type=positive, default=10, help="(10)")
    add(
        "--compression",
        choices=("none", "fp16"),
        default="none",
        help="of gradients while they are exchanged",
    )
    return parser.parse_args(arguments)


def spread(rates: list[float]) -> float:
    """1.96 standard deviations of the measurements, as the field's benchmarks print behind +-."""
    return 1.96 * statistics.pstdev(rates)


class Benchmark:
    """One rank's network, and the one batch that it trains on again and again."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.device = torch.device("cpu")
        if torch.cuda.is_available():
            self.device = torch.device("cuda", hvd.local_rank())
            torch.cuda.set_device(self.device)
            torch.backends.cudnn.benchmark = True
        is_large = chosen.model == "resnet50"
        self.model = (resnet50() if is_large else NETWORKS[chosen.model]()).to(self.device)
        self.batch = chosen.batch
        sgd = torch.optim.SGD(self.model.parameters(), lr=0.01 * hvd.size(), momentum=0.9)
        self.optimizer = hvd.DistributedOptimizer(
            sgd,
            named_parameters=self.model.named_parameters(),
            compression=getattr(hvd.Compression, chosen.compression),
        )
        hvd.broadcast_parameters(self.model.state_dict(), root_rank=0)
        side, classes = (224, 1000) if is_large else (32, 10)
        self.pixels = torch.randn(chosen.batch, 3, side, side, device=self.device)
        self.labels = torch.randint(classes, (chosen.batch,), device=self.device)
        self.compute = ComputeTime(self.device)

    def measure(self, batches: int) -> float:
        """Train so many batches; seconds."""
        begun = time.perf_counter()
        for _ in range(batches):
            with self.compute:
                self.optimizer.zero_grad()
                functional.cross_entropy(self.model(self.pixels), self.labels).backward()
            self.optimizer.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begun


def main() -> int:
    """Measure and print; the exit code."""
    chosen = options()
    hvd.init()
    bench = Benchmark(chosen)
    rank, size = hvd.rank(), hvd.size()
    unit = "GPU" if bench.device.type == "cuda" else "CPU"
    host = os.environ.get("HOROVOD_HOSTNAME") or socket.gethostname()
    say("started", rank=rank, size=size, host=host, device=str(bench.device))
    _tell(f"Model: {chosen.model}\nBatch size: {chosen.batch}\nNumber of {unit}s: {size}\nRunning warmup...")
    bench.measure(chosen.warmup_batches)
    bench.compute.mean_s()
    _tell("Running benchmark...")
    rates = []
    for number in range(chosen.measurements):
        seconds = bench.measure(chosen.batches)
        rates.append(chosen.batch * chosen.batches / seconds)
        _tell(f"Iter #{number}: {rates[-1]:.1f} img/sec per {unit}")
        total = hvd.allreduce(torch.tensor(rates[-1]), op=hvd.Sum, name="rate").item()
        step = (number + 1) * chosen.batches
        own = {"seconds_per_step": seconds / chosen.batches, "compute_s": bench.compute.mean_s()}
        counts = {"steps": chosen.measurements * chosen.batches, "samples_per_s": total} if rank == 0 else {}
        say("progress", step=step, **counts, **own, rank=rank, size=size)
    mean, deviation = statistics.fmean(rates), spread(rates)
    _tell(f"Img/sec per {unit}: {mean:.1f} +-{deviation:.1f}")
    _tell(f"Total img/sec on {size} {unit}(s): {size * mean:.1f} +-{size * deviation:.1f}")
    total = hvd.allreduce(torch.tensor(mean), op=hvd.Sum, name="mean").item()
    if rank == 0:
        steps = chosen.measurements * chosen.batches
        say("ended", step=steps, why="done", samples_per_s=total, deviation=size * deviation)
    return 0


def _tell(text: str) -> None:
    """The lines of the field's usual benchmark, by rank 0 alone."""
    if hvd.rank() == 0:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
