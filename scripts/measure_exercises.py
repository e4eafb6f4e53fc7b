#!/usr/bin/env python3
"""Measures what our solutions need on the exercises' cases of real size, on the emulator, and which small cases are wrong as
handed out. Writes it beside each chapter's exercises.toml. A reader's solution is compared with it, in a handout too, which holds no solution.

    scripts/measure_exercises.py     after a change of a step, of a case of real size, or of the emulator's model
"""

import argparse
import concurrent.futures
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "common" / "exercises"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import book  # noqa: E402
import judge  # noqa: E402
from toolchain import Toolchain, scratch_folder  # noqa: E402
from whole_file import write  # noqa: E402

SEEDS = 8  # That cases are drawn by.


def measure(toolchain, chapter, exercise):
    """What our solution needs. \\raises SystemExit where it is not right on its case of real size."""
    with scratch_folder() as scratch:
        file = scratch / f"{exercise.name}.cuh"
        file.write_text(exercise.solution, encoding="utf-8")
        compiled = toolchain.compile(chapter, exercise.as_ours(), file, scratch)
        if compiled.error:
            raise SystemExit(f"error: {exercise.key} does not compile: {compiled.error}")
        judging = judge.Judge(toolchain, seconds=120)
        with judging.referee(exercise, [exercise.real]) as referee:
            done, _, finished = judging.hold(exercise, compiled.program, scratch, referee)
        if [line["status"] for line in finished] != ["pass"]:
            raise SystemExit(f"error: {exercise.key} on {exercise.real}: {finished or done.stderr}")
        needs = judge.measure(finished[0]["counters"])
        if exercise.kind != "project":
            needs["wrong_at_first"] = wrong_at_first(toolchain, chapter, exercise)
        return needs


def wrong_at_first(toolchain, chapter, exercise):
    """Which cases the file gets wrong as it is handed out, whatever is drawn."""
    with scratch_folder() as scratch:
        file = scratch / f"{exercise.name}.cuh"
        file.write_text(exercise.handed_out, encoding="utf-8")
        compiled = toolchain.compile(chapter, exercise, file, scratch)
        wrong = set(range(len(exercise.cases)))
        for seed in range(SEEDS):
            folder = scratch / str(seed)
            folder.mkdir()
            judging = judge.Judge(toolchain, seed=seed, seconds=120)
            with judging.referee(exercise, judge.draw_cases(exercise.cases, seed)) as referee:
                _, _, finished = judging.hold(exercise, compiled.program, folder, referee)
            wrong -= {case for case, line in enumerate(finished) if line["status"] == "pass"}
        return sorted(wrong)


def as_text(measured):
    rows = (f" {json.dumps(name)}: {json.dumps(values)}" for name, values in measured.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main():
    argparse.ArgumentParser(description=__doc__.split("\n\n")[0]).parse_args()
    toolchain, chapters = Toolchain("emulator"), book.read_book()
    toolchain.prepare(chapters)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for chapter in chapters:
            toolchain.commands(chapter.number)
            exercises = [e for e in chapter.exercises if e.is_code]
            found = pool.map(lambda e, c=chapter: measure(toolchain, c, e), exercises)
            text = as_text({e.name: values for e, values in zip(exercises, found)})
            path = ROOT / chapter.path / book.OURS
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                write(path, text)
                print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
