"""The half of ./chapter7/run_all that needs PyTorch: the timing study, the operators against PyTorch's own, a timeline."""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

import torch
import warpbook_ops

from ops_compared import OPS, compare, shown_names
from ways_to_time import WAYS, time_in_every_way

ROOT = pathlib.Path(__file__).resolve().parents[2]


def torch_dtype(name):
    return {"float": torch.float, "half": torch.half, "bfloat16": torch.bfloat16}[name]


def study(case, rows, samples):
    """The ways of the C++ half, for warpbook_ops.add2 and torch.add(out=)."""
    values = dict(word.split("=") for word in case.split())
    count, dtype = int(values["n"]), torch_dtype(values.get("dtype", "float"))
    results = []
    for name, function in (
        ("warpbook_ops.add2(out, a, b)", warpbook_ops.add2),
        ("torch.add(a, b, out=out)", lambda out, a, b: torch.add(a, b, out=out)),
    ):
        readings = time_in_every_way(function, count, dtype, samples)
        cold = statistics.median(readings["v7b"])
        print(f"\nPyTorch: {name}  n={count:,} {values.get('dtype', 'float')}")
        print(f"{'way to time':<24} {'reads':>9} {'first':>9} {'off by':>9}  the samples, us")
        ways = []
        for row in rows:
            seconds = readings[row["version"]]
            median = statistics.median(seconds)
            print(f"{row['version'] + ' ' + row['name']:<24} {median * 1e6:>9.2f} {seconds[0] * 1e6:>9.2f} "
                  f"{median / cold - 1:>+9.0%}  {' '.join(f'{s * 1e6:.1f}' for s in seconds)}")
            ways.append({"version": row["version"], "name": row["name"], "median_seconds": median,
                         "samples_seconds": seconds, "off": median / cold - 1})
        results.append({"function": name, "case": case, "cold_seconds": cold,
                        "warm_seconds": statistics.median(readings["v7a"]), "steps": ways})
    return results


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--study", type=pathlib.Path)
    parser.add_argument("--ops")
    parser.add_argument("--shape")
    parser.add_argument("--dtype")
    parser.add_argument("--timeline")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    on_gpu = torch.cuda.is_available() and "cuda" in warpbook_ops.DEVICES
    if not warpbook_ops.DEVICES:
        print("run_all: the operators have no kernels to run: make chapter7", file=sys.stderr)
        return 3
    names = shown_names() if arguments.ops in ("all", None) else arguments.ops.split(",")
    unknown = [name for name in names if name not in OPS]
    if unknown:
        print(f"run_all: unknown operator '{unknown[0]}' (accepted: {', '.join(OPS)})", file=sys.stderr)
        return 2
    if arguments.timeline:
        if not on_gpu:
            print("run_all: --timeline draws what a GPU does, and there is none here", file=sys.stderr)
            return 3
        from timeline import record

        record(pathlib.Path(arguments.timeline), arguments.output)
        return 0

    document = {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(0) if on_gpu else "CPU, kernels emulated",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": os.environ.get("WARPBOOK_COMMIT") or subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip(),
    }
    if arguments.study:
        if on_gpu:
            cases = json.loads(arguments.study.read_text(encoding="utf-8"))["cases"]
            document["study"] = [
                result for case in cases
                for result in study(case["parameters"], [s for s in case["steps"] if s["version"] in WAYS],
                                    case["steps"][0]["samples"])
            ]
        else:
            print("\nPyTorch's half of the study is skipped: it times a GPU, and there is none here")
    shape = [int(size) for size in arguments.shape.split(",")] if arguments.shape else None
    rows, status = compare(names, shape, arguments.dtype, on_gpu, compiled=not arguments.quick)
    document["ops"] = rows
    arguments.output.write_text(json.dumps(document), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
