"""The chapter's ways to time, with PyTorch's tools: the same as timing.cpp has them."""

import time

import torch

LAUNCHES = 100  # Of a graph.
WARM_UPS = 10  # As the article has it, and as there: nobody waits for the last of them.
FLUSH_BYTES = 256 * 2**20
HOLD_CYCLES = 400_000  # Some 200 us: long enough for the host to enqueue three calls.


def host_clock(function, samples, wait_before, wait_after):
    for _ in range(WARM_UPS):
        function(0)
    seconds = []
    for _ in range(samples):
        if wait_before:
            torch.cuda.synchronize()
        start = time.perf_counter()
        function(0)
        if wait_after:
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    return seconds


def events(function, samples, hold, flush):
    for _ in range(WARM_UPS):
        function(0)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seconds = []
    for _ in range(samples):
        torch.cuda.synchronize()
        if flush is not None:
            flush.zero_()
        if hold:
            torch.cuda._sleep(HOLD_CYCLES)
        start.record()
        function(0)
        stop.record()
        torch.cuda.synchronize()
        seconds.append(start.elapsed_time(stop) * 1e-3)
    return seconds


def graph_of_many(function, samples, sets, flush):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(LAUNCHES):
            function(i % sets)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seconds = []
    for sample in range(-1, samples):  # The first replay also uploads the graph.
        if flush is not None:
            flush.zero_()
        start.record()
        graph.replay()
        stop.record()
        torch.cuda.synchronize()
        if sample >= 0:
            seconds.append(start.elapsed_time(stop) * 1e-3 / LAUNCHES)
    return seconds


WAYS = {
    "v1": lambda f, n, sets, flush: host_clock(f, n, True, True),
    "v2": lambda f, n, sets, flush: host_clock(f, n, True, False),
    "v3": lambda f, n, sets, flush: host_clock(f, n, False, True),
    "v4": lambda f, n, sets, flush: host_clock(f, n, False, False),
    "v5a": lambda f, n, sets, flush: events(f, n, False, None),
    "v5b": lambda f, n, sets, flush: events(f, n, True, None),
    "v6": lambda f, n, sets, flush: events(f, n, True, flush),
    "v7a": lambda f, n, sets, flush: graph_of_many(f, n, 1, None),
    "v7b": lambda f, n, sets, flush: graph_of_many(f, n, sets, flush),
}


def time_in_every_way(function, count, dtype, samples):
    """version -> the samples of function(out, a, b), one after the other, in seconds."""
    one = 3 * count * dtype.itemsize
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    sets = max(1, min(LAUNCHES, -(-3 * l2_bytes // one) + 1))
    arrays = [[torch.rand(count, device="cuda").to(dtype) for _ in range(3)] for _ in range(sets)]
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    return {version: way(lambda i: function(*arrays[i]), samples, sets, flush) for version, way in WAYS.items()}
