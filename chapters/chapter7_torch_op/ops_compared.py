"""Every operator beside PyTorch's own, eager and compiled: the result, the device's time, and what a call costs the host.

Both sides do the same with memory: where an operator returns a new tensor, so does PyTorch's, from the same allocator; where
it writes into a tensor of the caller's, so does PyTorch's.
"""

import math
import sys
import time

import torch
import warpbook_ops

sys.path.insert(0, str(warpbook_ops.ROOT / "tests/chapters/peers"))

from results import spread  # noqa: E402

BACKWARD = torch.ops.aten.upsample_nearest2d_backward


class Op:
    """make(shape, dtype, device) gives the arguments; ours(*them) and theirs(*them) the operation both ways."""

    def __init__(self, shape, dims, make, ours, theirs, moved, relative=0.0):
        self.shape, self.dims, self.make, self.ours, self.theirs = shape, dims, make, ours, theirs
        self.moved = moved  # Bytes that must be moved at least, of a shape and an element's bytes.
        self.relative = relative  # By how much a result may differ: 0 where both round once.


def random(shape, dtype, device):
    return torch.randn(shape, device=device).to(dtype)


def whole(shape, dtype, device):
    """Few different whole numbers: sums are exact in any order."""
    return torch.randint(-1, 2, shape, device=device).to(dtype)


def alike(count):
    return lambda shape, dtype, device: [random(shape, dtype, device) for _ in range(count)]


def returning_first(function):
    def call(first, *rest):
        function(first, *rest)
        return first

    return call


def index(shape, rows, device):
    return torch.randint(0, rows, shape, device=device)


OPS = {
    "add2": Op([1 << 20], None, alike(3), returning_first(warpbook_ops.add2),
               lambda out, a, b: torch.add(a, b, out=out), lambda s, b: 3 * b * math.prod(s)),
    "mul": Op([1 << 24], None, alike(2), warpbook_ops.mul, lambda a, b: a * b, lambda s, b: 3 * b * math.prod(s)),
    "mul_add": Op([1 << 24], None, alike(3), warpbook_ops.mul_add, lambda a, b, c: torch.addcmul(c, a, b),
                  lambda s, b: 4 * b * math.prod(s), relative=2e-2),
    "scale": Op([1 << 24], None,
                lambda s, t, d: [random(s, t, d), torch.tensor(1.5, device=d)],
                warpbook_ops.scale, lambda x, factor: x * factor, lambda s, b: 2 * b * math.prod(s)),
    "make_contiguous": Op([4096, 4096], 2, lambda s, t, d: [random([s[0], 2 * s[1]], t, d)[:, 1::2]],
                          warpbook_ops.make_contiguous, lambda x: x.contiguous(), lambda s, b: 3 * b * math.prod(s)),
    "write_into_": Op([4096, 4096], 2,
                      lambda s, t, d: [torch.zeros([s[0], 2 * s[1]], dtype=t, device=d)[:, 1::2], random(s, t, d)],
                      returning_first(warpbook_ops.write_into_), lambda view, src: view.copy_(src),
                      lambda s, b: 3 * b * math.prod(s)),
    "permute": Op([32, 1024, 1024], 3, lambda s, t, d: [random(s, t, d)],
                  lambda x: warpbook_ops.permute(x, [0, 2, 1]), lambda x: x.permute(0, 2, 1).contiguous(),
                  lambda s, b: 2 * b * math.prod(s)),
    "scatter_add_": Op([1 << 22, 1 << 10], 2,
                       lambda s, t, d: [torch.zeros(s[1], dtype=t, device=d), index(s[:1], s[1], d),
                                        whole(s[:1], t, d)],
                       returning_first(lambda x, i, v: warpbook_ops.scatter_add_(x, i, v, check_index=False)),
                       lambda x, i, v: x.scatter_add_(0, i, v), lambda s, b: (b + 8) * s[0]),
    "index_add_": Op([1 << 16, 256], 2,
                     lambda s, t, d: [torch.zeros(1024, s[1], dtype=t, device=d), index(s[:1], 1024, d),
                                      whole(s, t, d)],
                     returning_first(lambda x, i, v: warpbook_ops.index_add_(x, 0, i, v, check_index=False)),
                     lambda x, i, v: x.index_add_(0, i, v), lambda s, b: b * math.prod(s) + 8 * s[0]),
    "inner_product": Op([1 << 24], 1, lambda s, t, d: [whole(s, t, d), whole(s, t, d).abs()],
                        warpbook_ops.inner_product, torch.dot, lambda s, b: 2 * b * math.prod(s), relative=2e-2),
    "upsample_nearest2d": Op([16, 32, 80, 80], 4, lambda s, t, d: [random(s, t, d)],
                             lambda x: warpbook_ops.upsample_nearest2d(x, [2 * x.shape[2], 2 * x.shape[3]]),
                             lambda x: torch.nn.functional.interpolate(x, size=(2 * x.shape[2], 2 * x.shape[3])),
                             lambda s, b: 5 * b * math.prod(s)),
    "upsample_nearest2d_backward": Op(
        [16, 32, 80, 80], 4, lambda s, t, d: [whole([*s[:2], 2 * s[2], 2 * s[3]], t, d)],
        lambda g: warpbook_ops.upsample_nearest2d_backward(
            g, list(g.shape[2:]), [*g.shape[:2], g.shape[2] // 2, g.shape[3] // 2]),
        lambda g: BACKWARD(g, list(g.shape[2:]), [*g.shape[:2], g.shape[2] // 2, g.shape[3] // 2]),
        lambda s, b: 5 * b * math.prod(s)),
}
HALVES = ("add2", "permute", "index_add_", "upsample_nearest2d", "upsample_nearest2d_backward")
SMALL = {1: [1024], 2: [64, 64], 3: [4, 32, 32], 4: [2, 3, 8, 8]}  # Where nothing is timed, and for what a call costs.


def shown_names():
    return list(OPS)


def small_shape(op):
    return [1024, 64] if op.shape == [1 << 22, 1 << 10] else SMALL[len(op.shape)]


def differs(ours, theirs, relative):
    """What is wrong with a result, or None."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"is {ours.dtype} {tuple(ours.shape)}, and should be {theirs.dtype} {tuple(theirs.shape)}"
    right = torch.isclose(ours.double(), theirs.double(), rtol=relative, atol=relative)
    return None if bool(right.all()) else f"{int((~right).sum())} of {right.numel()} elements differ from PyTorch's"


def host_seconds(functions, calls=100, samples=31):
    """What a call costs the host, without waiting for the device: small tensors, calls one after the other. Returns
    name -> {"median", "p25", "p75", "min"}."""
    seconds = {name: [] for name in functions}
    for sample in range(-3, samples):
        for name, function in functions.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                function()
            if sample >= 0:
                seconds[name].append((time.perf_counter() - start) / calls)
    torch.cuda.synchronize()
    return {name: spread(values) for name, values in seconds.items()}


def versions(op, arguments_of, compiled):
    """name -> function of no arguments, each with tensors of its own where it changes them."""
    functions = {"ours": op.ours, "eager": op.theirs}
    if compiled:
        torch._dynamo.reset()
        functions["compiled"] = torch.compile(op.theirs, dynamic=False, fullgraph=True)
    bound = {}
    for name, function in functions.items():
        arguments = arguments_of()
        bound[name] = lambda function=function, arguments=arguments: function(*arguments)
    return bound


def measure(name, op, shape, dtype, timer, compiled):
    """One row. timer: None where nothing can be timed."""
    device = "cuda" if timer else "cpu"
    row = {"op": name, "shape": shape, "dtype": str(dtype).removeprefix("torch.")}
    torch.manual_seed(1)
    problem = differs(op.ours(*op.make(shape, dtype, device)), again(op, shape, dtype, device), op.relative)
    row["verified"] = problem is None
    if problem:
        return row | {"problem": problem}
    if timer is None:
        return row
    with torch.no_grad():
        def arguments_of(size=shape):
            torch.manual_seed(1)
            return op.make(size, dtype, device)

        functions = versions(op, arguments_of, compiled)
        source, destination = (torch.zeros(max(1, op.moved(shape, dtype.itemsize) // 2), dtype=torch.uint8, device=device)
                               for _ in range(2))
        times = timer.time(functions | {"copy": lambda: destination.copy_(source)})
        row |= {f"{key}_seconds": times[key]["median"] for key in times} | {"spread": times}
        hosts = host_seconds(versions(op, lambda: arguments_of(small_shape(op)), compiled))
        row |= {"host_seconds": {key: hosts[key]["median"] for key in hosts}, "host_spread": hosts}
    return row


def again(op, shape, dtype, device):
    """PyTorch's result of the same arguments, made anew: some are changed."""
    torch.manual_seed(1)
    return op.theirs(*op.make(shape, dtype, device))


def micro(row, *keys):
    for key in keys:
        row = row.get(key, {}) if isinstance(row, dict) else {}
    return f"{row * 1e6:.1f}" if isinstance(row, float) else "-"


def compare(names, shape, dtype, on_gpu, compiled):
    """Prints a table, and returns its rows and an exit status."""
    timer = None
    if on_gpu:
        from timing import Timer

        timer = Timer(31)
    bad = [n for n in names if shape and OPS[n].dims and len(shape) != OPS[n].dims]
    if bad:
        print(f"run_all: {bad[0]} takes a shape of {OPS[bad[0]].dims} sizes, such as "
              f"{','.join(map(str, OPS[bad[0]].shape))}", file=sys.stderr)
        return [], 2
    where = "device times: medians, cold L2; a call: what it costs the host" if on_gpu else (
        "results only: CPU tensors are emulated, and there is no GPU to time")
    print(f"\nOperators against PyTorch {torch.__version__} ({where})")
    print(f"{'operator':<28} {'shape':<20} {'type':<9} {'verified':<9} {'ours':>8} {'eager':>8} {'compiled':>8} {'copy':>8}"
          f"   a call: {'ours':>6} {'eager':>6} {'compiled':>8}   us")
    rows = []
    for name in names:
        op = OPS[name]
        size = shape or (op.shape if on_gpu else small_shape(op))
        types = [dtype] if dtype else ["float", "half"] if name in HALVES else ["float"]
        for kind in types:
            row = measure(name, op, size, getattr(torch, kind), timer, compiled)
            rows.append(row)
            print(f"{name:<28} {'x'.join(map(str, size)):<20} {kind:<9} {'ok' if row['verified'] else 'FAIL':<9} "
                  f"{micro(row, 'ours_seconds'):>8} {micro(row, 'eager_seconds'):>8} {micro(row, 'compiled_seconds'):>8} "
                  f"{micro(row, 'copy_seconds'):>8}           {micro(row, 'host_seconds', 'ours'):>6} "
                  f"{micro(row, 'host_seconds', 'eager'):>6} {micro(row, 'host_seconds', 'compiled'):>8}"
                  f"{'  ' + row['problem'] if 'problem' in row else ''}", flush=True)
    return rows, 0 if all(row["verified"] for row in rows) else 1
