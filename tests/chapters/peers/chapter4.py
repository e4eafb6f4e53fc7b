"""Chapter 4, atomic add: sums into chosen places, and the inner product."""

import ctypes
import dataclasses
import functools
import math
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, log_uniform, poisoned, torch_dtype

LIBRARY = "atomic_add"
SizePointer = ctypes.POINTER(ctypes.c_size_t)
FUNCTIONS = {
    "warpbook_scatter_add": [Pointer, SizePointer, Pointer, Pointer, Pointer, Int64, Int64, Int, Int, Pointer],
    "warpbook_inner_product": [Pointer, SizePointer, Pointer, Pointer, Pointer, Int64, Int, Pointer],
}
TYPES = {"half": 0, "bfloat16": 1, "float": 2}
BITS = {"half": 11, "bfloat16": 8, "float": 24}
SKEWS = ("uniform", "zipf", "head", "sorted", "same")
UNIT = 1 / 16  # Values are one unit of either sign: partial sums are whole numbers of units.


def with_workspace(function, *arguments):
    """A call of a function that tells how much workspace it needs, with the workspace."""
    import torch

    needed = ctypes.c_size_t(0)
    checked(function, None, ctypes.byref(needed), *arguments)()
    workspace = poisoned(torch.empty(needed.value, dtype=torch.uint8, device="cuda"))
    call = checked(function, workspace.data_ptr(), ctypes.byref(needed), *arguments)
    return lambda: (workspace, call())[1]  # The workspace lives as long as the call.


@dataclasses.dataclass(frozen=True)
class Scatter(Case):
    """dst.scatter_add_(0, index, value) of one dimension."""

    count: int
    places: int
    skew: str
    dtype: str

    in_place = True

    @property
    def name(self):
        return f"count={self.count} places={self.places} skew={self.skew}"

    @property
    def bytes_moved(self):
        size = ELEMENT_BYTES[self.dtype]
        return self.count * (size + 8) + 2 * min(self.places, self.count) * size

    @functools.lru_cache(maxsize=1)  # The same numbers for all that are compared: drawing again may move an index.
    def indices(self):
        """As the chapter spreads them: see SumsCase."""
        import torch

        def ranks():
            # On the host: the device adds up in another order each time, and an index may then move by one.
            total = (1 / torch.arange(1, self.places + 1, dtype=torch.float64)).cumsum(0).cuda()
            drawn = torch.rand(self.count, dtype=torch.float64, device="cuda") * total[-1]
            return torch.searchsorted(total, drawn).clamp(max=self.places - 1)

        if self.skew == "zipf":
            stride = int(0.6180339887 * self.places) | 1
            while math.gcd(stride, self.places) != 1:
                stride += 1
            return (ranks() + 1) * stride % self.places
        if self.skew == "head":
            return ranks()
        if self.skew == "sorted":
            return torch.arange(self.count, device="cuda") * self.places // self.count
        if self.skew == "same":
            return torch.full((self.count,), self.places // 2, device="cuda")
        return torch.randint(self.places, (self.count,), device="cuda")

    def make_inputs(self):
        import torch

        dtype = torch_dtype(self.dtype)
        value = ((torch.randint(2, (self.count,), device="cuda") * 2 - 1) * UNIT).to(dtype)  # Before the index: as above.
        return torch.zeros(self.places, dtype=dtype, device="cuda"), self.indices().clone(), value

    def operation(self):
        return lambda dst, index, value: dst.scatter_add_(0, index, value)

    def small_part(self):
        """Triton adds 2 bytes by a loop of compare and swap: where many meet at a place, each try of theirs may fail."""
        hottest = self.count / (1 + math.log(self.places) if self.skew in ("zipf", "head") else self.places)
        if self.dtype == "float" or hottest < 4096:
            return None, 1
        return dataclasses.replace(self, count=self.count // 64), 64

    def bind(self, library, inputs, stream):
        dst, index, value = inputs
        call = with_workspace(library.warpbook_scatter_add, dst.data_ptr(), value.data_ptr(), index.data_ptr(),
                              self.count, self.places, TYPES[self.dtype], 8, stream)
        return call, dst

    def compare(self, ours, expected):
        """Both against sums in float64, within what adding in the element's type may lose: nothing as long as partial
        sums fit its significand (the largest is below 7 standard deviations), then half a unit in the last place of the
        largest an addition."""
        import torch

        torch.manual_seed(1)
        _, index, value = self.make_inputs()
        exact = torch.zeros(self.places, dtype=torch.float64, device="cuda").index_add_(0, index, value.double())
        terms = torch.bincount(index, minlength=self.places).double()
        largest = torch.minimum(terms, 7 * terms.sqrt())
        rounding = 2.0 ** -BITS[self.dtype]
        bound = torch.where(largest <= 1 / rounding, torch.zeros_like(terms), terms * rounding * largest) * UNIT
        for whose, result in (("the result", ours), ("PyTorch's", expected)):
            wrong = ~((result.double() - exact).abs() <= bound)
            if bool(wrong.any()):
                return f"{int(wrong.sum())} of {self.places} sums: {whose} is off by more than its roundings"
        return None


@dataclasses.dataclass(frozen=True)
class Inner(Case):
    """torch.dot, which the compiler leaves as it is; so a compiled sum of products in float is timed besides."""

    count: int
    dtype: str

    @property
    def name(self):
        return f"problem=inner count={self.count}"

    @property
    def bytes_moved(self):
        return 2 * self.count * ELEMENT_BYTES[self.dtype]

    def make_inputs(self):
        import torch

        dtype = torch_dtype(self.dtype)
        return tuple(((torch.randint(2, (self.count,), device="cuda") * 2 - 1) * UNIT).to(dtype) for _ in range(2))

    def operation(self):
        import torch

        return torch.dot

    def bind(self, library, inputs, stream):
        import torch

        a, b = inputs
        output = torch.empty((), dtype=a.dtype, device="cuda")
        poisoned(output.view(-1))
        call = with_workspace(library.warpbook_inner_product, output.data_ptr(), a.data_ptr(), b.data_ptr(), self.count,
                              TYPES[self.dtype], stream)
        return call, output

    def compare(self, ours, expected):
        """The exact sum fits a float in any order; both round it to the type once."""
        import torch

        torch.manual_seed(1)
        a, b = self.make_inputs()
        exact = (a.double() * b.double()).sum().to(ours.dtype)
        if ours.item() != exact.item():
            return f"the sum is {ours.item()}, not {exact.item()}"
        return None if expected.item() == exact.item() else f"PyTorch's sum is {expected.item()}, not {exact.item()}"

    def yardsticks(self, inputs):
        import torch

        a, b = inputs
        compiled = torch.compile(lambda x, y: (x.float() * y.float()).sum().to(x.dtype),
                                 mode="max-autotune-no-cudagraphs", dynamic=False, fullgraph=True)
        compiled(a, b)
        return {"compiled_sum": lambda: compiled(a, b)}


def fixed_cases():
    """The chapter's cases of 16 Mi values and 32 Mi products. One place in half or bfloat16 is left out: PyTorch takes
    seconds for it."""
    count = 2**24
    cases = [Inner(2**25, dtype) for dtype in TYPES]
    for dtype in ("float", "half", "bfloat16"):
        for places in (1, 256, 2**16, 2**20, 2**24):
            if places == 1 and dtype != "float":
                continue
            skews = ("uniform",) if places == 1 else ("uniform", "zipf")
            cases += [Scatter(count, places, skew, dtype) for skew in skews]
        cases.append(Scatter(count, 2**16, "sorted", dtype))
        cases.append(Scatter(count, 2**24, "sorted", dtype))
    cases += [Scatter(count, 2**16, "head", "float"), Scatter(count, 2**16, "same", "float")]
    return cases


def random_cases(count, seed):
    """From 1024 to 16 Mi values into 1 to 16 Mi places; few places get few values, as PyTorch takes 100 ns for each."""
    generator = random.Random(seed)
    cases = []
    while len(cases) < count:
        values = round(log_uniform(generator, 2**10, 2**24))
        places = round(log_uniform(generator, 1, 2**24))
        dtype = generator.choice(tuple(TYPES))
        skew = generator.choice(("uniform", "zipf", "sorted"))
        hottest = values / places if skew != "zipf" else values / (1 + math.log(places))
        if hottest <= 2**16:
            cases.append(Scatter(values, places, skew, dtype))
    return cases
