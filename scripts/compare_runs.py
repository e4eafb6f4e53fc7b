#!/usr/bin/env python3
"""Do two runs of the same program agree? scripts/compare_runs.py A.json B.json, both from `run_all --json`.

Medians of cases over 50 us are to be within 2% (--share). With --known-pairs, the file is tests/harness/timing/known_pairs' own:
in it v2 is v1 again and to be called noise; v3 and v4 move more and are to be called slower.

Exit status: 0 they agree; 1 they do not; 2 a file is none of these.
"""

import argparse
import sys

import whole_file

LEAST_SECONDS = 50e-6


class BadFile(Exception):
    pass


def load(path):
    try:
        run = whole_file.read_json(path)
        if not isinstance(run, dict) or not isinstance(run["cases"], list) or run["partial"]:
            raise BadFile(f"{path}: not a whole run of run_all --json" if not run.get("partial") else f"{path}: the run was interrupted")
        return run
    except (KeyError, AttributeError) as error:
        raise BadFile(f"{path}: not written by run_all --json (no {error})") from error


def medians(run):
    """(case, step) to the median in seconds; the copy counts as a step."""
    result = {}
    for case in run["cases"]:
        if case.get("copy"):
            result[case["parameters"], "copy"] = case["copy"]["median"]
        for step in case["steps"]:
            if step.get("seconds"):
                result[case["parameters"], step["version"]] = step["seconds"]["median"]
    return result


def compare(first, second, share):
    a, b = medians(first), medians(second)
    long = sorted(k for k in a if k in b and min(a[k], b[k]) > LEAST_SECONDS)
    changes = sorted(((abs(a[k] - b[k]) / min(a[k], b[k]), k) for k in long), reverse=True)
    apart = [(c, k) for c, k in changes if c >= share]
    device = first["device"]["name"]
    print(f"{first['name']} on {device}: {len(long)} medians over {LEAST_SECONDS * 1e6:.0f} us: "
          f"{len(long) - len(apart)} within {share:.0%}" + (f", the furthest {changes[0][0]:.2%} apart" if changes else ""))
    for change, (case, version) in apart:
        print(f"  {change:.2%} apart: {version} on {case}: {a[case, version] * 1e6:.1f} and {b[case, version] * 1e6:.1f} us")
    for run in (first, second):
        timing = run.get("timing") or {}
        if timing.get("event_gap_seconds"):
            print(f"  a sample of nothing: {timing['event_gap_seconds'] * 1e6:.2f} us; clock "
                  f"{timing['lowest_clock_hertz'] / 1e6:.0f} to {timing['highest_clock_hertz'] / 1e6:.0f} MHz"
                  + ("; THROTTLED" if timing["throttled"] else ""))
    return bool(long) and not apart


def known_pairs(run):
    """Whether the harness called v2 noise, and v3 and v4 slower than v1."""
    right = bool(run["cases"])
    for case in run["cases"]:
        steps = {s["version"]: s for s in case["steps"]}
        for version, wanted in (("v2", True), ("v3", False), ("v4", False)):
            step = steps[version]
            said = step["speedup_vs_first_is_noise"]
            verdict = "noise" if said else f"{step['speedup_vs_first']:.3f}x"
            fits = said == wanted and (wanted or step["speedup_vs_first"] < 1)
            print(f"{case['name']}: {version} {step['name']}: {verdict}: {'right' if fits else 'WRONG'}")
            right = right and fits
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--known-pairs", action="store_true")
    options = parser.parse_args()
    try:
        runs = [load(f) for f in options.files]
        if options.known_pairs:
            right = all([known_pairs(run) for run in runs])
        elif len(runs) == 2:
            right = compare(*runs, options.share)
        else:
            raise BadFile("two files are compared")
    except BadFile as error:
        print(f"compare_runs: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, AttributeError) as error:
        print(f"compare_runs: not written by run_all --json: {error!r}", file=sys.stderr)
        return 2
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
