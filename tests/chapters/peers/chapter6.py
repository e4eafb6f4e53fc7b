"""Chapter 6, upsample nearest: forward and backward, doubled images and any scale, both layouts."""

import ctypes
import dataclasses
import math
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, compare_within, log_uniform, torch_dtype

LIBRARY = "upsample_nearest"
FUNCTIONS = {
    "warpbook_upsample_nearest": [
        Pointer, Pointer, ctypes.POINTER(Int64), ctypes.POINTER(ctypes.c_double), Int, Int, Int, Pointer,
    ],
}
TYPES = ("float", "half", "bfloat16")  # By the numbers that the library takes.
UNIT_ROUNDOFF = {"float": 2.0**-24, "half": 2.0**-11, "bfloat16": 2.0**-8}


@dataclasses.dataclass(frozen=True)
class Upsample(Case):
    """shape: N, C, H, W of the input; size: H, W of the output; scale: as PyTorch's scale_factor, or None."""

    shape: tuple
    dtype: str
    backward: bool = False
    size: tuple = None
    scale: float = None
    channels_last: bool = False

    def __post_init__(self):
        if self.size is None:
            object.__setattr__(self, "size", tuple(math.floor(n * (self.scale or 2)) for n in self.shape[2:]))

    @property
    def name(self):
        text = f"shape={','.join(map(str, self.shape))} dir={'backward' if self.backward else 'forward'}"
        if self.channels_last:
            text += " layout=nhwc"
        if self.scale:
            return f"{text} scale={self.scale}"
        return text if self.size == tuple(2 * n for n in self.shape[2:]) else f"{text} size={self.size[0]},{self.size[1]}"

    @property
    def bytes_moved(self):
        """Every element once on both sides; where images shrink, what is read of the input."""
        pixels = [min(a, b) for a, b in zip(self.shape[2:], self.size)]
        read = math.prod(self.size) if self.backward else math.prod(pixels)
        written = math.prod(self.shape[2:]) if self.backward else math.prod(self.size)
        return (read + written) * self.shape[0] * self.shape[1] * ELEMENT_BYTES[self.dtype]

    def images(self, height, width):
        """Memory for images in the layout, as a tensor of N, C, H, W."""
        import torch

        n, c = self.shape[:2]
        dtype = torch_dtype(self.dtype)
        if self.channels_last:
            return torch.empty((n, height, width, c), dtype=dtype, device="cuda").permute(0, 3, 1, 2)
        return torch.empty((n, c, height, width), dtype=dtype, device="cuda")

    def make_inputs(self):
        return (self.images(*(self.size if self.backward else self.shape[2:])).normal_(),)

    def operation(self):
        import torch

        size, shape, scales = list(self.size), list(self.shape), (self.scale, self.scale)
        if self.backward:
            return lambda dy: torch.ops.aten.upsample_nearest2d_backward(dy, size, shape, *scales)
        return lambda x: torch.ops.aten.upsample_nearest2d(x, size, *scales)

    def bind(self, library, inputs, stream):
        output = self.images(*(self.shape[2:] if self.backward else self.size)).fill_(float("nan"))
        sizes = (Int64 * 6)(*self.shape, *self.size)
        scales = (ctypes.c_double * 2)(self.scale or 0, self.scale or 0)
        call = checked(library.warpbook_upsample_nearest, output.data_ptr(), inputs[0].data_ptr(), sizes, scales,
                       int(self.channels_last), int(self.backward), TYPES.index(self.dtype), stream)
        return call, output

    def compare(self, ours, expected):
        """Forward moves data. Backward adds up in float, in any order, numbers below 8 here."""
        if not self.backward:
            return super().compare(ours, expected)
        terms = math.prod(math.ceil(b / a) + 1 for a, b in zip(self.shape[2:], self.size))
        return compare_within(ours, expected, 2 * UNIT_ROUNDOFF[self.dtype], 8 * terms**2 * UNIT_ROUNDOFF["float"])


def fixed_cases():
    article, large = (16, 32, 80, 80), (32, 64, 256, 256)
    cases = []
    for backward in (False, True):
        for dtype in TYPES:
            cases.append(Upsample(article, dtype, backward))
        for dtype in ("float", "half"):
            cases += [
                Upsample(large, dtype, backward),
                Upsample(article, dtype, backward, channels_last=True),
                Upsample(large, dtype, backward, channels_last=True),
                Upsample((32, 64, 127, 129), dtype, backward),
                Upsample((16, 64, 128, 128), dtype, backward, scale=3.0),
                Upsample((16, 64, 160, 160), dtype, backward, scale=1.5),
                Upsample((16, 64, 160, 160), dtype, backward, scale=1.5, channels_last=True),
                Upsample((16, 64, 256, 256), dtype, backward, scale=0.5),
                Upsample((16, 64, 100, 100), dtype, backward, size=(333, 271)),
            ]
    return cases


def random_case(generator):
    """Outputs of 1 Mi to 128 Mi elements, half of the cases doubled."""
    channels = generator.choice((1, 3, 16, 32, 64, generator.randint(1, 100)))
    height, width = (round(log_uniform(generator, 8, 300)) for _ in range(2))
    scale = None if generator.random() < 0.5 else round(log_uniform(generator, 0.4, 5), 2)
    factor = (scale or 2) ** 2
    batch = max(1, round(log_uniform(generator, 2**20, 2**27) / (channels * height * width * factor)))
    return Upsample((batch, channels, height, width), generator.choice(TYPES), generator.random() < 0.5, scale=scale,
                    channels_last=generator.random() < 1 / 3)


def random_cases(count, seed):
    generator = random.Random(seed)
    return [random_case(generator) for _ in range(count)]
