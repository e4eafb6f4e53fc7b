"""The two programs that a check is made of: one runs the reader's file and has the inputs alone; the other one, the
referee, made the inputs, keeps the reference to itself, and judges what came back."""

import contextlib
import json
import os
import subprocess

from toolchain import BuildError, scratch_folder

SECONDS = 300  # For the referee, which computes references on the host.


class BadCase(BuildError):
    """What a case's parameters must not be."""


class Referee:
    """Runs beside the compiler, so that the inputs are there when the check is built. A context manager."""

    def __init__(self, program, exercise, cases, seed, name="arrays"):
        self.name = name  # Of the folder that the check gets.
        self.command = [program, "--seed", str(seed & (2**63 - 1))]
        self.command += ["--yardstick"] * exercise.yardstick + ["--any-writer"] * (not exercise.kernel_writes)
        self.cases = cases

    def __enter__(self):
        self._folder = scratch_folder()
        self.folder = self._folder.__enter__()
        self.process = subprocess.Popen(
            [*self.command, "--arrays", self.folder, *self.cases], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self._folder.__exit__(None, None, None)

    def failed(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)  # With status 2 it did not like the case.
        self.process.kill()
        said = self.process.communicate()[1].strip().splitlines()
        if self.process.returncode == 2 and said:
            return BadCase(said[-1].removeprefix("referee: "))
        return BuildError("the check's inputs could not be made" + (f": {said[-1]}" if said else ""))

    def hand_over(self, folder):
        """Moves the inputs to the folder, which until then nobody else sees. \\raises BuildError"""
        if self.process.stdout.readline() != "ready\n":
            raise self.failed()
        folder.mkdir()
        for path in self.folder.iterdir():
            os.replace(path, folder / path.name)

    def judge(self, folder):
        """[{"case", "title", "status", "reason"}] of what is in the folder. \\raises BuildError"""
        try:
            out, _ = self.process.communicate(f"{folder}\n", timeout=SECONDS)
            lines = [json.loads(line) for line in out.splitlines()]
        except (subprocess.TimeoutExpired, ValueError, OSError):
            raise self.failed() from None
        if len(lines) != len(self.cases):
            raise BuildError("the check's outputs could not be judged")
        return lines


def joined(ran, found):
    """A case's line from those of the two programs."""
    if ran["error"]:
        parts = [ran["error"], ran["report"]]
    else:
        parts = [found["reason"], ran["damage"], ran["report"]]
    parts = [part for part in parts if part]
    status = "fail" if parts else found["status"]
    reported = bool(ran["report"] or ran.get("damage"))
    return found | {"status": status, "reason": "; ".join(parts), "reported": reported, "counters": ran["counters"]}
