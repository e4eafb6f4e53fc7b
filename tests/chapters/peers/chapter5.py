"""Chapter 5, index_add: its cases, and random shapes, indices and types."""

import ctypes
import dataclasses
import math
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, compare_within, log_uniform, torch_dtype

LIBRARY = "index_add"
FUNCTIONS = {
    "warpbook_index_add": [Pointer, ctypes.POINTER(ctypes.c_size_t), Pointer, Pointer, Pointer, Int, Int,
                           ctypes.POINTER(Int64), Int, Int64, Pointer],
}
TYPES = {"half": 0, "float": 1, "double": 2, "int32": 3}
DIGITS = {"half": 11, "bfloat16": 8, "float": 24, "double": 53}


@dataclasses.dataclass(frozen=True)
class IndexAdd(Case):
    """dst.index_add_(dim, index, src) with contiguous tensors and an index of int64, drawn evenly or by Zipf's law."""

    shape: tuple
    dim: int
    count: int
    dtype: str
    draw: str = "uniform"

    in_place = True

    @property
    def name(self):
        draw = "" if self.draw == "uniform" else f" draw={self.draw}"
        return f"shape={','.join(map(str, self.shape))} dim={self.dim} count={self.count}{draw}"

    @property
    def row_elements(self):
        return math.prod(self.shape) // self.shape[self.dim]

    def index(self):
        """The rows, always the same for the same case."""
        import torch

        generator = torch.Generator().manual_seed(5)
        rows = self.shape[self.dim]
        if self.draw == "uniform":
            return torch.randint(0, rows, (self.count,), generator=generator)
        share = torch.rand(self.count, dtype=torch.float64, generator=generator)
        rank = torch.exp(share * math.log(rows + 1)).long() - 1
        spread = next(n for n in range(7919, 7919 + rows + 1) if math.gcd(n, rows) == 1)
        return rank.clamp(0, rows - 1) * spread % rows

    @property
    def bytes_moved(self):
        """src, the index, and twice the rows that are named at least once (for an even draw: as many as expected)."""
        rows = self.shape[self.dim]
        if self.draw == "uniform":
            distinct = rows * -math.expm1(self.count * math.log1p(-1 / rows)) if rows > 1 else min(self.count, 1)
        else:  # The k-th row by popularity is named with probability p_k = log((k + 1) / k) / log(rows + 1).
            total = math.log(rows + 1)
            distinct = sum(-math.expm1(self.count * math.log1p(-math.log1p(1 / k) / total)) for k in range(1, rows + 1))
        return int((self.count + 2 * distinct) * self.row_elements * ELEMENT_BYTES[self.dtype] + 8 * self.count)

    def make_inputs(self):
        """Sixteenths, small enough that sums of float are exact, so that the order does not matter."""
        import torch

        index = self.index().cuda()
        src_shape = list(self.shape)
        src_shape[self.dim] = self.count
        if self.dtype not in DIGITS:
            return tuple(
                torch.randint(0, 100, shape, device="cuda").to(torch_dtype(self.dtype)) for shape in (self.shape, src_shape)
            ) + (index,)

        def values(shape):
            signs = torch.randint(0, 2, shape, device="cuda", dtype=torch.int8) * 2 - 1
            return (signs.to(torch_dtype(self.dtype)) * torch.randint(1, 3, (1,), device="cuda").item()) / 16

        return values(self.shape), values(src_shape), index

    def operation(self):
        dim = self.dim
        return lambda dst, src, index: dst.index_add_(dim, index, src)

    def small_part(self):
        """As chapter 4's: halves that many entries add to are what Triton's loop waits for."""
        if self.dtype != "half" or self.draw != "uniform" or self.count < 4096 * self.shape[self.dim]:
            return None, 1
        return dataclasses.replace(self, count=self.count // 4096), 4096

    def bind(self, library, inputs, stream):
        import torch

        dst, src, index = inputs
        shape = (Int64 * len(self.shape))(*self.shape)
        size = ctypes.c_size_t(0)
        arguments = (dst.data_ptr(), index.data_ptr(), src.data_ptr(), TYPES[self.dtype], len(self.shape), shape,
                     self.dim, self.count, stream)
        checked(library.warpbook_index_add, None, ctypes.byref(size), *arguments)()
        self_workspace = torch.empty(size.value + 256, dtype=torch.uint8, device="cuda")
        call = checked(library.warpbook_index_add, self_workspace.data_ptr(), ctypes.byref(size), *arguments)

        def with_workspace():
            call()
            return self_workspace  # Which lives as long as the call does.

        return with_workspace, dst

    def compare(self, ours, expected):
        """Float: to the bit. Narrow types: PyTorch rounds after each addition and we do not always, so results may be as
        far apart as the roundings of a row's entries taken at random. run_all judges ours by its own bound."""
        if self.dtype not in ("half", "bfloat16"):
            return super().compare(ours, expected)
        import torch

        terms = int(torch.bincount(self.index()).max())
        unit = 2.0 ** -DIGITS[self.dtype]
        largest = max(expected.double().abs().max().item(), 0.125 * math.sqrt(terms))
        return compare_within(ours, expected, 2 * unit, 8 * unit * math.sqrt(terms) * largest)


def fixed_cases():
    """The article's five cases, contention, embeddings, every place of dim, rank 1 to 5."""
    cases = []
    for dtype in ("float", "half"):
        cases += [
            IndexAdd((33554432,), 0, 15, dtype),
            IndexAdd((32768, 1024), 0, 15, dtype),
            IndexAdd((32, 1024, 1024), 0, 15, dtype),
            IndexAdd((33554432,), 0, 1024, dtype),
            IndexAdd((32768, 1024), 0, 1024, dtype),
        ]
        cases += [IndexAdd((rows, 64), 0, 1048576, dtype) for rows in (1, 16, 1024, 1048576)]
        cases += [
            IndexAdd((32768, 1024), 0, 16384, dtype, "zipf"),
            IndexAdd((262144, 512), 0, 32768, dtype, "zipf"),
            IndexAdd((4096, 4096), 0, 64, dtype),
            IndexAdd((4096, 4096), 1, 4096, dtype),
            IndexAdd((64, 1024, 256), 1, 1024, dtype),
            IndexAdd((16, 32, 64, 128), 2, 256, dtype),
            IndexAdd((8, 12, 20, 24, 36), 3, 100, dtype),
        ]
    return cases


def random_cases(count, seed):
    """Rank 1 to 5, src of 1 MiB to 128 MiB, any dim; half of them by Zipf's law."""
    generator = random.Random(seed)
    cases = []
    while len(cases) < count:
        dtype = generator.choice(sorted(TYPES))
        rank = generator.randint(1, 5)
        dim = generator.randrange(rank)
        elements = log_uniform(generator, 2**20, 2**27) / ELEMENT_BYTES[dtype]
        entries = int(log_uniform(generator, 4, min(elements, 2**20)))
        rows = int(log_uniform(generator, 1, 2**20))
        shares = [generator.random() for _ in range(rank - 1)]
        row_elements = elements / entries if rank > 1 else 1
        shape = [max(1, round(row_elements ** (share / sum(shares)))) for share in shares]
        shape.insert(dim, rows)
        if rank == 1:
            entries = int(min(elements, 2**24))
        if math.prod(shape) * ELEMENT_BYTES[dtype] > 2**31:
            continue
        cases.append(IndexAdd(tuple(shape), dim, entries, dtype, generator.choice(("uniform", "zipf"))))
    return cases
