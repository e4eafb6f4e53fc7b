"""What a chapter's module, chapterN.py, says of its comparison with PyTorch. A module has:

LIBRARY      the name of its take-away header's C interface: NAME_c.cu, here and built by CMake
FUNCTIONS    that library's functions: name -> ctypes of the arguments; each returns a cudaError_t
fixed_cases()               the chapter's cases, a list of Case
random_cases(count, seed)   others, drawn; the same for the same seed

Everything else (the method, what is timed, the file that is written) is the same for every chapter.
"""

import ctypes

ELEMENT_BYTES = {"uint8": 1, "half": 2, "bfloat16": 2, "float": 4, "int32": 4, "double": 8, "int64": 8}

Pointer = ctypes.c_void_p
Int = ctypes.c_int
Int64 = ctypes.c_int64
Float = ctypes.c_float


def torch_dtype(name):
    """The type that the chapters call by this name."""
    import torch

    return getattr(torch, name)


class Case:
    """One input. Its class is hashable and equal to another by its parameters (a frozen dataclass), and has `dtype`.

    `operation()` may be called with `inputs` again and again. Where `in_place` is True it changes its first input and
    returns it. Each function that is compared gets inputs of its own, all made with the same data.
    """

    in_place = False

    @property
    def name(self):
        """As the chapter's --case takes it, without the type."""
        raise NotImplementedError

    @property
    def bytes_moved(self):
        """The bytes that must be moved at least: a copy of as many is the ceiling."""
        raise NotImplementedError

    def make_inputs(self):
        """A tuple of tensors on the device, always the same for the same case. Random numbers are seeded already."""
        raise NotImplementedError

    def operation(self):
        """The operation as PyTorch has it: a function of the inputs that returns the result. It is also what
        torch.compile gets."""
        raise NotImplementedError

    def bind(self, library, inputs, stream):
        """(call, output): a function of no arguments that runs ours on a stream (a number), and the tensor that holds
        its result afterwards. Made with `checked` and, for the output, `poisoned`."""
        raise NotImplementedError

    def plan(self, library, inputs, stream, flush):
        """Where the library can choose among its kernels by timing them on the very problem, as the compiler does:
        (bind, note). `bind(inputs)` returns (call, output) as above, for the plan that is made here, once for a case, and
        not part of any time. `note` is what the row says of it: planning_seconds, and planned_kernel (None: the one that
        would run without a plan). `flush` is a tensor that may be overwritten. None where the library has no such thing."""
        return None

    def compare(self, ours, expected):
        """What is wrong with a result, as a sentence, or None. Bit for bit in value; arithmetic overrides this with
        `compare_within`."""
        import torch

        if torch.equal(ours, expected):
            return None
        return f"{int((ours != expected).sum())} of {expected.numel()} elements differ from PyTorch's"

    def bound_seconds(self, copy_seconds):
        """The least time of a case that a copy of as many bytes does not bound alone, on a device with the rates of
        docs/results/nvidia-h200/microbenchmarks.json; None where the copy does."""
        return None

    def small_part(self):
        """A case of the same kind with a small part of the work, and how many times smaller it is, where a compiled
        operation may take seconds; else (None, 1)."""
        return None, 1

    def yardsticks(self, inputs):
        """Other things to time beside the copy, name -> function of no arguments; a row gets NAME_seconds for each."""
        return {}


def compare_within(ours, expected, relative, absolute=0.0):
    """As Case.compare, but elements may differ by `absolute` + `relative` x |expected|. Only NaN equals NaN."""
    import torch

    wrong, worst = 0, 0.0
    for part, expected_part in zip(ours.reshape(-1).split(2**26), expected.reshape(-1).split(2**26), strict=True):  # For memory.
        a, b = part.double(), expected_part.double()
        right = ((a - b).abs() <= absolute + relative * b.abs()) | (a == b) | (a.isnan() & b.isnan())
        if not bool(right.all()):
            wrong += int((~right).sum())
            worst = max(worst, torch.where(right, 0, (a - b).abs()).nan_to_num(nan=float("inf")).max().item())
    return f"{wrong} of {expected.numel()} elements differ from PyTorch's by too much, the worst by {worst:g}" if wrong else None


def poisoned(tensor):
    """`tensor`, freshly allocated and contiguous, with bytes in it that no result has."""
    import torch

    tensor.view(-1).view(torch.uint8).fill_(0xA5)
    return tensor


def checked(function, *arguments):
    """A function of no arguments that calls the library's and raises what it reports. What the arguments point to must
    live as long as it does; ctypes arrays do."""

    def call():
        error = function(*arguments)
        if error:
            raise RuntimeError(f"{function.__name__} returned CUDA error {error}")

    return call


def log_uniform(generator, least, most):
    """A number between least and most, each power of two as likely as the next."""
    return least * (most / least) ** generator.random()
