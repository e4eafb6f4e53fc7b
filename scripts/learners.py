#!/usr/bin/env python3
"""Kernels as learners write them, tests/emulator/learners/learners.cu: what a GPU measured of them beside what the
emulator counts and models.

    scripts/learners.py --record TIMING.json NCU.csv   # docs/results/nvidia-h200/learners.json
    scripts/learners.py --model                        # docs/results/emulated-h200/learners.json, by build/emulator
    scripts/learners.py                                # prints both, kernel by kernel

On a machine with a GPU, the program is one file that nvcc compiles by itself; METRICS are those of scripts/record_counters.py:

    learners > TIMING.json
    ncu --clock-control none --csv --print-units base --log-file NCU.csv --metrics METRICS learners --once

Ten kernels, drawn by lot before anything was measured, are those that the model may be fitted to ("fitted"); it is judged on
the others.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import record_counters  # noqa: E402
import whole_file  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests/emulator/learners/learners.cu"
MEASURED = ROOT / "docs/results/nvidia-h200/learners.json"
MODELLED = ROOT / "docs/results/emulated-h200/learners.json"


def counters_of(text):
    """Each launch's counters, in order, from what ncu wrote."""
    launches = {}
    for row in csv.DictReader(io.StringIO(text[text.find('"ID"'):])):
        counters = launches.setdefault(row["ID"], {})
        value = row["Metric Value"].replace(",", "")
        if value not in ("", "n/a"):
            counters[row["Metric Name"]] = float(value)
    return list(launches.values())


def record(timing, counters):
    measured = whole_file.read_json(timing)
    seen = counters_of(pathlib.Path(counters).read_text(encoding="utf-8"))
    if len(seen) != len(measured["launches"]):
        sys.exit(f"learners: {len(measured['launches'])} launches were timed, and {len(seen)} profiled")
    launches = [launch | {"counters": of_launch} for launch, of_launch in zip(measured["launches"], seen)]
    document = {"device": {"name": measured["device"]},
                "run": {"tool": "learners; ncu --clock-control none ... learners --once", "commit": record_counters.commit()},
                "launches": launches}
    whole_file.write(MEASURED, record_counters.packed(document))


def emulate(build, only=".", trace="sample"):
    """What the emulator makes of the kernels: (name, size) to counters, seconds, and what limits them."""
    with tempfile.TemporaryDirectory() as folder:
        program, counters = pathlib.Path(folder) / "learners", pathlib.Path(folder) / "counters.json"
        subprocess.run([sys.executable, ROOT / "scripts/emulate.py", "--build", build, "--no-run", "--output", program, SOURCE],
                       check=True)
        environment = dict(os.environ, WARPBOOK_COUNTERS=str(counters), WARPBOOK_TRACE=trace, WARPBOOK_CHECK="none")
        run = subprocess.run([program, "--once", "--only", only], stdout=subprocess.PIPE, text=True, env=environment, check=True)
        launches = whole_file.read_json(counters)
    names = [(launch["kernel"], launch["size"]) for launch in json.loads(run.stdout)["launches"]]
    assert [name for name, _ in names] == [launch["kernel"] for launch in launches]
    return dict(zip(names, launches))


def model(build):
    lines = [json.dumps({"kernel": kernel, "size": size, "seconds": float(f"{launch['modelled_seconds']:.5g}"),
                         "limited_by": launch["limited_by"]}, separators=(",", ":"))
             for (kernel, size), launch in emulate(build).items()]
    head = json.dumps({"commit": record_counters.commit()}, separators=(",", ":"))
    whole_file.write(MODELLED, head[:-1] + ',"launches":[\n' + ",\n".join(lines) + "\n]}\n")


def measured():
    """The record's launches. Each kernel's first size is the small one."""
    seen, launches = set(), []
    for launch in record_counters.launches_of(whole_file.read_json(MEASURED)):
        launches.append(launch | {"group": "large" if launch["kernel"] in seen else "small"})
        seen.add(launch["kernel"])
    return launches


def rows():
    """Modelled beside measured, as scripts/compare_model.py has rows."""
    modelled = {(launch["kernel"], launch["size"]): launch for launch in whole_file.read_json(MODELLED)["launches"]}
    result = []
    for launch in measured():
        other = modelled[launch["kernel"], launch["size"]]
        seconds = launch["microseconds"] * 1e-6
        result.append({"chapter": "learners", "case": launch["group"], "version": launch["kernel"], "size": launch["size"],
                       "fitted": launch["fitted"], "measured_seconds": seconds, "modelled_seconds": other["seconds"],
                       "factor": other["seconds"] / seconds, "limited_by": other["limited_by"]})
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs=2, metavar=("TIMING", "NCU"), help="write what was measured")
    parser.add_argument("--model", action="store_true", help="write what the emulator models")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/emulator", help="the build of the emulator")
    arguments = parser.parse_args()
    if arguments.record:
        record(*arguments.record)
    if arguments.model:
        model(arguments.build)
    for row in rows() if MODELLED.exists() else []:
        print(f"{'fitted' if row['fitted'] else 'judged'}  {row['version']:20} {row['size']:>12} "
              f"{row['measured_seconds'] * 1e6:9.2f} us {row['modelled_seconds'] * 1e6:9.2f} modelled {row['factor']:6.2f}  {row['limited_by']}")


if __name__ == "__main__":
    main()
