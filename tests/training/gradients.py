"""Run on every rank: the gradients of one global batch, in float64, written as JSON by rank 0.

`horovodrun -np 2 python gradients.py FILE` and `python gradients.py FILE` have to come to the same.
"""

import json
import sys
from pathlib import Path

import horovod.torch as hvd
import images
import torch
from networks import SmallNet
from torch.nn import functional
from train import ElasticState, optimizer_of

GLOBAL_BATCH = 32


def main() -> None:
    """One forward and backward of this rank's share, exchanged as `train.py` does."""
    hvd.init()
    torch.manual_seed(1 + hvd.rank())  # so that the broadcast is needed
    model = SmallNet().double()
    optimizer = optimizer_of(model, 0.1, "none")
    ElasticState(model, optimizer).sync()
    pictures = images.synthetic(256, seed=5, part=0)
    each = GLOBAL_BATCH // hvd.size()
    mine = images.chosen(len(pictures), 7, 0, hvd.rank() * each, each)
    pixels, labels = pictures.batch(mine, torch.device("cpu"), torch.float64)
    functional.cross_entropy(model(pixels), labels).backward()
    optimizer.synchronize()
    if hvd.rank() == 0:
        told = {name: one.grad.flatten().tolist() for name, one in model.named_parameters()}
        Path(sys.argv[1]).write_text(json.dumps({"size": hvd.size(), "gradients": told}))


if __name__ == "__main__":
    main()
