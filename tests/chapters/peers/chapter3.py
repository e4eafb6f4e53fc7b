"""Chapter 3, permute: its cases, and random shapes and permutations."""

import ctypes
import dataclasses
import itertools
import math
import random
import time

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, poisoned, torch_dtype

LIBRARY = "permute"
FUNCTIONS = {
    "warpbook_permute": [Pointer, Pointer, Int, ctypes.POINTER(Int64), ctypes.POINTER(Int), Int, Pointer],
    "warpbook_permute_plan_bytes": [],
    "warpbook_permute_plan": [Pointer, Pointer, Pointer, Int, ctypes.POINTER(Int64), ctypes.POINTER(Int), Int, Pointer,
                              ctypes.c_size_t, Pointer],
    "warpbook_permute_planned": [Pointer, Pointer, Pointer, Pointer],
}
DTYPES = ("double", "float", "half", "uint8")


@dataclasses.dataclass(frozen=True)
class Permute(Case):
    """A contiguous tensor and a permutation of its dimensions, as in torch.permute."""

    shape: tuple
    permutation: tuple
    dtype: str

    @property
    def name(self):
        """As the chapter's --case takes it, without the type."""
        return f"shape={','.join(map(str, self.shape))} perm={','.join(map(str, self.permutation))}"

    @property
    def elements(self):
        return math.prod(self.shape)

    @property
    def tensor_bytes(self):
        """Of the input alone, and of the output alone."""
        return self.elements * ELEMENT_BYTES[self.dtype]

    @property
    def bytes_moved(self):
        return 2 * self.tensor_bytes

    @property
    def moves_data(self):
        """False where the output equals the input, element by element."""
        kept = [d for d in self.permutation if self.shape[d] != 1]
        return kept != sorted(kept)

    def make_inputs(self):
        """Data without NaN, so that equal values mean equal results."""
        import torch

        if self.dtype == "uint8":
            return (torch.randint(0, 256, self.shape, dtype=torch.uint8, device="cuda"),)
        return (torch.randn(self.shape, dtype=torch_dtype(self.dtype), device="cuda"),)

    def operation(self):
        """A copy in every case, into memory that PyTorch allocates."""
        import torch

        permutation = self.permutation
        return lambda x: x.permute(permutation).clone(memory_format=torch.contiguous_format)

    def bind(self, library, inputs, stream):
        import torch

        (source,) = inputs
        rank = source.dim()
        shape = (Int64 * rank)(*source.shape)
        order = (Int * rank)(*self.permutation)
        output = poisoned(torch.empty([self.shape[d] for d in self.permutation], dtype=source.dtype, device="cuda"))
        call = checked(library.warpbook_permute, output.data_ptr(), source.data_ptr(), rank, shape, order,
                       source.element_size(), stream)
        return call, output

    def plan(self, library, inputs, stream, flush):
        import torch

        def output_for(source):
            return torch.empty([self.shape[d] for d in self.permutation], dtype=source.dtype, device="cuda")

        (source,) = inputs
        rank = source.dim()
        shape = (Int64 * rank)(*source.shape)
        order = (Int * rank)(*self.permutation)
        output = output_for(source)
        plan = (ctypes.c_longdouble * library.warpbook_permute_plan_bytes())()  # More than enough, and aligned.
        make = checked(library.warpbook_permute_plan, plan, output.data_ptr(), source.data_ptr(), rank, shape, order,
                       source.element_size(), flush.data_ptr(), flush.numel() * flush.element_size(), stream)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        make()
        seconds = time.perf_counter() - begin
        name = ctypes.CFUNCTYPE(ctypes.c_char_p, Pointer)(("warpbook_permute_planned_kernel", library))(
            ctypes.addressof(plan))

        def bind(own_inputs):
            own_output = poisoned(output_for(own_inputs[0]))
            call = checked(library.warpbook_permute_planned, own_output.data_ptr(), own_inputs[0].data_ptr(), plan, stream)
            return call, own_output

        return bind, {"planning_seconds": seconds, "planned_kernel": name and name.decode()}


def fixed_cases():
    """The chapter's cases from 16 MiB on, in float and half."""
    cases = []
    for dtype in ("float", "half"):
        columns = 1024
        for mebibytes in (16, 32, 64, 128, 1024):
            elements = mebibytes * 2**20 // ELEMENT_BYTES[dtype]
            cases.append(Permute((elements // columns**2, columns, columns), (0, 2, 1), dtype))
            cases.append(Permute((32, elements // columns // 32, columns), (1, 0, 2), dtype))
        cases += [
            Permute((64, 96, 80, 80), (0, 2, 3, 1), dtype),  # NCHW to NHWC
            Permute((64, 80, 80, 96), (0, 3, 1, 2), dtype),  # and back
            Permute((32, 2048, 16, 128), (0, 2, 1, 3), dtype),  # attention: sequence and heads
            Permute((7, 1023, 2047), (0, 2, 1), dtype),
            Permute((31, 17, 63, 129), (3, 1, 0, 2), dtype),
            Permute((13, 7, 31, 11, 257), (4, 2, 0, 3, 1), dtype),
            Permute((8, 6, 10, 12, 14, 90), (5, 0, 4, 1, 3, 2), dtype),
            Permute((4, 6, 8, 10, 12, 14, 26), (6, 4, 2, 0, 1, 3, 5), dtype),
            Permute((4, 6, 5, 8, 7, 10, 9, 12), (7, 0, 6, 1, 5, 2, 4, 3), dtype),
        ]
    return cases


def is_prime(n):
    return n >= 2 and all(n % divisor for divisor in range(2, math.isqrt(n) + 1))


def nearest_prime(n):
    return next(m for distance in itertools.count() for m in (n - distance, n + distance) if is_prime(m))


def random_case(generator, kind):
    """One case of 8 MiB to 256 MiB and rank 2 to 8. `kind`: "narrow" has an inner size of at most 8, "prime" prime
    sizes only, "any" neither."""
    while True:
        dtype = generator.choice(DTYPES)
        least = 8 * 2**20 // ELEMENT_BYTES[dtype]
        elements = least * 32 ** generator.random()
        rank = generator.randint(2, 8)
        inner = [generator.randint(1, 8)] if kind == "narrow" else []

        # Log-uniform sizes whose product is about `elements`.
        shares = [generator.random() for _ in range(rank - len(inner))]
        log_outer = math.log(elements / math.prod(inner))
        shape = [max(1, round(math.exp(log_outer * share / sum(shares)))) for share in shares] + inner
        if kind == "prime":
            shape = [nearest_prime(size) for size in shape]

        permutation = list(range(rank))
        generator.shuffle(permutation)
        case = Permute(tuple(shape), tuple(permutation), dtype)
        if case.moves_data and least <= case.elements <= 64 * least:  # Rounding may leave the range: draw again.
            return case


def random_cases(count, seed):
    """A quarter narrow, a quarter prime, the rest any."""
    generator = random.Random(seed)
    kinds = ("narrow", "prime", "any", "any")
    return [random_case(generator, kinds[i % 4]) for i in range(count)]
