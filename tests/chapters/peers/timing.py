"""One way of timing for everybody: CUDA events around one call, a cold L2, calls in turn, the median."""

import ctypes
import itertools
import math
import statistics
import time

import torch

from results import spread

SLOW_SECONDS, FEW_SAMPLES = 0.05, 5  # A call that takes longer is sampled so often; a spread says how often.
FLUSH_BYTES = 256 * 2**20  # Several times the L2 of any GPU so far.
NOT_SUPPORTED = 801  # CUDA_ERROR_NOT_SUPPORTED: before compute capability 8.0 nothing is kept.


def forget_kept_lines():
    """Makes all lines of the L2 ordinary ones, which a flush pushes out. Loads with the hint evict_last, as the compiler's
    kernels have, stay there through a flush: such a kernel would find its last call's input, and others less room."""
    error = ctypes.CDLL("libcuda.so.1").cuCtxResetPersistingL2Cache()
    if error not in (0, NOT_SUPPORTED):
        raise RuntimeError(f"cuCtxResetPersistingL2Cache: error {error} of the CUDA driver")


def in_turn(calls):
    """A function that makes the calls in turn, one each time."""
    turns = itertools.cycle(calls)
    return lambda: next(turns)()


class Timer:
    """Times functions in turn, sample by sample, so that whatever the device does meanwhile it does to all."""

    def __init__(self, samples):
        self.samples = samples
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
        self.cycles_per_second = 2e9  # No GPU so far is faster by much; a slower one only sleeps longer.
        self.lines_stay = self.kept_lines_stay()

    def kept_lines_stay(self):
        """Whether what a kernel asked the L2 to keep is there even after forget_kept_lines and a flush: such data are read
        faster again than new ones."""
        from keeping import BLOCK, read_keeping

        elements = 6 * 2**20  # 24 MiB.
        sums = torch.empty(elements // BLOCK, device="cuda")
        read_keeping(torch.zeros(elements, device="cuda"), sums)  # Compiles.
        seconds = {"new": [], "again": []}
        for _ in range(7):
            source = torch.zeros(elements, device="cuda")
            for which in ("new", "again"):
                seconds[which].append(self.sample(lambda: read_keeping(source, sums), 1e-3))
        return statistics.median(seconds["again"]) < 0.85 * statistics.median(seconds["new"])

    def sets_of_inputs(self, inputs):
        """How many sets of inputs a function has to take turns on, to find none of them in the L2: one, or as many as go
        three times around it where kept lines stay."""
        if not self.lines_stay:
            return 1
        bytes_in_set = max(1, sum(each.untyped_storage().nbytes() for each in inputs if torch.is_tensor(each)))
        return min(64, 1 + math.ceil(3 * torch.cuda.get_device_properties(0).L2_cache_size / bytes_in_set))

    def sample(self, function, busy_seconds):
        """Seconds of one call, with a cold L2. The device is kept busy until the host has enqueued everything, so that no
        host time lies between the events."""
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        forget_kept_lines()
        torch.cuda._sleep(int(min(busy_seconds, 0.01) * self.cycles_per_second))
        self.flush.zero_()
        begin.record()
        function()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def host_seconds(self, function):
        """How long the host needs to enqueue a call, at most, of five; of one where the device then takes long."""
        slowest = 0.0
        for _ in range(5):
            torch.cuda.synchronize()
            start = time.perf_counter()
            function()
            slowest = max(slowest, time.perf_counter() - start)
            torch.cuda.synchronize()
            if time.perf_counter() - start > SLOW_SECONDS:
                break
        return slowest

    def time(self, functions):
        """functions: name -> callable. Returns name -> {"median", "p25", "p75", "min"} in seconds, and "samples"."""
        busy_seconds = {name: max(2e-4, 3 * self.host_seconds(f)) for name, f in functions.items()}
        seconds = {name: [] for name in functions}
        slow = set()
        for sample in range(-3, self.samples):  # The first three warm up; of what is slow, the first one.
            for name, function in functions.items():
                if name in slow and not 0 <= sample < FEW_SAMPLES:
                    continue
                taken = self.sample(function, busy_seconds[name])
                if sample >= 0:
                    seconds[name].append(taken)
                elif taken > SLOW_SECONDS:
                    slow.add(name)
        return {name: spread(values) for name, values in seconds.items()}

    @staticmethod
    def is_short(times):
        """True where launching may take longer than running."""
        return times["median"] < 2e-5

    def call_seconds(self, functions):
        """The same, but wall-clock seconds a call, of runs of calls one after another: what a program that calls a short
        operation again and again waits for. Host and device both count; nothing is flushed."""
        calls = 200
        seconds = {name: [] for name in functions}
        for sample in range(-3, self.samples):
            for name, function in functions.items():
                torch.cuda.synchronize()
                start = time.perf_counter()
                for _ in range(calls):
                    function()
                torch.cuda.synchronize()
                if sample >= 0:
                    seconds[name].append((time.perf_counter() - start) / calls)
        return {name: spread(values) for name, values in seconds.items()}
