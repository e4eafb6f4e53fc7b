"""What a call of add2 costs the host, beside PyTorch's own: tensors of 1024 floats, blocks of 200 calls.

    PYTHONPATH=chapters/chapter7_torch_op python3 chapters/chapter7_torch_op/call_cost.py FILE.json

The host's speed wanders by more than the functions differ. So their blocks come in turn, in an order drawn anew for each
round, what counts is the difference within a round, and the whole is done in several processes, one after the other: where
a process's memory happens to lie is part of what wanders. docs/results/nvidia-h200/chapter7_calls.json is what it wrote on
that device.
"""

import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import time

PROCESSES, ROUNDS, CALLS = 5, 101, 200
THEIRS = "torch.add(out=)"


def measure(seed):
    """name -> seconds a call, of each round."""
    import torch
    import warpbook_ops

    out, a, b = (torch.rand(1024, device="cuda") for _ in range(3))
    functions = {
        "warpbook_ops.add2": lambda add2=warpbook_ops.add2: add2(out, a, b),
        "torch.ops.warpbook_ops.add2": lambda add2=torch.ops.warpbook_ops.add2: add2(out, a, b),
        THEIRS: lambda add=torch.add: add(a, b, out=out),
        "a + b": lambda: a + b,
        "python call": lambda: None,
    }
    seconds = {name: [] for name in functions}
    draw, order = random.Random(seed), list(functions)
    for sample in range(-5, ROUNDS):  # The first five warm up.
        draw.shuffle(order)
        for name in order:
            function = functions[name]
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                function()
            if sample >= 0:
                seconds[name].append((time.perf_counter() - start) / CALLS)
    about = {"device": torch.cuda.get_device_name(0), "toolkit": torch.version.cuda, "torch": torch.__version__,
             "short_way": warpbook_ops._python is not None}
    return {"about": about, "seconds": seconds}


def interval(values):
    """The median, and between which values it lies with a probability of 95%: by their ranks, whatever their distribution."""
    values, count = sorted(values), len(values)
    away = 0.98 * count**0.5
    return {"median": statistics.median(values), "low": values[max(0, int(count / 2 - away))],
            "high": values[min(count - 1, int(count / 2 + away))]}


def summary(processes):
    """name -> the median of all rounds, each process's, and how much more than PyTorch's a call costs."""
    result = {}
    for name in processes[0]:
        apart = [[ours - theirs for ours, theirs in zip(p[name], p[THEIRS])] for p in processes]
        result[name] = {"median": statistics.median(sum((p[name] for p in processes), [])),
                        "median_by_process": [statistics.median(p[name]) for p in processes],
                        "more_than_theirs": interval(sum(apart, [])),
                        "more_by_process": [interval(values) for values in apart]}
    return result


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--process":
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    started = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    done = [json.loads(subprocess.run([sys.executable, __file__, "--process", str(seed)], check=True, stdout=subprocess.PIPE,
                                      text=True).stdout) for seed in range(PROCESSES)]
    calls = summary([process["seconds"] for process in done])
    for name, cost in calls.items():
        median, low, high = (f"{cost['more_than_theirs'][key] * 1e6:+.2f}" for key in ("median", "low", "high"))
        each = " ".join(f"{process['median'] * 1e6:+.2f}" for process in cost["more_by_process"])
        print(f"{name:28} {cost['median'] * 1e6:5.2f} us, more than {THEIRS}: {median} ({low} to {high}); by process {each}")
    about = done[0]["about"]
    run = {"date": started, "toolkit": about["toolkit"], "torch": about["torch"],
           "commit": os.environ.get("WARPBOOK_COMMIT", "unknown"), "short_way": about["short_way"], "processes": PROCESSES,
           "rounds": ROUNDS, "calls_a_round": CALLS}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"device": about["device"], "run": run, "calls": calls}, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
