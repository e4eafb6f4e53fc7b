"""What a call of add2 costs the host, beside PyTorch's own: rounds of 200 calls in turn, tensors of 1024 floats.

    PYTHONPATH=chapters/chapter7_torch_op python3 chapters/chapter7_torch_op/call_cost.py FILE.json

docs/results/nvidia-h200/chapter7_calls.json is what it wrote there.
"""

import datetime
import json
import os
import statistics
import sys
import time

import torch
import warpbook_ops

out, a, b = (torch.rand(1024, device="cuda") for _ in range(3))
FUNCTIONS = {
    "ops.add2 (packet)": lambda: warpbook_ops.add2(out, a, b),
    "ops.add2.default": lambda f=torch.ops.warpbook_ops.add2.default: f(out, a, b),
    "torch.add(out=)": lambda: torch.add(a, b, out=out),
    "a + b": lambda: a + b,
    "ops.mul (packet)": lambda: warpbook_ops.mul(a, b),
    "python call": lambda: None,
}
seconds = {name: [] for name in FUNCTIONS}
for sample in range(-5, 61):  # The first five warm up.
    for name, function in FUNCTIONS.items():
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            function()
        if sample >= 0:
            seconds[name].append((time.perf_counter() - start) / 200)
result = {name: {"median": statistics.median(values), "min": min(values)} for name, values in seconds.items()}
for name, values in result.items():
    print(f"{name:24} median {values['median'] * 1e6:.2f} us  min {values['min'] * 1e6:.2f}")
run = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "toolkit": torch.version.cuda,
       "torch": torch.__version__, "commit": os.environ.get("WARPBOOK_COMMIT", "unknown"), "rounds": 61, "calls_a_round": 200}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"device": torch.cuda.get_device_name(0), "run": run, "calls": result}, file, indent=1)
