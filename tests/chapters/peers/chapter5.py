"""Chapter 5, index_add: its cases, and random shapes, indices and types."""

import ctypes
import dataclasses
import functools
import json
import math
import pathlib
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, compare_within, log_uniform, torch_dtype

LIBRARY = "index_add"
FUNCTIONS = {
    "warpbook_index_add": [Pointer, ctypes.POINTER(ctypes.c_size_t), Pointer, Pointer, Pointer, Int, Int,
                           ctypes.POINTER(Int64), Int, Int64, Pointer],
}
TYPES = {"half": 0, "float": 1, "double": 2, "int32": 3, "bfloat16": 4, "int64": 5}
DIGITS = {"half": 11, "bfloat16": 8, "float": 24, "double": 53}
DRAWS = ("uniform", "zipf", "sorted", "clustered")
CLUSTER, WINDOW = 1024, 64  # So many entries on end name rows among so many neighbours.
MOST_BYTES = 2**32  # Of dst, src and index together: each function that is timed has two sets of them and more.
# The microbenchmarks' names of the atomic additions that a type has, and the elements of each.
ADDITIONS = {
    "half": {"half": 1, "half2": 2}, "bfloat16": {"bfloat16": 1, "bfloat162": 2}, "float": {"float": 1, "float2": 2, "float4": 4},
    "double": {"double": 1}, "int32": {"int": 1}, "int64": {"uint64": 1},
}


@functools.cache
def additions_per_second():
    """Name -> atomic additions where the lanes of a warp name neighbours, each another one: the most that the L2 takes."""
    file = pathlib.Path(__file__).resolve().parents[3] / "docs/results/nvidia-h200/microbenchmarks.json"
    rates = json.loads(file.read_text(encoding="utf-8"))["atomics"]["collisions"]
    return {rate["type"]: rate["operations_per_second"] for rate in rates if rate["lanes_at_an_address"] == 1}


def expected_distinct(draws, chances):
    """How many of some things are drawn at least once. chances: (how many, the chance of each)."""
    return sum(number * -math.expm1(draws * math.log1p(-chance)) if chance < 1 else number for number, chance in chances)


@dataclasses.dataclass(frozen=True)
class IndexAdd(Case):
    """dst.index_add_(dim, index, src) with contiguous tensors and an index of int64, drawn evenly, by Zipf's law, evenly and
    then sorted, or in clusters."""

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

    @functools.lru_cache(maxsize=1)
    def index(self):
        """The rows, always the same for the same case."""
        import torch

        generator = torch.Generator().manual_seed(5)
        rows = self.shape[self.dim]
        if self.draw in ("uniform", "sorted"):
            drawn = torch.randint(0, rows, (self.count,), generator=generator)
            return drawn if self.draw == "uniform" else drawn.sort().values
        if self.draw == "clustered":
            first = torch.randint(0, rows, (-(-self.count // CLUSTER),), generator=generator).repeat_interleave(CLUSTER)
            return (first[: self.count] + torch.randint(0, min(WINDOW, rows), (self.count,), generator=generator)) % rows
        share = torch.rand(self.count, dtype=torch.float64, generator=generator)
        rank = torch.exp(share * math.log(rows + 1)).long() - 1
        spread = next(n for n in range(7919, 7919 + rows + 1) if math.gcd(n, rows) == 1)
        return rank.clamp(0, rows - 1) * spread % rows

    @property
    def bytes(self):
        """Of all inputs."""
        return (self.shape[self.dim] + self.count) * self.row_elements * ELEMENT_BYTES[self.dtype] + 8 * self.count

    @functools.lru_cache
    def distinct_rows(self):
        """How many rows are named at least once, as expected."""
        rows = self.shape[self.dim]
        if self.draw == "clustered":
            window = min(WINDOW, rows)
            named = expected_distinct(min(self.count, CLUSTER), [(window, 1 / window)])
            return expected_distinct(-(-self.count // CLUSTER), [(rows, named / rows)])
        if self.draw != "zipf":
            return expected_distinct(self.count, [(rows, 1 / rows)])
        # The k-th row by popularity is named with the chance log((k + 1) / k) / log(rows + 1). Far on, a band of rows has one.
        bands, k = [], 1
        while k <= rows:
            size = min(1 + k // 256, rows + 1 - k)
            bands.append((size, math.log1p(size / k) / math.log(rows + 1) / size))
            k += size
        return expected_distinct(self.count, bands)

    @property
    def bytes_moved(self):
        """src, the index, and twice the rows that are named at least once."""
        return int((self.count + 2 * self.distinct_rows()) * self.row_elements * ELEMENT_BYTES[self.dtype] + 8 * self.count)

    def bound_seconds(self, copy_seconds):
        """The bytes and the atomics, which go on at the same time: the longer of a copy of bytes_moved in the same run, and of
        one addition for each element of the rows that are named (more entries of a row may be summed before), with the best
        atomic that its type and its elements side by side allow, at its rate without collisions. A share above 1 is
        possible: index_add reads more than it writes, a copy does not."""
        together = math.prod(self.shape[self.dim + 1 :])
        rates = additions_per_second()
        elements_per_second = max(
            rates[name] * (elements if together % elements == 0 else 1) for name, elements in ADDITIONS[self.dtype].items()
        )
        return max(copy_seconds, self.distinct_rows() * self.row_elements / elements_per_second)

    def make_inputs(self):
        """Sixteenths, small enough that sums of float are exact, so that the order does not matter."""
        import torch

        index = self.index().cuda()
        src_shape = list(self.shape)
        src_shape[self.dim] = self.count
        if self.dtype not in DIGITS:
            return tuple(
                torch.randint(0, 100, shape, device="cuda", dtype=torch_dtype(self.dtype)) for shape in (self.shape, src_shape)
            ) + (index,)

        def values(shape):
            bits = torch.randint(0, 2, shape, device="cuda", dtype=torch.int8).to(torch_dtype(self.dtype))
            return bits.mul_(2).sub_(1).mul_(torch.randint(1, 3, (1,), device="cuda").item() / 16)  # In place, for memory.

        return values(self.shape), values(src_shape), index

    def operation(self):
        dim = self.dim
        return lambda dst, src, index: dst.index_add_(dim, index, src)

    def small_part(self):
        """As chapter 4's: halves that many entries add to are what Triton's loop waits for. Of a part that does not fill the
        device fewer would meet, so it has a million elements at least."""
        rows = self.shape[self.dim]
        hottest = self.count * (math.log(2) / math.log(rows + 1) if self.draw == "zipf" else 1 / rows)
        if self.dtype not in ("half", "bfloat16") or hottest < 4096:
            return None, 1
        share = min(64, max(1, self.count * self.row_elements >> 20))
        return dataclasses.replace(self, count=self.count // share), share

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
        largest = max(expected.abs().max().item(), 0.125 * math.sqrt(terms))
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
    """Rank 1 to 5, any dim, 1 to 16 Mi entries and rows, of 1 to 2^20 elements; 1 MiB to 4 GiB in all; every type and draw."""
    generator = random.Random(seed)
    cases = []
    while len(cases) < count:
        rank = generator.randint(1, 5)
        dim = generator.randrange(rank)
        row_elements = log_uniform(generator, 1, 2**20)
        shares = [generator.random() for _ in range(rank - 1)]
        shape = [max(1, round(row_elements ** (share / sum(shares)))) for share in shares]
        shape.insert(dim, round(log_uniform(generator, 1, 2**24)))
        case = IndexAdd(tuple(shape), dim, round(log_uniform(generator, 1, 2**24)), generator.choice(sorted(TYPES)),
                        generator.choice(DRAWS))
        if case.row_elements <= 2**20 and 2**20 <= case.bytes <= MOST_BYTES:
            cases.append(case)
    return cases
