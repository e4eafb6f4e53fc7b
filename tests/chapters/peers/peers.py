#!/usr/bin/env python3
"""Times a chapter's take-away header, PyTorch eager and torch.compile in turn, and writes chapterN_peers.json.

    python3 tests/chapters/peers/peers.py --chapter 3                            the chapter's cases
    python3 tests/chapters/peers/peers.py --chapter 3 --random 200               and 200 random ones, of a seed that it draws
    python3 tests/chapters/peers/peers.py --chapter 3 --random 200 --part 1/4    every fourth case, where time is short
    python3 tests/chapters/peers/peers.py --chapter 3 --random 200 --part 2/4 --seed 12345     the next ones, of that seed
    python3 tests/chapters/peers/peers.py --chapter 4 --begin 15                 from the 15th case on
    python3 tests/chapters/peers/peers.py --chapter 3 --random 200 --workers 12  compiling ahead in 12 processes
    python3 tests/chapters/peers/peers.py --chapter 3 --triton                   beside versions in Triton, into triton.json
    python3 tests/chapters/peers/peers.py --merge OUT PART PART ...              the parts in one file

What a chapter compares, and how, stands in chapterN.py beside this script.

Results are compared before anything is timed. The file is written anew after each case, so that whatever
stops the script, what it had measured is there.
"""

import argparse
import contextlib
import datetime
import functools
import importlib
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import time

from results import merge, print_summary, summaries, write_whole

SLOW_CALL_SECONDS = 0.03  # An estimate above it, and a compiled operation is not timed.
ROOT = pathlib.Path(__file__).resolve().parents[3]
METHOD = ("CUDA events around one call, device kept busy until it is enqueued, L2 flushed before each sample, "
          "calls in turn in one process; seconds are medians")


def first_line(*command):
    """What a command prints, or unknown."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        return result.stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def sources(chapter):
    """The hash of a chapter's sources that its record of times has, or unknown."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from record_times import sources_hash

        return sources_hash(chapter)
    except (ImportError, OSError, ValueError):
        return "unknown"
    finally:
        sys.path.pop(0)


def chapters():
    """The numbers of the chapters that have a module here."""
    return sorted(int(path.stem.removeprefix("chapter")) for path in pathlib.Path(__file__).parent.glob("chapter*.py"))


def make_inputs(case):
    import torch

    torch.manual_seed(1)
    return case.make_inputs()


def compile_for_one_case(function):
    import torch

    torch._dynamo.reset()  # Each case is a program of its own; nothing is reused, no limit is met.
    return torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False, fullgraph=True)


def prepare_compiler(folder):
    """Keeps what is compiled under build/, and each choice between kernels to the process that made it: one made while
    other processes used the device too would be unfair to the compiler."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    os.environ.setdefault("TRITON_CACHE_DIR", str(folder / "triton"))
    import torch._inductor.config

    torch._inductor.config.autotune_local_cache = False


def compile_ahead(workers, seed, deadline):
    """Fills the compiler's caches by this same script, each process with its share of the cases. What is not done by the
    deadline is ended: where many entries meet, the compiler's own trials of a kernel can take minutes."""
    command = [sys.executable, *sys.argv, "--seed", str(seed)]
    environment = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    processes = [
        subprocess.Popen([*command, "--compile-share", f"{i}/{workers}"], env=environment, stdout=subprocess.DEVNULL)
        for i in range(1, workers + 1)
    ]
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0, min(deadline - time.monotonic(), 3600)))
    late = [process for process in processes if process.poll() is None]
    for process in late:
        process.kill()
    if late or any([process.wait() for process in processes]):
        print("some processes that compile ahead failed or were late: their cases are compiled when they are measured")


def too_slow_to_compare(case):
    """Why the compiled operation is not timed on a case: it would take many seconds a call, and max-autotune calls it a
    hundred times. Told by a small part of the case, with the compiler's first choice of a kernel; None where it is
    fast enough."""
    import torch

    part, share = case.small_part()
    if part is None:
        return None
    torch._dynamo.reset()
    compiled = torch.compile(part.operation(), dynamic=False, fullgraph=True)
    inputs = make_inputs(part)
    compiled(*inputs)
    torch.cuda.synchronize()
    start = time.perf_counter()
    compiled(*inputs)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if seconds * share < SLOW_CALL_SECONDS:
        return None
    return f"torch.compile: not timed: 1/{share} of the case ({part.name}) takes {seconds:.2g} s a call"


def compile_only(cases, deadline):
    for case in cases:
        if time.monotonic() > deadline:
            break
        try:
            if too_slow_to_compare(case) is None:
                compile_for_one_case(case.operation())(*make_inputs(case))
        except Exception as problem:  # Measuring meets it again and reports it.
            print(f"{case.name} {case.dtype}: {problem}", file=sys.stderr)


def make_copy(count):
    """A function that copies memory to memory and moves as many bytes."""
    import torch

    source, destination = (torch.zeros(count // 2, dtype=torch.uint8, device="cuda") for _ in range(2))
    return lambda: destination.copy_(source)


def measure(case, library, timer, with_compiled, more):
    """One row of the file. more: name -> another version, a function of the inputs that returns the result."""
    import torch
    from timing import in_turn

    inputs = make_inputs(case)
    operation = case.operation()
    expected = operation(*make_inputs(case))
    # Each has inputs of its own. Some are changed; and compiled kernels ask the L2 to keep what they read, which it then
    # does through a flush: whoever read the same tensor next would find parts of it there. See Timer.sets_of_inputs.
    sets = timer.sets_of_inputs(inputs)
    our_inputs = [make_inputs(case) for _ in range(sets)]  # Alive until all is timed: what is bound has addresses only.
    stream = torch.cuda.current_stream().cuda_stream
    bound = [case.bind(library, each, stream) for each in our_inputs]
    call, output = bound[0]
    call()
    if output.shape != expected.shape or output.dtype != expected.dtype:
        raise RuntimeError(f"the output is {output.dtype} {tuple(output.shape)}, PyTorch's {expected.dtype} "
                           f"{tuple(expected.shape)}")
    problem = case.compare(output, expected)
    if problem:
        raise RuntimeError(problem)

    planned = []
    plan = case.plan(library, our_inputs[0], stream, timer.flush)
    if plan is not None:
        bind_planned, plan_note = plan
        planned_inputs = [make_inputs(case) for _ in range(sets)]
        planned = [bind_planned(each) for each in planned_inputs]
        planned_call, planned_output = planned[0]
        planned_call()
        problem = case.compare(planned_output, expected)
        if problem:
            raise RuntimeError(f"as planned ({plan_note['planned_kernel']}): {problem}")

    def with_all_inputs(function):
        return in_turn([functools.partial(function, *each) for each in [make_inputs(case) for _ in range(sets)]])

    functions = {"ours": in_turn([call for call, _ in bound]), "eager": with_all_inputs(operation)}
    if planned:
        functions["planned"] = in_turn([call for call, _ in planned])
    for name, function in more.items():
        problem = case.compare(function(*make_inputs(case)), expected)
        if problem:
            raise RuntimeError(f"{name}: {problem}")
        functions[name] = with_all_inputs(function)
    note = too_slow_to_compare(case) if with_compiled else None
    if with_compiled and note is None:
        try:
            compiled = compile_for_one_case(operation)
            problem = case.compare(compiled(*make_inputs(case)), expected)
            if problem:
                raise RuntimeError(f"its result differs: {problem}")
            functions["compiled"] = with_all_inputs(compiled)
        except Exception as problem:  # A compiler's failure is a result: the row says so and goes on.
            note = f"torch.compile: {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"
    del expected
    functions |= {"copy": make_copy(case.bytes_moved)} | case.yardsticks(inputs)

    times = timer.time(functions)
    row = {"case": case.name, "dtype": case.dtype, "bytes_moved": case.bytes_moved}
    for name in dict.fromkeys(("ours", "eager", "compiled", *functions)):
        row[f"{name}_seconds"] = times[name]["median"] if name in times else None
    if (bound := case.bound_seconds(row["copy_seconds"])) is not None:
        row["bound_seconds"] = bound
    row["spread"] = times
    if planned:
        row |= plan_note
    if timer.is_short(times["ours"]):  # There the host decides: what it takes to call each of them.
        row["call_seconds"] = timer.call_seconds({name: functions[name] for name in functions if name != "copy"})
    if note:
        row["note"] = note
    return row


def part_of(text):
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text}: a part is I/N with 1 <= I <= N")
    return int(match[1]), int(match[2])


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chapter", type=int, choices=chapters(), help="whose cases; needed unless parts are merged")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="random cases besides the chapter's")
    parser.add_argument("--no-fixed", action="store_true", help="without the chapter's cases")
    parser.add_argument("--seed", type=int, help="of the random cases (a new one, which is told and recorded)")
    parser.add_argument("--samples", type=int, default=31, help="per case and function, 30 at least (31)")
    parser.add_argument("--begin", type=int, default=1, metavar="N", help="the first case, counted from 1 (1)")
    parser.add_argument("--part", type=part_of, default=(1, 1), metavar="I/N", help="every Nth case, from the Ith on")
    parser.add_argument("--triton", action="store_true", help="the cases that have a version in Triton, and it beside the others")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"),
                        help="begin no case after this time; compiling ahead is part of it")
    parser.add_argument("--no-compiled", action="store_true", help="without torch.compile")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes that compile ahead (none)")
    parser.add_argument("--compile-share", type=part_of, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/peers", help="where the library is built")
    parser.add_argument("--library", type=pathlib.Path, help="the chapter's NAME_c.cu as it was built elsewhere")
    parser.add_argument("--output", type=pathlib.Path, help="default: docs/results/<device>/chapterN_peers.json, or triton.json, which keeps other chapters")
    parser.add_argument("--merge", nargs="+", type=pathlib.Path, metavar="FILE", help="OUT PART [PART ...]")
    arguments = parser.parse_args()
    if arguments.samples < 30:
        parser.error(f"--samples {arguments.samples}: at least 30 are needed for a median that means something")
    if arguments.begin < 1:
        parser.error(f"--begin {arguments.begin}: cases are counted from 1")
    if arguments.triton and (arguments.random or arguments.no_fixed):
        parser.error("--triton has cases of its own: no --random, no --no-fixed")
    if arguments.random and arguments.seed is None and (arguments.part[0] > 1 or arguments.begin > 1):
        parser.error("--seed: the one that the first part told is needed for the others")
    if arguments.chapter is None and not arguments.merge:
        parser.error(f"--chapter is needed: one of {', '.join(map(str, chapters()))}")
    if arguments.merge and len(arguments.merge) < 2:
        parser.error("--merge: the output and at least one part are needed")
    return arguments


def others_in_triton(output, chapter):
    """What a record of versions in Triton has of other chapters."""
    return [row for row in json.loads(output.read_text())["cases"] if row["chapter"] != chapter] if output.exists() else []


def main():
    start = time.monotonic()
    arguments = parse_arguments()
    if arguments.merge:
        try:
            print_summary(merge(arguments.merge[0], arguments.merge[1:]))
        except (OSError, ValueError) as problem:
            print(f"error: {problem}", file=sys.stderr)
            return 2
        return 0

    try:
        import torch
        import triton
    except ImportError as problem:
        print(f"error: PyTorch with CUDA is needed: {problem}", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("error: no CUDA device is here", file=sys.stderr)
        return 3

    from library import build, load
    from timing import Timer

    chapter = importlib.import_module(f"chapter{arguments.chapter}")
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    if arguments.random and not arguments.compile_share:
        print(f"--seed {seed}", flush=True)
    numbered = [] if arguments.no_fixed else [("fixed", case) for case in chapter.fixed_cases()]
    numbered += [("random", case) for case in chapter.random_cases(arguments.random, seed)]
    in_triton = {}
    if arguments.triton:
        from triton_versions import versions

        in_triton = versions(arguments.chapter)
        numbered = [("fixed", case) for case in in_triton]
    part, parts = arguments.part
    todo = list(enumerate(numbered))[arguments.begin - 1 :][part - 1 :: parts]

    if not arguments.no_compiled:
        prepare_compiler(arguments.build.resolve())
        if arguments.compile_share:
            share, shares = arguments.compile_share
            cases = [case for _, (_, case) in todo[share - 1 :: shares]]
            compile_only(cases, start + arguments.budget_seconds / 3)
            return 0
        if arguments.workers > 0:
            compile_ahead(min(arguments.workers, len(todo)), seed, start + arguments.budget_seconds / 2)
            print(f"compiled ahead in {time.monotonic() - start:.0f} s", flush=True)

    device = torch.cuda.get_device_name(0)
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    name = "triton" if arguments.triton else f"chapter{arguments.chapter}_peers"
    output = arguments.output or ROOT / f"docs/results/{slug}/{name}.json"
    capability = "".join(map(str, torch.cuda.get_device_capability(0)))
    library = load(arguments.library or build(chapter.LIBRARY, arguments.build, capability), chapter.FUNCTIONS)
    timer = Timer(arguments.samples)

    document = {
        **({} if arguments.triton else {"chapter": arguments.chapter}),
        "device": device,
        "run": {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "driver": first_line("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
            "toolkit": torch.version.cuda,
            "torch": torch.__version__,
            "triton": triton.__version__,
            "commit": os.environ.get("WARPBOOK_COMMIT") or first_line("git", "describe", "--always", "--dirty"),
            "sources": sources(arguments.chapter),
            "seed": seed,
            "random": arguments.random,
            "samples": arguments.samples,
            "part": f"{part}/{parts}",
            "method": METHOD,
            "kept_lines": "inputs of three times the L2 in turn" if timer.lines_stay else "made ordinary before each flush",
        },
        "partial": True,
        "cases": others_in_triton(output, arguments.chapter) if arguments.triton else [],
        "left_out": [f"{case.name} {case.dtype}" for _, (_, case) in todo],
    }

    for done, (number, (group, case)) in enumerate(todo, start=1):
        if time.monotonic() - start > arguments.budget_seconds:
            print(f"the budget of {arguments.budget_seconds:.0f} s is spent: {len(document['left_out'])} cases left out")
            break
        row = {"chapter": arguments.chapter} if arguments.triton else {}
        row |= {"number": number, "group": group}
        try:
            row |= measure(case, library, timer, not arguments.no_compiled,
                           {"triton": in_triton[case]} if in_triton else {})
            shown = "  ".join(
                f"{name} {row[name + '_seconds'] * 1e6:.1f}" for name in ("ours", "planned", "eager", "compiled", "triton", "copy")
                if row.get(name + "_seconds")
            )
        except RuntimeError as problem:
            row |= {"case": case.name, "dtype": case.dtype, "error": str(problem).splitlines()[0]}
            shown = f"FAILED: {row['error']}"
        document["cases"].append(row)
        document["left_out"] = document["left_out"][1:]
        document["partial"] = bool(document["left_out"])
        write_whole(output, document)
        print(f"[{done}/{len(todo)} {time.monotonic() - start:.0f} s] {case.name} {case.dtype}: {shown}", flush=True)
        torch.cuda.empty_cache()

    document["summary"] = summaries(document["cases"])
    write_whole(output, document)
    print_summary(document)
    if todo and not document["cases"]:
        print("error: nothing was compared", file=sys.stderr)
        return 1
    return 1 if any("error" in row for row in document["cases"]) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # What was compared by then is written.
        sys.exit(130)
