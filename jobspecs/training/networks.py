"""The networks that are trained here: small ones that a processor can train in seconds, and ResNet-50."""

import torch
from torch import nn
from torch.nn import functional


class SmallNet(nn.Module):
    """Two convolutions and two full layers, no BatchNorm, no dropout: its gradient is the global batch's."""

    def __init__(self, classes: int = 10, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.second = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.hidden = nn.Linear(2 * width * 64, 64)
        self.last = nn.Linear(64, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(N, 3, 32, 32) to (N, classes)."""
        seen = functional.relu(self.second(functional.relu(self.first(images))))
        return self.last(functional.relu(self.hidden(seen.flatten(1))))


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut; 1x1, 3x3 and 1x1 where `narrow` is not as wide as `wide`."""

    def __init__(self, came: int, narrow: int, wide: int, stride: int) -> None:
        super().__init__()
        steps = [(came, wide, 3, stride), (wide, wide, 3, 1)]
        if narrow != wide:
            steps = [(came, narrow, 1, 1), (narrow, narrow, 3, stride), (narrow, wide, 1, 1)]
        layers: list[nn.Module] = []
        for number, (before, after, size, by) in enumerate(steps):
            layers += [nn.Conv2d(before, after, size, by, size // 2, bias=False), nn.BatchNorm2d(after)]
            if number < len(steps) - 1:
                layers.append(nn.ReLU(inplace=True))
        self.path = nn.Sequential(*layers)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or came != wide:
            self.shortcut = nn.Sequential(nn.Conv2d(came, wide, 1, stride, bias=False), nn.BatchNorm2d(wide))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features to features."""
        return functional.relu(self.path(images) + self.shortcut(images))


def _stages(came: int, narrow: list[int], blocks: list[int], widening: int) -> nn.Sequential:
    layers = []
    for stage, (width, count) in enumerate(zip(narrow, blocks, strict=True)):
        for number in range(count):
            stride = 2 if stage and not number else 1
            layers.append(Block(came, width, width * widening, stride))
            came = width * widening
    return nn.Sequential(*layers)


def resnet20(classes: int = 10, width: int = 16) -> nn.Module:
    """The ResNet of 20 layers for images of 32 by 32 (He and others 2015, section 4.2)."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        _stages(width, [width, 2 * width, 4 * width], [3, 3, 3], 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * width, classes),
    )


def resnet50(classes: int = 1000) -> nn.Module:
    """ResNet-50 for images of 224 by 224, stride in the 3x3 convolution: 25,557,032 parameters."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
        _stages(64, [64, 128, 256, 512], [3, 4, 6, 3], 4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2048, classes),
    )


NETWORKS = {"small": SmallNet, "resnet20": resnet20}
"""What `train.py` can train, by the name of its option."""


class SmallLanguageModel(nn.Module):
    """A transformer over bytes that sees only what came before; no dropout."""

    def __init__(self, width: int, layers: int, heads: int, context: int) -> None:
        super().__init__()
        self.byte = nn.Embedding(256, width)
        self.place = nn.Embedding(context, width)
        nn.init.normal_(self.byte.weight, std=0.02)
        nn.init.normal_(self.place.weight, std=0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.register_buffer(
            "hidden", torch.triu(torch.full((context, context), float("-inf")), 1), persistent=False
        )

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """Bytes (N, T) to the logits of the byte that follows each: (N, T, 256)."""
        length = text.shape[1]
        places = torch.arange(length, device=text.device)
        seen = self.layers(
            self.byte(text) + self.place(places), mask=self.hidden[:length, :length], is_causal=True
        )
        return self.norm(seen) @ self.byte.weight.T
