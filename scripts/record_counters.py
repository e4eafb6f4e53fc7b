#!/usr/bin/env python3
"""Records the profiler's counters of every step of a chapter, on a GPU by Nsight Compute or from the emulator.

On a machine with a GPU and ncu, from the repository's root:

    scripts/record_counters.py 3                        # docs/results/nvidia-h200/chapter3_counters.json
    scripts/record_counters.py 3 --golden               # docs/results/nvidia-h200/golden/chapter3.json
    scripts/record_counters.py kernels --golden         # docs/results/nvidia-h200/golden/kernels.json

The chapter's program is build/gpu/chapter3/run_all, or the one that --program names. Nothing else of the build is
needed, so that program, this file and --output are enough where there is no repository (set WARPBOOK_COMMIT then):

    WARPBOOK_COMMIT=0123456789ab python3 record_counters.py 3 --program ./run_all --output out/chapter3_counters.json

`run_all --profile` runs each step once on each case, behind a kernel whose grid is (case, step); one run of ncu over all
of it reads the counters, and the marks tell what each launch belongs to. Of a step that launches several kernels, each
is an entry. A case takes some 5 seconds, and the file is written anew behind each: what a time limit leaves is whole cases.
`--steps v7a,v9` records these steps alone, in the place of what the file has of them.

To add a chapter, add its line to CHAPTERS below: a few small cases for the golden file, one of each kind, which the
tests run on the emulator with every block traced (about 256 Ki elements each), and the representative cases for the
book. Then record both files; tests/emulator/emulator_golden_test.py compares every golden file that is there.
"""

import argparse
import collections
import csv
import datetime
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import whole_file

ROOT = pathlib.Path(__file__).resolve().parent.parent

Chapter = collections.namedtuple("Chapter", "golden representative")

CHAPTERS = {
    1: Chapter(
        golden=["n=65536 op=mul dtype=float", "n=65536 op=mul dtype=half", "n=65537 op=mul dtype=half offset=0,1,3",
                "n=262157 op=mul dtype=half offset=0,1,3"],
        representative=["n=33554432 op=mul dtype=float", "n=33554432 op=mul dtype=half",
                        "n=33554432 op=mul dtype=half offset=3,1,6", "n=268435456 op=mul dtype=float"]),
    2: Chapter(
        golden=["shape=16,256,128 strides=65536,256,2 dtype=float", "shape=16,256,128 strides=32768,1,256 dtype=float",
                "shape=16,255,255 strides=65536,256,1 offset=257 dtype=half",
                "shape=16,256,256 strides=0,256,1 dtype=float",
                "shape=16,494,15 strides=7410,1,494 dtype=int8", "shape=8,500,12 strides=6000,1,500 offset=1 dtype=half",
                "shape=4096,64 strides=1040,16 dtype=half", "shape=2048,60 strides=64,1 offset=3 dtype=half",
                "shape=32,4096 strides=8192,2 dtype=int8"],
        representative=["shape=64,512,1024 strides=1048576,2048,1 dtype=half",
                        "shape=64,1024,512 strides=1048576,1024,2 dtype=float",
                        "shape=64,1023,1023 strides=1048576,1,1024 offset=1025 dtype=float",
                        "shape=64,1023,1023 strides=1048576,1024,1 offset=1025 dtype=half",
                        "shape=23,355,258,5,5 strides=121306,262,1,262,1 offset=19912 dtype=int8",
                        "shape=64,1024,512 strides=1048576,1024,2 dtype=int8"]),
    3: Chapter(
        golden=["shape=4,256,256 perm=0,2,1 dtype=float", "shape=4,256,256 perm=0,2,1 dtype=half",
                "shape=16,32,256 perm=1,0,2 dtype=float", "shape=2,96,40,40 perm=0,2,3,1 dtype=half",
                "shape=2,3,128,256 perm=0,2,3,1 dtype=float", "shape=3,255,255 perm=0,2,1 dtype=float",
                "shape=6,10,10,15,32 perm=3,1,4,0,2 dtype=half", "shape=52,569,11 perm=2,0,1 dtype=half",
                "shape=40,19,384 perm=0,2,1 dtype=half"],
        representative=["shape=32,1024,1024 perm=0,2,1 dtype=float", "shape=64,1024,1024 perm=0,2,1 dtype=half",
                        "shape=32,2048,1024 perm=1,0,2 dtype=half", "shape=512,512,128 perm=2,1,0 dtype=float",
                        "shape=7,1023,2047 perm=0,2,1 dtype=half"]),
    4: Chapter(
        golden=["count=131072 places=1024 skew=uniform dtype=float index=int64",
                "count=131072 places=1024 skew=zipf dtype=half index=int64", "problem=inner count=65536 dtype=half"],
        representative=["problem=inner count=65536 dtype=half",
                        "count=16777216 places=256 skew=zipf dtype=float index=int64",
                        "count=16777216 places=65536 skew=uniform dtype=half index=int64",
                        "count=16777216 places=16777216 skew=uniform dtype=float index=int64",
                        "problem=inner count=33554432 dtype=half"]),
    5: Chapter(
        golden=["shape=1024,64 dim=0 count=16384 dtype=float", "shape=32,128,128 dim=0 count=15 dtype=float",
                "shape=4,24,36 dim=1 count=100 dtype=half"],
        representative=["shape=32,1024,1024 dim=0 count=15 dtype=float",
                        "shape=32,1024,1024 dim=0 count=15 dtype=half",
                        "shape=1024,64 dim=0 count=1048576 dtype=float",
                        "shape=16,64 dim=0 count=1048576 dtype=half",
                        "shape=8,12,20,24,36 dim=3 count=100 dtype=half",
                        "shape=33554432 dim=0 count=15 dtype=float"]),
    6: Chapter(
        golden=["shape=2,8,40,40 dtype=half dir=forward", "shape=2,32,20,20 dtype=half layout=nhwc dir=backward",
                "shape=2,8,40,40 dtype=float scale=3 dir=backward", "shape=1,32,64,64 dtype=half dir=backward"],
        representative=["shape=32,64,256,256 dtype=half dir=forward",
                        "shape=32,64,256,256 dtype=half dir=backward",
                        "shape=16,64,160,160 dtype=half scale=1.5 dir=backward",
                        "shape=16,32,80,80 dtype=float dir=backward",
                        "shape=16,32,80,80 dtype=half dir=forward"]),
}

L1 = "l1tex__{}_pipe_lsu_mem_global_op_{}.sum"
METRICS = (
    [L1.format(unit, operation) for unit in ("t_requests", "t_sectors") for operation in ("ld", "st", "red", "atom")] +
    ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
     "smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum",
     "smsp__inst_executed_op_shared_atom.sum",
     "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum", "lts__t_sectors_op_red.sum",
     "lts__t_sectors_op_atom.sum", "lts__t_sectors_srcunit_tex_op_read.sum",
     "lts__t_sectors_srcunit_tex_op_write.sum", "lts__t_sectors_srcunit_tex_op_red.sum",
     "lts__t_sectors_srcunit_tex_op_atom.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
     "smsp__inst_executed.sum", "gpu__time_duration.sum", "launch__registers_per_thread",
     "smsp__issue_active.avg.pct_of_peak_sustained_active", "sm__warps_active.avg.pct_of_peak_sustained_active"])

# Of the golden files, what the tests compare: fewer metrics are fewer passes of each kernel.
GOLDEN_METRICS = [m for m in METRICS if re.search(
    r"global_op_|wavefronts_mem_shared_op_(ld|st)\.|lts__t_sectors_srcunit_tex|dram__bytes|inst_executed\.sum|duration", m)]


def fail(text):
    sys.exit(f"record_counters: {text}")


def marks_of(output):
    """What each mark of a program's standard output stands for: (case, version) by (group, member)."""
    marks = {}
    for line in output.splitlines():
        fields = line.split("\t")
        if fields[0] == "FAIL":
            fail(f"{fields[1]} is wrong: {fields[2]}")
        if fields[0] == "marker":
            marks[int(fields[1]), int(fields[2])] = fields[3], fields[4]
    return marks


def is_mark(kernel):
    return kernel.endswith("step_marker") or "step_marker(" in kernel


def assign(launches, marks):
    """Puts a launch's case and version before its counters; the marks themselves are left out."""
    result = []
    where = None
    for launch in launches:
        if is_mark(launch["kernel"]):
            where = marks[launch["grid"][0], launch["grid"][1]]
        elif where is not None:
            result.append({"case": where[0], "version": where[1], **launch})
    return result


def command_of(program, cases, steps=None):
    arguments = [str(program)]
    if cases is not None:
        arguments.append("--profile")
        for case in cases:
            arguments += ["--case", case]
        arguments += ["--step", steps] if steps else ["--all-steps"]
    return arguments


def extents(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def known_metrics(ncu, wanted):
    """Those of the wanted metrics that this device has."""
    listed = subprocess.run([ncu, "--query-metrics"], capture_output=True, text=True).stdout
    names = set(re.findall(r"^(\w+)", listed, re.MULTILINE))
    missing = [m for m in wanted if m.split(".")[0] not in names and not m.startswith("launch__")]
    if len(missing) > len(wanted) // 2:
        return wanted  # The list itself could not be read: let ncu say what is wrong.
    for metric in missing:
        print(f"record_counters: this device has no {metric}", file=sys.stderr)
    return [m for m in wanted if m not in missing]


def from_gpu(program, cases, metrics=METRICS, steps=None, ncu="ncu"):
    """The launches of a program on the GPU, and what the device and the tool are."""
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "ncu.csv")
        command = [ncu, "--clock-control", "none", "--csv", "--print-units", "base", "--log-file", log, "--metrics",
                   ",".join(known_metrics(ncu, metrics))]
        run = subprocess.run(command + command_of(program, cases, steps), stdout=subprocess.PIPE, text=True)
        text = pathlib.Path(log).read_text() if os.path.exists(log) else ""
    begin = text.find('"ID"')
    if run.returncode == 0 and "No kernels were profiled" in text:  # None of the steps takes the case.
        return []
    if run.returncode != 0 or begin < 0:
        fail(f"ncu or the program failed (status {run.returncode}):\n{text[-2000:]}")
    launches = {}
    for row in csv.DictReader(io.StringIO(text[begin:])):
        launch = launches.setdefault(row["ID"], {"kernel": row["Kernel Name"], "grid": extents(row["Grid Size"]),
                                                 "block": extents(row["Block Size"]), "counters": {}})
        value = row["Metric Value"].replace(",", "")
        if value not in ("", "n/a"):
            launch["counters"][row["Metric Name"]] = float(value)
    return assign(launches.values(), marks_of(run.stdout))


def from_emulator(program, cases, trace="all"):
    """The same from a program built for the emulator."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "counters.json")
        environment = dict(os.environ, WARPBOOK_COUNTERS=path, WARPBOOK_TRACE=trace)
        run = subprocess.run(command_of(program, cases), stdout=subprocess.PIPE, text=True, env=environment)
        if run.returncode != 0:
            fail(f"{program} ended with status {run.returncode}")
        with open(path) as file:
            launches = json.load(file)
    return assign(launches, marks_of(run.stdout))


def driver():
    try:
        text = pathlib.Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return "unknown"
    found = re.search(r"\s(\d+\.[\d.]+)\s", text)
    return found.group(1) if found else "unknown"


def output_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


def commit():
    named = os.environ.get("WARPBOOK_COMMIT")
    return named or output_of(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]).strip() or "unknown"


def kept_launches(document, steps):
    """Of an earlier record, the launches of other steps; and of which commit they are, step by step."""
    launches = [launch for launch in launches_of(document) if launch["version"] not in steps]
    versions = {launch["version"] for launch in launches}
    commits = {version: document["run"]["commit"] for version in versions}
    commits.update({version: c for version, c in document["run"].get("earlier", {}).items() if version in versions})
    return launches, commits


def packed(document):
    """A record's text: the metrics' names once, and a line per launch with their values in that order."""
    metrics = sorted({metric for launch in document["launches"] for metric in launch["counters"]})
    lines = [json.dumps(launch | {"counters": [whole(launch["counters"].get(metric)) for metric in metrics]}, separators=(",", ":"))
             for launch in document["launches"]]
    head = json.dumps(document | {"metrics": metrics, "launches": None}, separators=(",", ":"))
    return head.replace('"launches":null', '"launches":[\n' + ",\n".join(lines) + "\n]") + "\n"


def whole(value):
    return int(value) if value is not None and value == int(value) else value


def launches_of(document):
    """A record's launches, their counters by name; a metric that a launch has no value of is left out."""
    return [launch | {"counters": {metric: value for metric, value in zip(document["metrics"], launch["counters"]) if value is not None}}
            for launch in document["launches"]]


def record(what, golden, program, steps, output):
    """Records case by case, and writes the file behind each."""
    if what == "kernels":
        if not golden:
            fail("kernels: accepted with --golden only")
        cases, program = [None], program or ROOT / "build/gpu/tests/golden_kernels"
    else:
        chapter = CHAPTERS[what]
        cases = [[case] for case in (chapter.golden if golden else chapter.representative)]
        program = program or ROOT / f"build/gpu/chapter{what}/run_all"
    names = output_of(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).splitlines()  # One of each device.
    toolkit = re.search(r"release ([\d.]+)", output_of(["nvcc", "--version"]))
    document = {
        "chapter": what,
        "device": {"name": names[0].strip() if names else "unknown"},
        "run": {"date": datetime.date.today().isoformat(), "driver": driver(),
                "toolkit": toolkit.group(1) if toolkit else "unknown", "commit": commit(),
                "tool": "ncu --clock-control none, one launch of each step, caches flushed by ncu"},
        "launches": [],
    }
    if steps and output.exists():
        document["launches"], document["run"]["earlier"] = kept_launches(whole_file.read_json(output), steps.split(","))
    output.parent.mkdir(parents=True, exist_ok=True)
    for case in cases:
        document["launches"] += from_gpu(program, case, GOLDEN_METRICS if golden else METRICS, steps)
        whole_file.write(output, packed(document))
        print(f"{output}: {len(document['launches'])} launches", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="a chapter's number, or kernels: " + ", ".join(map(str, CHAPTERS)))
    parser.add_argument("--golden", action="store_true", help="the small cases that the tests compare")
    parser.add_argument("--program", help="the program to run, built for the GPU")
    parser.add_argument("--steps", help="these steps alone, as v7a,v9, beside what the file has of the others")
    parser.add_argument("--output", help="the file to write")
    arguments = parser.parse_args()
    what = arguments.what
    if what != "kernels":
        if not what.isdigit() or int(what) not in CHAPTERS:
            fail(f"{what}: accepted are kernels, {', '.join(map(str, CHAPTERS))}")
        what = int(what)
    name = what if what == "kernels" else f"chapter{what}"
    results = ROOT / "docs/results/nvidia-h200"
    usual = results / f"golden/{name}.json" if arguments.golden else results / f"{name}_counters.json"
    output = pathlib.Path(arguments.output or usual)
    record(what, arguments.golden, arguments.program, arguments.steps, output)


if __name__ == "__main__":
    main()
