"""Is an exercise solved? Runs its check, and judges what came: right on every case, and within its bars."""

import ast
import contextlib
import dataclasses
import hashlib
import json
import operator
import os
import random
import re
import signal

from book import ANSWER, RIGHT_POINTS, TIME_POINTS, is_marked
from counters import COMPARED, COUNTERS, EXPLAINED
from toolchain import LEFT_OUT_STATUS, BuildError, plain_run, scratch_folder
from trial import Referee, joined

DONE, SLOW, WRONG, NOT_BEGUN, NO_COMPILE, REFUSED, MISSING = (
    "done", "slow", "wrong", "not begun", "does not compile", "refused", "missing",
)  # fmt: skip
CRASHED, TIMED_OUT = "crashed", "timed out"
UNPROVEN = "unproven"  # Right on a GPU, which does not show the bug that was to be found, or in a handout how fast a project is.
CONFINED_STATUS = 86  # As warpbook_emulator.h has it.
MOST_TRAFFIC = 1.5  # Of what ours takes on the case of real size: more is slow.
MOST_TIME = 2  # The same of modelled time, which is no finer than that on kernels that nobody measured.
COUNTERS_BY_OURS, TIME_BY_OURS = "counters by ours", "modelled time by ours"  # Of a verdict's measured: 1 is as much as ours.
GPU_GOALS = (MOST_TIME, 1.2, 1.05)  # Times our time on a GPU, each worth 20 points of a project's.
FEW = 256  # So little more of a counter is never too much.
MOST_PRINTED = 8  # Lines of a kernel's printf that are shown.
LIMITS = {
    "latency": "too few loads are under way: few threads have work, or each waits for one load before it starts the next",
    "DRAM": "the bytes that travel to and from memory take the time",
    "issue slots": "the instructions themselves take the time",
    "atomics": "atomics wait for each other",
    "L1 and shared memory": "shared memory or scattered accesses take the time",
    "L2 reads": "what is asked of the L2 takes the time",
    "L2 writes": "what is written to the L2 takes the time",
    "block launches": "the launches themselves take the time",
}
LAUNCH_LIMITS = "  (a grid has at least one block, and at most 2,147,483,647 in x, 65,535 in y and z; a block has 1 to 1,024 threads)"
OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
EMPTY = re.compile(r"\b(?:n|count|shape)=(?:[^ ]*,)?0\b")  # A case in which there is nothing to do.
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
    score: float | None = None  # Of one: a project's, what is right on some cases, and what is no better than it was handed out.
    printed: tuple = ()  # The first lines that kernels printed.

    @property
    def done(self):
        return self.status == DONE

    @property
    def points(self):
        """Of one: a right solution that wastes the device is worth half, unless that is how it was handed out; a project what it
        reaches; and what is right on some cases a part."""
        if self.score is not None:
            return self.score
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


class LeftOut(Exception):
    """The check calls a function that was left out when it was compiled."""


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
        if not exercise.is_code:
            return judge_question(exercise, text, name)
        for lean in (True, False):  # In full where it does what ours does not.
            with contextlib.suppress(LeftOut):
                return self.compile_and_run(chapter, exercise, file, lean)
        return Verdict(CRASHED, f"the program ended with status {LEFT_OUT_STATUS}", file=name)

    def compile_and_run(self, chapter, exercise, file, lean):
        """\\raises LeftOut"""
        name = str(file)
        cases = draw_cases(exercise.cases, self.seed)
        with scratch_folder() as scratch, self.referee(exercise, cases) as referee:
            compiled = self.toolchain.compile(chapter, exercise, file, scratch, self.sandbox, max(60, 3 * self.seconds), lean)
            if compiled.error:
                lines = compiled.error.splitlines()
                return Verdict(REFUSED if compiled.refused else NO_COMPILE, lines[0], tuple(lines), file=name)
            with self.referee_of_real(exercise) as real:  # It makes its inputs while the small cases run.
                verdict = self.run(exercise, compiled.program, scratch, file, referee, real)
            if verdict.done and compiled.local:
                judge_local(verdict, compiled.local)
            if verdict.done and not verdict.emulated and exercise.kind == "bug":
                verdict.status = UNPROVEN
                verdict.reason = "right here, but a GPU does not show the bug that was to be found: check with DEVICE=emulator"
            elif verdict.done and not verdict.emulated and exercise.gpu:
                verdict = self.judge_speed(chapter, exercise, compiled.program, scratch, verdict)
            verdict.file = name
            if not verdict.done and compiled.notes:
                verdict.details += tuple(compiled.notes.splitlines())
            return verdict

    def execute(self, exercise, program, scratch, cases, results, arrays=None, launch_fails=False, shuffled=False, far=()):
        """Runs a check: on the arrays, or where there are none, to be timed. `shuffled`: threads take turns in a random order."""
        command = [program, "--results", results] + ["--yardstick"] * exercise.yardstick
        way = ["--launch-fails"] if launch_fails else ["--captured"] * exercise.captured
        command += ["--arrays", arrays] + way if arrays else ["--time", "--seed", str(self.seed & (2**63 - 1))]
        run = self.sandbox or plain_run
        order = {"WARPBOOK_SCHEDULE": f"random:{self.seed % 1000}"} if shuffled else {}
        return run(command + cases + ["--far", *far] * bool(far), cwd=scratch, scratch=scratch, seconds=self.seconds,
                   environment=order if self.sandbox else os.environ | order, reserves=True)  # fmt: skip

    def findings(self, stderr, file):
        return findings(stderr, self.toolchain.root, file)

    def run(self, exercise, program, scratch, file, referee, real):
        done, lines, finished = self.hold(exercise, program, scratch, referee, far=exercise.far)
        head = lines[0] if lines else {}
        verdict = Verdict(DONE, device=head.get("device", ""), emulated=head.get("emulated", True), seconds=done.seconds,
                          printed=first_lines(done.stdout))  # fmt: skip
        cases = referee.cases
        wrong = [line for line in finished if line["status"] != "pass"]
        if wrong:
            found = self.findings(done.stderr, file)
            verdict = judge_wrong(verdict, exercise, wrong, len(finished), len(cases), found)
            if exercise.kind != "bug":
                verdict.details += own_arrays(file.read_text(encoding="utf-8", errors="replace"))
            if exercise.kind == "project":
                judge_part(verdict, len(finished) - len(wrong), len(cases))
            else:
                judge_some_right(verdict, exercise, finished)
            return verdict
        if not is_complete(done, lines, finished, cases):
            verdict = judge_ended(verdict, lines, done, self.seconds, self.findings(done.stderr, file))
            if exercise.kind == "project" and verdict.status != REFUSED:
                judge_part(verdict, len(finished), len(cases))
            return verdict
        judge_far(verdict, lines, self.findings(done.stderr, file))
        if not verdict.done:
            judge_one_more(verdict, exercise, finished, cases)
        elif verdict.emulated and exercise.ours and exercise.ours["counters"].get("atomic requests"):
            self.judge_order(verdict, exercise, program, scratch, cases)
        if verdict.done and verdict.emulated:
            by_case = {line["case"]: counted(exercise, line["counters"]) for line in finished}
            judge_counters(verdict, exercise, by_case, cases)
            if verdict.done and exercise.returns_errors:
                self.judge_errors(verdict, exercise, program, scratch, referee)
                if not verdict.done:
                    judge_one_more(verdict, exercise, finished, cases)
            if verdict.done and exercise.kind == "project":
                self.judge_project(verdict, exercise, by_case, cases, program, scratch, file, real)
            elif verdict.done and real is not None:
                self.judge_real(verdict, exercise, program, scratch, file, real)
        return verdict

    def referee(self, exercise, cases, name="arrays"):
        return Referee(self.toolchain.referee(exercise.chapter), exercise, cases, self.seed, name)

    def referee_of_real(self, exercise):
        """Nobody, where nothing is compared with ours."""
        compared = exercise.ours is not None and self.toolchain.device == "emulator"
        return self.referee(exercise, [exercise.real], "real") if compared else contextlib.nullcontext()

    def hold(self, exercise, program, scratch, referee, shuffled=False, far=()):
        """Runs a check on a referee's cases. \\return how the program ended, its lines, and those of the cases that it
        finished, judged, each with its launches' counters. \\raises BuildError where this machine failed"""
        results = scratch / f"{referee.name}.jsonl"
        arrays = scratch / referee.name
        referee.hand_over(arrays)
        done = self.execute(exercise, program, scratch, referee.cases, results, arrays, shuffled=shuffled, far=far)
        if done.returncode == LEFT_OUT_STATUS:
            raise LeftOut
        if done.returncode in (2, 3, 4):  # Of its own making: no device, no inputs, no room for outputs.
            said = done.stderr.strip().splitlines()
            raise BuildError("the check could not be run" + (f": {said[-1]}" if said else ": is the disk full?"))
        lines = read_lines(results)
        finished = [joined(ran, found) for ran, found in zip((line for line in lines if "error" in line), referee.judge(arrays))]
        return done, lines, finished

    def judge_order(self, verdict, exercise, program, scratch, cases):
        """Are sums right in whatever order threads take turns? Two atomics that should be one are right if nobody comes between."""
        with self.referee(exercise, cases, "shuffled") as referee:
            _, _, finished = self.hold(exercise, program, scratch, referee, shuffled=True)
        wrong = [line for line in finished if line["status"] != "pass"]
        if not wrong and len(finished) == len(cases):
            return
        verdict.status, verdict.score = WRONG, 0.0
        verdict.reason = "right only while threads take turns in order: a place is read and written by two operations, and another thread comes between"
        told = [f"  on {line['title']}: {line['reason']}" for line in wrong[:1]] or ["  not all cases came to an end"]
        verdict.details = (verdict.reason, *told, "  (let one atomic operation do both, or repeat an atomicCAS until it finds what you read)")
        if exercise.kind == "project":
            judge_part(verdict, len(finished) - len(wrong), len(cases))

    def judge_errors(self, verdict, exercise, program, scratch, referee):
        """Where the launch fails, does the step say so?"""
        results = scratch / "faults.jsonl"
        self.execute(exercise, program, scratch, referee.cases[:1], results, scratch / referee.name, launch_fails=True)
        said = next((line["error"] for line in read_lines(results) if "error" in line), "")
        if not said.startswith("launch failed: "):
            verdict.status = WRONG
            verdict.reason = "right on all cases; but where the launch fails, its error is not returned"
            verdict.details = (verdict.reason, f"  on {referee.cases[0]}, on a stream to which no launch succeeds")

    def judge_project(self, verdict, exercise, by_case, cases, program, scratch, file, referee):
        """Goal by goal: each counts where all before it are reached."""
        templates = dict(zip(exercise.cases, cases))
        lines, reached, points = [f"{RIGHT_POINTS:3} of {RIGHT_POINTS}  right on all cases"], True, RIGHT_POINTS
        for worth, what, bars in exercise.goals:
            values = [(bar, value_of(bar.counter, by_case[templates[bar.case]])) for bar in bars]
            missed = [f"{bar.counter}: {shown(value)}, the bar is {bar.limit()} (on {templates[bar.case]})" for bar, value in values if not bar.met_by(value)]
            reached = reached and not missed
            points += worth * reached
            lines.append(f"{worth * reached:3} of {worth}  {what}" + "".join(f"; {line}" for line in missed))
        real = Verdict(DONE)
        if reached:
            self.judge_real(real, exercise, program, scratch, file, referee)
            verdict.seconds += real.seconds
            if real.status == REFUSED:
                verdict.status, verdict.reason, verdict.details = real.status, real.reason, real.details
                return
            reached = real.status == DONE or real.status == SLOW and real.measured.get(TIME_BY_OURS, MOST_TIME) < MOST_TIME
        points += TIME_POINTS * reached
        lines.append(f"{TIME_POINTS * reached:3} of {TIME_POINTS}  within {MOST_TIME} times our modelled time"
                     + (f"; {real.reason}" if not reached and real.reason else ""))  # fmt: skip
        lines.append("not run here: within 1.2 and 1.05 times our time on a GPU (DEVICE=gpu)")
        verdict.score = points / 100
        verdict.measured |= real.measured
        if points < 100:
            verdict.status = WRONG if real.status in (WRONG, CRASHED) else SLOW
        verdict.reason = f"{points} of 100 points"
        verdict.details = (verdict.reason, *(f"  {line}" for line in lines))

    def judge_real(self, verdict, exercise, program, scratch, file, referee):
        """On the case of real size, which a solution that wastes a small one does not even begin."""
        done, lines, finished = self.hold(exercise, program, scratch, referee)
        verdict.seconds += done.seconds
        if finished and finished[0]["status"] != "pass":
            verdict.status = WRONG
            verdict.reason = f"{exercise.real}: {finished[0]['reason']}"
            verdict.details = (f"right on all small cases, and wrong on {exercise.real}", f"  {verdict.reason}")
            if exercise.kind != "project" and not finished[0]["reported"]:
                judge_some_right(verdict, exercise, [{"status": "pass", "reported": False}] * len(exercise.cases))
        elif is_complete(done, lines, finished, referee.cases):
            judge_need(verdict, exercise, counted(exercise, finished[0]["counters"]))
        else:
            judge_ended(verdict, lines, done, self.seconds, self.findings(done.stderr, file))
            if verdict.status == TIMED_OUT:
                verdict.status = SLOW
                verdict.reason = f"right, but not done after {self.seconds:g} s on {exercise.real}: is work done more than once, or by few threads?"
                verdict.details = (verdict.reason,)

    def judge_speed(self, chapter, exercise, program, scratch, verdict):
        """On a GPU: the step's own time beside the reader's."""
        if exercise.solution is None and exercise.kind == "project":
            return judge_project_unmeasured(verdict)
        if exercise.solution is None:
            verdict.reason = "right; how fast is not judged here: a handout has no step of ours to compare with"
            return verdict
        case = [draw_cases([exercise.gpu["case"]], self.seed)[0]]
        ours = scratch / "ours"
        ours.mkdir()
        step = ours / f"{exercise.name}.cuh"
        step.write_text(exercise.solution, encoding="utf-8")
        compiled = self.toolchain.compile(chapter, exercise.as_ours(), step, ours)
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
        if exercise.kind == "project":
            return judge_project_speed(verdict, 1 / share)
        if share < exercise.gpu["share"]:
            verdict.status = SLOW
            verdict.reason = f"right, at {share:.0%} of our step's speed; the bar is {exercise.gpu['share']:.0%}"
            verdict.details = (f"{case[0]}: {times[0] * 1e6:.1f} us, ours {times[1] * 1e6:.1f} us",)
        return verdict


def judge_part(verdict, right, cases):
    """A project that is right on some cases."""
    verdict.score = RIGHT_POINTS / 100 * right / cases
    verdict.details += (f"{verdict.score * 100:.0f} of 100 points",)


def judge_some_right(verdict, exercise, finished):
    """Half of the points are for right results: by the share of cases that the file has put right, the one of real size among them. An
    empty case is none of them, since doing nothing is right there. No points where something was reported, or where a case is wrong that was right when it was handed out."""
    at_first = (exercise.ours or {}).get("wrong_at_first", ())
    right = [line["status"] == "pass" for line in finished]
    spoiled = any(not good and case not in at_first for case, good in enumerate(right))
    to_mend = [case for case in at_first if not EMPTY.search(exercise.cases[case])]
    mended = sum(right[case] for case in to_mend if case < len(right))
    verdict.score = 0.0 if spoiled or any(line["reported"] for line in finished) else round(0.5 * mended / (len(to_mend) + 1), 3)
    if verdict.score:
        verdict.details += (f"{verdict.score:.2g} of a point, for the cases that are right",)


def judge_one_more(verdict, exercise, finished, cases):
    """Right on all cases, and wrong on one more."""
    if exercise.kind == "project":
        judge_part(verdict, len(cases), len(cases) + 1)
    elif verdict.score is None:
        judge_some_right(verdict, exercise, finished)


def judge_far(verdict, lines, found):
    """Of cases that are too large to be run, a few blocks were: did they reach what 32 bits do not?"""
    for line in (line for line in lines if "far" in line):
        report, said, missed = line["report"], line["said"], line["missed"]
        if report and not report.startswith("Invalid") or not (report or said or missed):
            continue
        why = "a block reaches memory beside the arrays" if report else said or f"no block comes to the places of {missed} beyond 2^32"
        verdict.status, verdict.reason = WRONG, f"right on all cases that were run; but on {line['far']}, too large to be run as a whole, {why}"
        verdict.score = 0.0 if report else None  # As where a case is reported.
        told = [text for block in found[:1] for text in block if not re.match(r"by block|Address is|Free memory", text)] if report else []
        verdict.details = (verdict.reason, *(f"    {text}" for text in told),
                           LAUNCH_LIMITS if "cudaErrorInvalidConfiguration" in said else "  (is an offset, a product of sizes or a count kept in 32 bits?)")  # fmt: skip
        return


def judge_project_speed(verdict, times):
    """On a GPU time alone is judged: at most twice ours, 1.2 times, 1.05 times."""
    lines = [f"{'reached' if times <= most else 'missed'}: within {most:g} times our time" for most in GPU_GOALS]
    points = RIGHT_POINTS + 20 * sum(times <= most for most in GPU_GOALS)
    verdict.score, verdict.status = points / 100, DONE if points == 100 else SLOW
    verdict.reason = f"{points} of 100 points: {times:.3g} times our time"
    verdict.details = (verdict.reason, *(f"  {line}" for line in lines))
    return verdict


def judge_project_unmeasured(verdict):
    """On a GPU without a step of ours to measure: what is right counts, and time is left open."""
    verdict.status, verdict.score = UNPROVEN, RIGHT_POINTS / 100
    verdict.reason = f"{RIGHT_POINTS} of 100 points; the others are not judged here: a handout has no step of ours to time. Check with DEVICE=emulator"
    verdict.details = (verdict.reason, f"  {RIGHT_POINTS:3} of {RIGHT_POINTS}  right on all cases",
                       *(f"  not judged: within {most:g} times our time" for most in GPU_GOALS))  # fmt: skip
    return verdict


def judge_question(exercise, text, name):
    """A prediction is right to three digits; a sentence is the reader's to compare with ours."""
    if exercise.kind == "explain":
        words = own_words(exercise, text)
        if len(words) < 3:
            return Verdict(NOT_BEGUN, "there is no sentence yet", file=name)
        if not any(word.lower().startswith(exercise.terms) for word in words):
            reason = "your sentence names nothing of what the question is about: say what happens, and to what (nobody grades it)"
            return Verdict(WRONG, reason, (reason,), file=name)
        return Verdict(DONE, f"Compare with ours, nobody grades it: {exercise.answer}", file=name)
    found = ANSWER.search(text)
    value = number_of(found[1]) if found else None
    if value is None:
        reason = "there is no line `constexpr double kAnswer = NUMBER;` with a number, a sum or a product"
        return Verdict(NO_COMPILE, reason, (reason,), file=name)
    if exercise.answer.startswith("mark "):
        right = is_marked(exercise.answer, exercise.key, value)
    else:
        right = f"{value:.3g}" == f"{float(exercise.answer):.3g}"
    if right:
        return Verdict(DONE, measured={exercise.counter: value}, file=name)
    reason = f"{exercise.counter} is not {shown(value)}: work it out anew, or take a hint"
    return Verdict(WRONG, reason, (reason,), file=name)


def own_words(exercise, text):
    """What a reader wrote into a question's file."""
    given = set(exercise.handed_out.splitlines())
    return [word for line in text.splitlines() if line not in given for word in re.findall(r"\w+", line)]


def number_of(text):
    """The value of numbers joined by + - * / and parentheses; None for anything else."""

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return OPERATIONS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(text)

    try:
        return float(value(ast.parse(text.replace("'", "").strip()[:200], mode="eval")))
    except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError):
        return None


def read_lines(path):
    lines = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
    return [line for line in lines if isinstance(line, dict)]


def is_complete(done, lines, finished, cases):
    """All cases were run. One that is too large may have been ended at a limit: nothing is known of it."""
    return any("complete" in line for line in lines) and done.returncode in (0, -signal.SIGKILL) and len(finished) == len(cases)


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
    for block in (b for b in blocks if b and b[0] and not re.match(r"\d+ more: |ERROR SUMMARY", b[0])):
        numbers = list(dict.fromkeys(int(n) for n in re.findall(rf"{re.escape(file.name)}:(\d+)", " ".join(block))))
        place = (block[0].split(" of size ")[0], *numbers)
        if place in places:
            continue
        places.add(place)
        if block[0].startswith("Race"):
            block = race_advice(block, source, numbers)
        result.append(block + [f"{n:5} | {source[n - 1].strip()}" for n in numbers if 0 < n <= len(source)])
    return sorted(result, key=lambda block: not block[0].startswith("Invalid"))  # Where it went wrong first; what came of it follows.


def without_comments(text):
    """The code of a source, each on the line where it was."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)


def own_arrays(text):
    """What to ask about a wrong result: an array of which each thread has a copy, where threads were to share it."""
    plain = without_comments(text)
    if "__shared__" in plain or "__syncthreads" not in plain:
        return ()
    found = re.search(r"^[ \t]*(?!return\b|const\b|constexpr\b|static\b)[\w:<>]+[ \t]+(\w+)(?:[ \t]*\[[^\];]*\])+[ \t]*;", plain, re.MULTILINE)
    return (f"{found[1]} is each thread's own, and no thread sees what another one puts there: is __shared__ missing?",) if found else ()


def race_advice(block, source, numbers):
    """A race's report, with the advice that its lines ask for where threads of one block meet, or where a store is one place's twice. What
    orders the lanes of a warp stands first."""
    source = without_comments("\n".join(source)).split("\n")
    lines = [(n, source[n - 1]) for n in numbers if 0 < n <= len(source)]
    if block[-1].startswith("Threads write one place") and len(lines) == 1 and stores(lines[0][1]) and not updates_in_place(lines):
        advice = ("Two threads store to one place, so the index, or the guard around it, is not the one that belongs here. (Only where a "
                  "place sums up what several threads bring is an atomic the answer.)")  # fmt: skip
        return block[:-1] + [advice]
    if not block[-1].startswith("No barrier lies"):
        return block
    if updates_in_place(lines):
        advice = "Threads change one place at the same time, and no barrier helps: let one atomic operation (atomicAdd) read and write it."
    elif between := [n for n in range(min(numbers) + 1, max(numbers)) if "__syncthreads" in source[n - 1]]:
        advice = f"Not all threads of the block reach the __syncthreads() of line {between[0]}: it belongs outside of every branch and loop that some leave."
    else:
        advice = ("A barrier is missing between the two: __syncthreads(), which all threads of the block have to reach. "
                  "(__syncwarp() is enough only where nobody but the lanes of one warp shares the data.)")  # fmt: skip
    in_warp = "__syncwarp()" in block[-1] and not updates_in_place(lines)
    return block[: None if in_warp else -1] + [advice]


CHANGED = re.compile(r"([\w.>-]+\[[^=;]*?\]|\*\w+|\*\([^=;]*?\))\s*([-+*/|&^]?)=(?!=)")


def stores(line):
    """Whether a line of source stores what it does not sum up: x[i] = y."""
    return bool((found := CHANGED.search(line)) and not found[2])


def updates_in_place(lines):
    """Whether lines of source, with their numbers, read a place and write it anew: x += y, or old = x; x = old + y."""
    if len(lines) == 1:
        found = CHANGED.search(lines[0][1])
        return bool(found and (found[2] or found[1] in lines[0][1][found.end() :]))
    if len(lines) != 2 or abs(lines[0][0] - lines[1][0]) > 3:
        return False
    (_, one), (_, other) = lines
    return any((found := CHANGED.search(a)) and found[1] in b and not CHANGED.match(b.strip()) for a, b in ((one, other), (other, one)))


def judge_wrong(verdict, exercise, wrong, finished, all_cases, found):
    verdict.status = WRONG
    first = wrong[0]
    parts = [part.strip() for part in first["reason"].split("; ") if part.strip()]
    told = [block[0][:24] for block in found]  # The report tells it better than the summary that holds its first line.
    parts = [part for part in parts if not any(head in part for head in told)]
    if exercise.helpers and verdict.printed:  # They print what is wrong, and return this error.
        parts = [verdict.printed[0] if "cudaErrorNotPermitted" in part else part for part in parts]
    if exercise.kind == "bug":  # Where it is, is the exercise.
        found = [(case, [plain_finding(block[0])]) for case, block in with_cases(found, wrong)]
    else:
        found = with_cases(found, wrong)
    mine = [block[0] for case, block in found if case == first["title"]]
    verdict.reason = f"{first['title']}: " + ("; ".join(parts + mine[:1]) or first["reason"])
    details = [f"on {first['title']}  ({first['case']})"] + [f"  {part}" for part in parts]
    for case, *block in list(dict.fromkeys((case, *block) for case, block in found))[:2]:
        details += [f"on {case}"] * (case != first["title"]) + ["  " + block[0]] + ["      " + line for line in block[1:]]
    if any("cudaErrorInvalidConfiguration" in part for part in parts):
        details.append(LAUNCH_LIMITS)
    right = finished - len(wrong)
    count = f"{right} of the {all_cases} cases {'is' if right == 1 else 'are'} right"
    details.append(count if right else f"none of the {all_cases} cases is right")
    verdict.details = tuple(details)
    return verdict


def with_cases(found, wrong):
    """[(the title of the case on which it was found, block)], those of the first case that is wrong before the others."""
    reasons = [(line["title"], re.sub(r"\S*/(?=[^/\s]+:\d)", "", line["reason"])) for line in wrong]
    result = [(next((title for title, reason in reasons if block[0] in reason), wrong[0]["title"]), block) for block in found]
    return sorted(result, key=lambda one: one[0] != wrong[0]["title"])


def plain_finding(headline):
    """What the emulator found, without the place."""
    what = headline
    if found := re.match(r"Invalid __(\w+)__ (\w+)", headline):
        what = f"{'an' if found[2][0] in 'aeiou' else 'a'} {found[2]} of {found[1]} memory that is not allowed"
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
        verdict.reason = f"not done after {seconds:g} s{where}: an endless loop, or does every thread do all the work?"
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


def counted(exercise, sums):
    """The counters as they are judged: what is filled by cudaMemsetAsync is stored, and an atomic reads, so where ours needs none, it is
    a load by another name."""
    result = dict(sums)
    (store,), _ = COUNTERS["store sectors"]
    result[store] = result.get(store, 0) + sums.get("filled_bytes", 0) // 32
    if exercise.ours is None or exercise.ours["counters"].get("atomic requests"):
        return result
    for what in ("requests", "sectors"):
        (load,), _ = COUNTERS[f"load {what}"]
        result[load] = result.get(load, 0) + value_of(f"atomic {what}", sums)
    return result


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
    missed, begun = [], []
    for bar in exercise.bars:
        value = value_of(bar.counter, by_case[templates[bar.case]])
        verdict.measured[bar.counter] = value
        if not bar.met_by(value):
            missed.append((bar, shown(value)))
        if bar.begins is not None:
            begun.append(not bar.met_by(value) and bar.is_as_begun(value))
    if missed:
        verdict.status = SLOW
        verdict.reason = "right, but " + "; ".join(f"{bar.counter}: {value} (the bar: {bar.limit()})" for bar, value in missed)
        lines = [(f"  {bar.counter}: {value}; the bar is {bar.limit()}  (on {templates[bar.case]})", EXPLAINED.get(bar.counter)) for bar, value in missed]
        verdict.details = ("right on all cases; but", *(f"{line}: {meaning}" if meaning else line for line, meaning in lines))
        if begun and all(begun):  # On every bar that the file as handed out misses.
            verdict.score = 0.0
            verdict.details += ("no better than as it was handed out: no points yet",)


def measure(sums):
    """What a solution needs on the case of real size, as OURS holds it."""
    counters = {name: value_of(name, sums) for name in COMPARED}
    return {"seconds": float(f"{sums['seconds']:.5g}"), "blocks": sums["blocks"], "threads": sums["threads"],
            "counters": {name: value for name, value in counters.items() if value}}  # fmt: skip


def judge_need(verdict, exercise, sums):
    """On a case of real size: does it need much more than ours? Counters decide first, then modelled time."""
    mine, ours = measure(sums), exercise.ours
    more = []
    for name, meaning in COMPARED.items():
        value, limit = mine["counters"].get(name, 0), ours["counters"].get(name, 0)
        if limit and value > MOST_TRAFFIC * limit + FEW * (name != "kernel launches"):
            more.append(f"{name}: {value:,.0f}, {value / limit:.3g} times ours ({limit:,.0f}): {meaning}")
    written = sum(ours["counters"].get(name, 0) for name in ("store requests", "atomic requests"))
    if not ours["counters"].get("divisions") and 0 < MOST_TRAFFIC * 32 * written < (made := mine["counters"].get("divisions", 0)):
        more.append(f"divisions: {made:,.0f}, more than one for each lane that writes, and ours makes none: {COMPARED['divisions']}")
    ratio = mine["seconds"] / ours["seconds"]
    verdict.measured[TIME_BY_OURS] = ratio
    shares = [mine["counters"].get(name, 0) / value for name, value in ours["counters"].items() if name in COMPARED]
    if shares:
        verdict.measured[COUNTERS_BY_OURS] = sum(shares) / len(shares)
    if ratio >= MOST_TIME:
        time = f"modelled time: {mine['seconds'] * 1e6:,.4g} us, {ratio:.3g} times ours ({ours['seconds'] * 1e6:,.4g} us)"
        shape = f"{count_of(mine['blocks'], 'block')} of {count_of(mine['threads'], 'thread')}"
        if 4 * mine["blocks"] * mine["threads"] <= ours["blocks"] * ours["threads"]:
            meaning = f"{shape} where ours has {ours['blocks']:,} of {ours['threads']:,}: most of the device idles"
        else:
            meaning = LIMITS.get(sums["limited_by"], f"{sums['limited_by']} takes the time")
        more.append(f"{time}: {meaning}")
    if more:
        verdict.status = SLOW
        verdict.reason = f"right, but it needs more than ours: {more[-1] if ratio >= MOST_TIME else more[0]}"
        verdict.details = ("right on all cases; but", *(f"  {line}" for line in more), f"  (on {exercise.real})")


def judge_local(verdict, kernel):
    """It works in local memory, of which nothing is counted."""
    verdict.status = SLOW
    verdict.reason = f"right, but an array in {kernel} lies in local memory, not in registers: its index is known at run time only"
    verdict.details = (verdict.reason, "  (unrolled loops have numbers for indices; what threads share belongs into shared memory)")
    if verdict.score is not None:
        verdict.score -= TIME_POINTS / 100


def shown(value):
    return "no such access" if value is None else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"


def count_of(number, noun):
    return f"{number:,} {noun}{'s' * (number != 1)}"


def first_lines(text):
    lines = text.splitlines()
    more = [f"... and {len(lines) - MOST_PRINTED} lines more"] * (len(lines) > MOST_PRINTED)
    return tuple(line[:160] for line in lines[:MOST_PRINTED]) + tuple(more)


def cache_key(toolchain_key, exercise, text, seed):
    parts = [toolchain_key, exercise.key, exercise.handed_out, exercise.call, repr(exercise.cases), repr(exercise.bars),
             repr(exercise.gpu), exercise.real, repr(exercise.ours), exercise.answer,
             repr((exercise.terms, exercise.forbid, exercise.returns_errors, exercise.far)), str(seed), text]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
