"""Is an exercise solved? Runs its check, and judges what came: right on every case, and within its bars."""

import dataclasses
import hashlib
import json
import os
import random
import re
import signal

from counters import COUNTERS
from toolchain import BuildError, plain_run, scratch_folder
from trial import Referee, joined

DONE, SLOW, WRONG, NOT_BEGUN, NO_COMPILE, REFUSED, MISSING = (
    "done", "slow", "wrong", "not begun", "does not compile", "refused", "missing",
)  # fmt: skip
CRASHED, TIMED_OUT = "crashed", "timed out"
UNPROVEN = "unproven"  # Right on a GPU, which does not show the bug that was to be found.
CONFINED_STATUS = 86  # As warpbook_emulator.h has it.
RANGE = re.compile(r"\{(\d+)\.\.(\d+)(?:/(\d+))?\}")


@dataclasses.dataclass
class Verdict:
    """What came of an exercise. `reason` is one line; `details` are lines for a reader."""

    status: str
    reason: str = ""
    details: tuple = ()
    measured: dict = dataclasses.field(default_factory=dict)  # By counter, as far as there is a bar on it.
    file: str = ""
    device: str = ""
    emulated: bool = True
    seconds: float = 0.0  # That the check took.

    @property
    def done(self):
        return self.status == DONE

    @property
    def points(self):
        """Of one: a right solution that wastes the device is worth half."""
        return {DONE: 1.0, SLOW: 0.5}.get(self.status, 0.0)


def fill_ranges(template, choose):
    """The case with each {a..b} as choose(a, b) says; of {a..b/k} a multiple of k."""

    def number(found):
        low, high, step = int(found[1]), int(found[2]), int(found[3] or 1)
        return str(choose(-(-low // step), high // step) * step)

    return RANGE.sub(number, template)


def draw_cases(templates, seed):
    """The cases with their ranges drawn: the same ones for a seed."""
    source = random.Random(f"warpbook {seed}")
    return [fill_ranges(template, source.randint) for template in templates]


def draw_count(templates):
    return sum(1 for t in templates if RANGE.search(t))


class Judge:
    """Checks exercises on one device. `sandbox` runs what readers wrote; without one, only time is limited."""

    def __init__(self, toolchain, sandbox=None, seed=1, seconds=20):
        self.toolchain = toolchain
        self.sandbox = sandbox
        self.seed = seed
        self.seconds = seconds

    def check(self, chapter, exercise, file, say_not_begun=True):
        """Compiles and runs the check of a file. \\raises BuildError where the project itself is at fault"""
        name = str(file)
        if not file.is_file():
            return Verdict(MISSING, "there is no file", file=name)
        text = file.read_text(encoding="utf-8", errors="replace")
        if say_not_begun and text == exercise.handed_out:
            return Verdict(NOT_BEGUN, "as it was handed out", file=name)
        cases = draw_cases(exercise.cases, self.seed)
        referee = Referee(self.toolchain.referee(chapter.number), exercise, cases, self.seed)
        with scratch_folder() as scratch, referee:
            compiled = self.toolchain.compile(chapter, exercise, file, scratch, self.sandbox, max(60, 3 * self.seconds))
            if compiled.error:
                lines = compiled.error.splitlines()
                return Verdict(REFUSED if compiled.refused else NO_COMPILE, lines[0], tuple(lines), file=name)
            verdict = self.run(exercise, compiled.program, scratch, file, referee)
            if verdict.done and not verdict.emulated and exercise.kind == "bug":
                verdict.status = UNPROVEN
                verdict.reason = "right here, but a GPU does not show the bug that was to be found: check with DEVICE=emulator"
            elif verdict.done and not verdict.emulated and exercise.gpu:
                verdict = self.judge_speed(chapter, exercise, compiled.program, scratch, verdict)
            verdict.file = name
            if not verdict.done and compiled.notes:
                verdict.details += tuple(compiled.notes.splitlines())
            return verdict

    def execute(self, exercise, program, scratch, cases, results, arrays=None):
        """Runs a check: on the arrays, or where there are none, to be timed."""
        command = [program, "--results", results] + ["--yardstick"] * exercise.yardstick
        command += ["--arrays", arrays] if arrays else ["--time", "--seed", str(self.seed & (2**63 - 1))]
        run = self.sandbox or plain_run
        return run(command + cases, cwd=scratch, scratch=scratch, seconds=self.seconds,
                   environment=None if self.sandbox else os.environ, reserves=True)  # fmt: skip

    def findings(self, stderr, file):
        return findings(stderr, self.toolchain.root, file)

    def run(self, exercise, program, scratch, file, referee):
        done, lines, finished = self.hold(exercise, program, scratch, referee)
        head = lines[0] if lines else {}
        verdict = Verdict(DONE, device=head.get("device", ""), emulated=head.get("emulated", True), seconds=done.seconds)
        wrong = [line for line in finished if line["status"] != "pass"]
        if wrong:
            return judge_wrong(verdict, exercise, wrong, len(finished), len(referee.cases), self.findings(done.stderr, file))
        if not lines or "complete" not in lines[-1] or done.returncode != 0 or len(finished) != len(referee.cases):
            return judge_ended(verdict, lines, done, self.seconds, self.findings(done.stderr, file))
        if verdict.emulated:
            judge_counters(verdict, exercise, {line["case"]: line["counters"] for line in finished}, referee.cases)
        return verdict

    def hold(self, exercise, program, scratch, referee):
        """Runs a check on a referee's cases. \\return how the program ended, its lines, and those of the cases that it
        finished, judged, each with its launches' counters. \\raises BuildError where this machine failed"""
        results = scratch / f"{referee.name}.jsonl"
        arrays = scratch / referee.name
        referee.hand_over(arrays)
        done = self.execute(exercise, program, scratch, referee.cases, results, arrays)
        if done.returncode in (2, 3, 4):  # Of its own making: no device, no inputs, no room for outputs.
            said = done.stderr.strip().splitlines()
            raise BuildError("the check could not be run" + (f": {said[-1]}" if said else ": is the disk full?"))
        lines = read_lines(results)
        finished = [joined(ran, found) for ran, found in zip((line for line in lines if "error" in line), referee.judge(arrays))]
        return done, lines, finished

    def judge_speed(self, chapter, exercise, program, scratch, verdict):
        """On a GPU: the step's own time beside the reader's."""
        if exercise.solution is None:
            verdict.reason = "right; how fast is not judged here: a handout has no step of ours to compare with"
            return verdict
        case = [draw_cases([exercise.gpu["case"]], self.seed)[0]]
        ours = scratch / "ours"
        ours.mkdir()
        step = ours / f"{exercise.name}.cuh"
        step.write_text(exercise.solution, encoding="utf-8")
        compiled = self.toolchain.compile(chapter, exercise, step, ours)
        if compiled.error:
            raise BuildError(f"{exercise.key}: our own step does not compile: {compiled.error}")
        times = []
        for binary, folder in ((program, scratch), (compiled.program, ours)):
            results = folder / "times.jsonl"
            self.execute(exercise, binary, folder, case, results)
            found = [line["seconds"] for line in read_lines(results) if "seconds" in line]
            if not found:
                verdict.status, verdict.reason = WRONG, f"wrong on {case[0]}"
                return verdict
            times.append(found[0])
        share = times[1] / times[0]
        verdict.measured["share of our step's speed"] = share
        if share < exercise.gpu["share"]:
            verdict.status = SLOW
            verdict.reason = f"right, at {share:.0%} of our step's speed; the bar is {exercise.gpu['share']:.0%}"
            verdict.details = (f"{case[0]}: {times[0] * 1e6:.1f} us, ours {times[1] * 1e6:.1f} us",)
        return verdict


def read_lines(path):
    lines = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
    return [line for line in lines if isinstance(line, dict)]


def findings(stderr, root, file):
    """What the emulator found, as lists of lines without its margin: each place once, with the reader's lines."""
    blocks, current = [], None
    for line in stderr.splitlines():
        if not line.startswith("========="):
            continue
        text = re.sub(rf"\S*/(?={re.escape(file.name)}:\d)", "", line.removeprefix("=========").replace(f"{root}/", "")).rstrip()
        if current is None or not text.startswith("     "):
            current = []
            blocks.append(current)
        current.append(text.strip())
    source = file.read_text(encoding="utf-8", errors="replace").splitlines()
    result, places = [], set()
    for block in (b for b in blocks if b and b[0] and not re.match(r"\d+ more: ", b[0])):
        numbers = list(dict.fromkeys(int(n) for n in re.findall(rf"{re.escape(file.name)}:(\d+)", " ".join(block))))
        place = (block[0].split(" of size ")[0], *numbers)
        if place in places:
            continue
        places.add(place)
        result.append(block + [f"{n:5} | {source[n - 1].strip()}" for n in numbers if 0 < n <= len(source)])
    return result


def judge_wrong(verdict, exercise, wrong, finished, all_cases, found):
    verdict.status = WRONG
    first = wrong[0]
    parts = [part.strip() for part in first["reason"].split("; ") if part.strip()]
    told = [block[0][:24] for block in found]  # The report tells it better than the summary that holds its first line.
    parts = [part for part in parts if not any(head in part for head in told)]
    if exercise.kind == "bug":  # Where it is, is the exercise.
        found = [[plain_finding(block[0])] for block in found]
        verdict.reason = "; ".join(parts + [block[0] for block in found[:1]])
    else:
        verdict.reason = first["reason"]
    verdict.reason = f"{first['title']}: {verdict.reason}"
    details = [f"on {first['title']}  ({first['case']})"] + [f"  {part}" for part in parts]
    for block in list(dict.fromkeys(map(tuple, found)))[:2]:
        details += ["  " + block[0]] + ["      " + line for line in block[1:]]
    right = finished - len(wrong)
    count = f"{right} of the {all_cases} cases {'is' if right == 1 else 'are'} right"
    details.append(count if right else f"none of the {all_cases} cases is right")
    verdict.details = tuple(details)
    return verdict


def plain_finding(headline):
    """What the emulator found, without the place."""
    what = headline
    if found := re.match(r"Invalid __(\w+)__ (\w+)", headline):
        what = f"a {found[2]} of {found[1]} memory that is not allowed"
    elif headline.startswith("Race"):
        what = "a race between threads"
    elif found := re.match(r"Uninitialized __(\w+)__ memory read", headline):
        what = f"a read of {found[1]} memory that nobody wrote"
    return f"the checker found {re.sub(r' at .*', '', what)}: where, is for you to find"


def judge_ended(verdict, lines, done, seconds, found):
    """The program ended before its time."""
    begun = [line["begins"] for line in lines if "begins" in line]
    where = f" on {begun[-1]}" if begun else " before its first case"
    if done.returncode == CONFINED_STATUS:
        verdict.status = REFUSED
        verdict.reason = (found[0][0] if found else "its host code touches what is not its own") + where
    elif done.timed_out or done.returncode == -signal.SIGXCPU:
        verdict.status = TIMED_OUT
        verdict.reason = f"not done after {seconds:g} s{where}: an endless loop?"
    elif done.returncode < 0:
        verdict.status = CRASHED
        try:
            name = signal.Signals(-done.returncode).name
        except ValueError:
            name = f"signal {-done.returncode}"
        words = {"SIGSEGV": "touched memory that is not its own, on the host", "SIGABRT": "aborted",
                 "SIGFPE": "divided by zero", "SIGKILL": "was killed (too much memory?)"}  # fmt: skip
        verdict.reason = f"the program {words.get(name, 'was ended')}{where} ({name})"
    else:
        verdict.status = CRASHED
        said = done.stderr.strip().splitlines()
        verdict.reason = f"the program ended with status {done.returncode}{where}" + (f": {said[-1]}" if said else "")
    verdict.details = (verdict.reason,) + tuple("  " + line for block in found[:2] for line in block)
    return verdict


def value_of(counter, sums):
    above, below = COUNTERS[counter]
    if above is None:
        return sums["launches"]
    top = sum(sums.get(name, 0) for name in above)
    if below is None:
        return top
    bottom = sum(sums.get(name, 0) for name in below)
    return top / bottom if bottom else None


def judge_counters(verdict, exercise, by_case, cases):
    """Right everywhere: did it use the memory as it should? `by_case`: the counters of each case's launches together."""
    templates = dict(zip(exercise.cases, cases))
    missed = []
    for bar in exercise.bars:
        value = value_of(bar.counter, by_case[templates[bar.case]])
        verdict.measured[bar.counter] = value
        if not bar.met_by(value):
            shown = "no such access" if value is None else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"
            missed.append((bar, shown))
    if missed:
        verdict.status = SLOW
        verdict.reason = "right, but " + "; ".join(f"{bar.counter}: {shown} (the bar: {bar.limit()})" for bar, shown in missed)
        verdict.details = ("right on all cases; but",) + tuple(
            f"  {bar.counter}: {shown}; the bar is {bar.limit()}  (on {templates[bar.case]})" for bar, shown in missed
        )


def cache_key(toolchain_key, exercise, text, seed):
    parts = [toolchain_key, exercise.key, exercise.handed_out, exercise.call, repr(exercise.cases), repr(exercise.bars),
             repr(exercise.gpu), str(seed), text]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
