"""Chapter 1, elementwise: every size, type and operation of the chapter, and views that begin anywhere."""

import dataclasses
import random

from case import ELEMENT_BYTES, Case, Int, Int64, Pointer, checked, compare_within, log_uniform, poisoned, torch_dtype

LIBRARY = "elementwise"
FUNCTIONS = {
    "warpbook_multiply": [Pointer, Pointer, Pointer, Int, Int64, Pointer],
    "warpbook_multiply_add": [Pointer, Pointer, Pointer, Pointer, Int, Int64, Pointer],
    "warpbook_scale": [Pointer, Pointer, Pointer, Int, Int64, Pointer],
}
TYPES = ("float", "half", "bfloat16", "mixed")  # By the numbers that the library takes.
MIXED = ("float", "half", "float")  # z, x, y
ARRAYS = {"mul": 3, "scale": 2, "fma": 4}  # z and the inputs of as many elements.
UNIT_ROUNDOFF = {"float": 2.0**-24, "half": 2.0**-11, "bfloat16": 2.0**-8, "mixed": 2.0**-24}


@dataclasses.dataclass(frozen=True)
class Elementwise(Case):
    """z = x * y, x * s (s: one float in device memory) or x * y + w. `offset`: by how many elements z and each input
    begin behind their allocation."""

    count: int
    op: str
    dtype: str
    offset: tuple = ()

    def __post_init__(self):
        if not self.offset:
            object.__setattr__(self, "offset", (0,) * ARRAYS[self.op])

    @property
    def name(self):
        text = f"n={self.count} op={self.op}"
        if len(set(self.offset)) > 1:
            return f"{text} offset={','.join(map(str, self.offset))}"
        return f"{text} offset={self.offset[0]}" if self.offset[0] else text

    @property
    def types(self):
        """Of z and each input."""
        return (MIXED if self.dtype == "mixed" else (self.dtype,) * 4)[: ARRAYS[self.op]]

    @property
    def bytes_moved(self):
        return self.count * sum(ELEMENT_BYTES[t] for t in self.types) + (4 if self.op == "scale" else 0)

    @property
    def in_place(self):
        """PyTorch allocates its result, aligned, unless it is told to write to a view."""
        return self.offset[0] != 0

    def empty(self, array):
        import torch

        offset = self.offset[array]
        return torch.empty(self.count + offset, dtype=torch_dtype(self.types[array]), device="cuda")[offset:]

    def make_inputs(self):
        import torch

        inputs = [self.empty(array).normal_() for array in range(1, ARRAYS[self.op])]
        if self.op == "scale":  # With a 0-d factor a half stays half; with a 1-d one the result is a float.
            inputs.append(torch.full((1,) if self.dtype == "mixed" else (), 0.7, device="cuda"))
        return ((poisoned(self.empty(0)), *inputs)) if self.in_place else tuple(inputs)

    def operation(self):
        import torch

        function = {"mul": torch.mul, "scale": torch.mul, "fma": lambda x, y, w, **out: torch.addcmul(w, x, y, **out)}
        f = function[self.op]
        if self.in_place:
            return lambda z, *inputs: f(*inputs, out=z)
        return lambda *inputs: f(*inputs)

    def bind(self, library, inputs, stream):
        z, *inputs = inputs if self.in_place else (poisoned(self.empty(0)), *inputs)
        function = {"mul": library.warpbook_multiply, "scale": library.warpbook_scale,
                    "fma": library.warpbook_multiply_add}[self.op]
        pointers = [array.data_ptr() for array in (z, *inputs)]
        return checked(function, *pointers, TYPES.index(self.dtype), self.count, stream), z

    def compare(self, ours, expected):
        """A product is rounded once by everybody. Else PyTorch may round x * y (below 32 here) to a float first, and the
        result a second time."""
        if self.op == "mul":
            return super().compare(ours, expected)
        return compare_within(ours, expected, 2 * UNIT_ROUNDOFF[self.dtype], 32 * UNIT_ROUNDOFF["float"])


def fixed_cases():
    sizes = [2**10, 2**12, 2**14, 2**16, 2**18, 2**20, 2**22, 2**24, 2**25, 2**26, 2**28]
    cases = [Elementwise(n, "mul", dtype) for dtype in ("float", "half") for n in sizes]
    cases += [Elementwise(n, "mul", dtype) for dtype in ("bfloat16", "mixed") for n in (2**20, 2**25)]
    for op in ("scale", "fma"):
        cases += [Elementwise(2**25, op, dtype) for dtype in TYPES if (op, dtype) != ("fma", "mixed")]
    for n in (2**20, 2**25):
        cases += [
            Elementwise(n, "mul", "float", (0, 1, 1)),
            Elementwise(n, "mul", "float", (0, 1, 2)),
            Elementwise(n, "mul", "float", (1, 1, 1)),
            Elementwise(n, "mul", "half", (0, 1, 1)),
            Elementwise(n, "mul", "half", (0, 1, 0)),
            Elementwise(n, "mul", "half", (1, 1, 1)),
            Elementwise(n, "mul", "half", (3, 1, 6)),
        ]
    cases += [Elementwise(33554393, "mul", "float"), Elementwise(33554393, "mul", "half", (0, 2, 3))]
    return cases


def random_case(generator):
    """1 Ki to 256 Mi elements, a third of the cases views."""
    op = generator.choice(("mul", "mul", "scale", "fma"))
    dtype = generator.choice(TYPES[: 3 if op == "fma" else 4])
    count = round(log_uniform(generator, 2**10, 2**28))
    offset = [0] * ARRAYS[op]
    if generator.random() < 1 / 3:
        offset[1:] = [generator.randint(0, 8) for _ in offset[1:]]
    return Elementwise(count, op, dtype, tuple(offset))


def random_cases(count, seed):
    generator = random.Random(seed)
    return [random_case(generator) for _ in range(count)]
