"""Chapter 2, strided access: its cases, and random views."""

import collections
import ctypes
import dataclasses
import itertools
import math
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, log_uniform, poisoned, torch_dtype

LIBRARY = "strided_copy"
ARGUMENTS = [Pointer, Pointer, Int, ctypes.POINTER(Int64), ctypes.POINTER(Int64), Int64, Int, Pointer]
FUNCTIONS = {"warpbook_make_contiguous": ARGUMENTS, "warpbook_write_into_view": ARGUMENTS}
DTYPES = ("double", "float", "half", "uint8")
BLOCK_BYTES = 64


def random_tensor(elements, dtype):
    """Data without NaN, so that equal values mean equal results."""
    import torch

    if dtype == "uint8":
        return torch.randint(0, 256, (elements,), dtype=torch.uint8, device="cuda")
    return torch.randn(elements, dtype=torch_dtype(dtype), device="cuda")


def touched_blocks(steps, element_bytes, first_byte):
    """How many 64-byte blocks elements lie in that follow each other by these (size, bytes between neighbours)."""
    steps = sorted((step for step in steps if step[0] > 1 and step[1] > 0), key=lambda step: step[1])
    merged = []  # Windows that overlap: where a step is a multiple of the one before and no longer than all of its run,
    for size, between in steps:  # both together are one longer run of the smaller step.
        if merged and between % merged[-1][1] == 0 and between // merged[-1][1] <= merged[-1][0]:
            merged[-1][0] += (size - 1) * (between // merged[-1][1])
        else:
            merged.append([size, between])
    run = element_bytes  # Without a gap of a whole block: it touches all blocks from its first byte to its last.
    while merged and merged[0][1] < run + BLOCK_BYTES:
        size, between = merged.pop(0)
        run += (size - 1) * between

    extent, independent = run, True
    for size, between in merged:
        independent = independent and between >= extent + BLOCK_BYTES
        extent += (size - 1) * between
    if independent:  # No two runs share a block: only where each begins within a block counts.
        begins = collections.Counter({first_byte % BLOCK_BYTES: 1})
        for size, between in merged:
            period = BLOCK_BYTES // math.gcd(between, BLOCK_BYTES)
            turned = collections.Counter()
            for begin, times in begins.items():
                for k in range(min(size, period)):
                    turned[(begin + k * between) % BLOCK_BYTES] += times * ((size - k + period - 1) // period)
            begins = turned
        return sum(times * ((begin + run - 1) // BLOCK_BYTES + 1) for begin, times in begins.items())
    blocks = set()
    for place in itertools.product(*(range(0, size * between, between) for size, between in merged)):
        first = first_byte + sum(place)
        blocks.update(range(first // BLOCK_BYTES, (first + run - 1) // BLOCK_BYTES + 1))
    return len(blocks)


@dataclasses.dataclass(frozen=True)
class View(Case):
    """A view as in torch.as_strided, made contiguous, or written with contiguous data."""

    shape: tuple
    strides: tuple
    offset: int
    dtype: str
    into: bool = False

    @property
    def in_place(self):
        return self.into

    @property
    def name(self):
        """As the chapter's --case takes it, without the type."""
        return (f"shape={','.join(map(str, self.shape))} strides={','.join(map(str, self.strides))}"
                + (f" offset={self.offset}" if self.offset else "") + (" into=1" if self.into else ""))

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def result_bytes(self):
        return self.elements * ELEMENT_BYTES[self.dtype]

    @property
    def storage_elements(self):
        """The least array that the view is one of."""
        return self.offset + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides)) + 1

    @property
    def is_contiguous(self):
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    @property
    def bytes_moved(self):
        """The contiguous side, and the 64-byte blocks that the view touches."""
        element_bytes = ELEMENT_BYTES[self.dtype]
        steps = [(size, stride * element_bytes) for size, stride in zip(self.shape, self.strides)]
        return self.result_bytes + BLOCK_BYTES * touched_blocks(steps, element_bytes, self.offset * element_bytes)

    def make_inputs(self):
        """The view; and what is written into it."""
        import torch

        view = torch.as_strided(random_tensor(self.storage_elements, self.dtype), self.shape, self.strides, self.offset)
        return (view, random_tensor(self.elements, self.dtype).view(self.shape)) if self.into else (view,)

    def operation(self):
        """contiguous() of a view that is not contiguous: a copy, into memory that PyTorch allocates."""
        import torch

        if self.into:
            return lambda view, source: view.copy_(source)
        return lambda view: view.clone(memory_format=torch.contiguous_format)

    def bind(self, library, inputs, stream):
        import torch

        view = inputs[0]
        dims = len(self.shape)
        sizes, strides = (Int64 * dims)(*self.shape), (Int64 * dims)(*self.strides)
        array = view.data_ptr() - self.offset * view.element_size()
        if self.into:
            source = inputs[1]
            call = checked(library.warpbook_write_into_view, array, source.data_ptr(), dims, sizes, strides, self.offset,
                           view.element_size(), stream)
            call.keeps = source
            return call, view
        output = poisoned(torch.empty(self.shape, dtype=view.dtype, device="cuda"))
        call = checked(library.warpbook_make_contiguous, output.data_ptr(), array, dims, sizes, strides, self.offset,
                       view.element_size(), stream)
        return call, output

    def yardsticks(self, inputs):
        """A fill of the result where the view is a broadcast: most of the work is to write."""
        import torch

        if self.into or 0 not in self.strides:
            return {}
        filled = torch.empty(self.result_bytes, dtype=torch.uint8, device="cuda")
        return {"fill": filled.zero_}


def fixed_cases():
    """The chapter's cases of 64 Mi elements, in float and half."""
    cases = []
    for dtype in ("float", "half"):
        cases += [
            View((64, 512, 1024), (1 << 20, 2048, 1), 0, dtype),  # x[:, ::2]
            View((64, 1023, 1023), (1 << 20, 1024, 1), 1025, dtype),  # x[:, 1:, 1:]
            View((64, 1024, 512), (1 << 20, 1024, 1), 0, dtype),  # x[:, :, :512]
            View((1 << 20, 60), (64, 1), 3, dtype),
            View((64, 1024, 512), (1 << 20, 1024, 2), 0, dtype),  # x[..., ::2]
            View((64, 1024, 64), (1 << 20, 1024, 16), 0, dtype),  # x[..., ::16]
            View((256, 64, 64, 22), (1 << 18, 4096, 64, 3), 0, dtype),
            View((64, 1024, 1024), (1 << 20, 1, 1024), 0, dtype),  # x.transpose(1, 2)
            View((1024, 1024, 64), (1, 1024, 1 << 20), 0, dtype),  # x.transpose(0, 2)
            View((64, 1023, 1023), (1 << 20, 1, 1024), 1025, dtype),  # x[:, 1:, 1:].transpose(1, 2)
            View((64, 512, 1024), (1 << 20, 2, 1024), 0, dtype),  # x[..., ::2].transpose(1, 2)
            View((64, 1024, 1024), (0, 1024, 1), 0, dtype),  # Broadcasts.
            View((64, 1024, 1024), (1024, 0, 1), 0, dtype),
            View((64, 1024, 1024), (1024, 1, 0), 0, dtype),
            View((65536, 32, 32), (32, 1, 0), 0, dtype),
            View((1 << 20, 64), (1, 1), 0, dtype),  # Windows that overlap.
            View((64, 512, 1024), (1 << 20, 2048, 1), 0, dtype, into=True),
            View((64, 1023, 1023), (1 << 20, 1024, 1), 1025, dtype, into=True),
            View((64, 1024, 512), (1 << 20, 1024, 2), 0, dtype, into=True),
            View((64, 1023, 1023), (1 << 20, 1, 1024), 1025, dtype, into=True),
        ]
    return cases


def log_uniform_shape(generator, rank, elements):
    """Log-uniform sizes whose product is about `elements`."""
    shares = [generator.random() for _ in range(rank)]
    return [max(1, round(math.exp(math.log(elements) * share / sum(shares)))) for share in shares]


class Indexing:
    """What a program does to a contiguous tensor to get a view: each method is one line of PyTorch."""

    def __init__(self, generator, shape):
        self.generator = generator
        self.shape, self.strides, self.offset = list(shape), [], 0
        stride = 1
        for size in reversed(shape):
            self.strides.insert(0, stride)
            stride *= size

    def any_dimension(self):
        return self.generator.randrange(len(self.shape))

    def slice(self):
        """x[..., a:b, ...]: at least half of a dimension."""
        d = self.any_dimension()
        kept = self.generator.randint((self.shape[d] + 1) // 2, self.shape[d])
        self.offset += self.generator.randint(0, self.shape[d] - kept) * self.strides[d]
        self.shape[d] = kept

    def step(self):
        """x[..., ::n, ...], n of 2 to 8."""
        d = self.any_dimension()
        by = self.generator.randint(2, 8)
        self.shape[d] = (self.shape[d] + by - 1) // by
        self.strides[d] *= by

    def transpose(self):
        """x.transpose(a, b)."""
        a, b = self.any_dimension(), self.any_dimension()
        self.shape[a], self.shape[b] = self.shape[b], self.shape[a]
        self.strides[a], self.strides[b] = self.strides[b], self.strides[a]

    def permute(self):
        """x.permute(...)."""
        order = list(range(len(self.shape)))
        self.generator.shuffle(order)
        self.shape, self.strides = [self.shape[d] for d in order], [self.strides[d] for d in order]

    def expand(self):
        """x.unsqueeze(a).expand(...): 2 to 64 times."""
        at = self.generator.randint(0, len(self.shape))
        self.shape.insert(at, round(log_uniform(self.generator, 2, 64)))
        self.strides.insert(at, 0)

    def unfold(self):
        """x.unfold(a, window, 1): windows of 2 to 8 that overlap, a new last dimension."""
        d = self.any_dimension()
        window = min(self.shape[d], self.generator.randint(2, 8))
        self.shape[d] -= window - 1
        self.shape.append(window)
        self.strides.append(self.strides[d])


def random_view(generator):
    """A view of 8 MiB to 256 MiB by one to three of these operations on a tensor of rank 1 to 4 and at most 1 GiB."""
    while True:
        dtype = generator.choice(DTYPES)
        element_bytes = ELEMENT_BYTES[dtype]
        elements = round(log_uniform(generator, 2**20, 2**30) / element_bytes)
        view = Indexing(generator, log_uniform_shape(generator, generator.randint(1, 4), elements))
        operations = (view.slice, view.slice, view.step, view.transpose, view.permute, view.expand, view.unfold)
        for _ in range(generator.randint(1, 3)):
            generator.choice(operations)()
        case = View(tuple(view.shape), tuple(view.strides), view.offset, dtype)
        if (not case.is_contiguous and 2**23 <= case.result_bytes <= 2**28
                and case.storage_elements * element_bytes <= 2**30):
            return case


def random_cases(count, seed):
    """Views as programs make them."""
    generator = random.Random(seed)
    return [random_view(generator) for _ in range(count)]
