"""What readers read: verdicts, lists, hints, progress."""

import difflib
import os
import re
import shutil
import sys
import textwrap

from book import KINDS, is_mark
from judge import DONE, NO_COMPILE, NOT_BEGUN, REFUSED, SLOW, shown
from toolchain import display

COLORS = {"green": "32", "red": "1;31", "yellow": "33", "dim": "2", "bold": "1", "cyan": "36"}
STATUS_COLOR = {DONE: "green", SLOW: "yellow", NOT_BEGUN: "dim"}
STATUS_WIDTH = 18


def wants_color(stream):
    return stream.isatty() and os.environ.get("TERM", "") != "dumb" and not os.environ.get("NO_COLOR")


class Style:
    """Colours where they are wanted."""

    def __init__(self, color):
        self.color = color

    def __call__(self, name, text):
        return f"\033[{COLORS[name]}m{text}\033[0m" if self.color and name else text

    def status(self, status):
        return self(STATUS_COLOR.get(status, "red"), status)


def terminal_width():
    return min(100, shutil.get_terminal_size((100, 24)).columns)


def wrap(text, indent="", width=None):
    width = width or terminal_width()
    lines = []
    for paragraph in text.split("\n\n"):
        lines += textwrap.wrap(" ".join(paragraph.split()), width, initial_indent=indent, subsequent_indent=indent,
                               break_long_words=False, break_on_hyphens=False) + [""]  # fmt: skip
    return "\n".join(lines[:-1])


def folded(line, width):
    """A line in pieces that are no longer than the width, broken between words; of source, and with colours, as it is."""
    if len(line) <= width or "\033" in line or re.match(r"\s*\d+ \|", line):
        return [line]
    margin = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=margin + "  ", break_long_words=False, break_on_hyphens=False)


def progress_bar(done, total, width=30):
    filled = round(width * done / total) if total else width
    filled = min(filled, width - 1) if done < total else width
    return f"[{'#' * filled}{'-' * (width - filled)}] {done} of {total}"


def verdict_lines(exercise, verdict, style, root, with_file=True):
    """A verdict in full."""
    path = display(exercise.path(root), root)
    lines = []
    if verdict.status == DONE:
        before = {bar.counter: f" ({shown(bar.begins)} before)" for bar in exercise.bars if bar.begins is not None}
        extra = "".join(f"  ·  {name}: {shown(value)}{before.get(name, '')}" for name, value in verdict.measured.items() if value is not None)
        lines.append(style("green", f"{exercise.name} is solved") + style("dim", extra))
        if verdict.reason:
            lines.append(wrap(verdict.reason, "  "))
    elif verdict.status == NOT_BEGUN:
        lines.append(f"{exercise.name} is as it was handed out: it waits for you"
                     + (f" (./workbook check {exercise.name} shows what the checker says of it)" if exercise.kind == "bug" else ""))  # fmt: skip
    elif verdict.status == NO_COMPILE:
        lines.append(style("red", f"{exercise.name} does not compile"))
        lines += ["  " + line for line in verdict.details]
    elif verdict.status == REFUSED:
        lines.append(style("red", f"{exercise.name} does not count as solved: ") + verdict.reason)
    elif verdict.status == SLOW:
        lines.append(style("yellow", f"{exercise.name} gives the right result, and can do better"))
        lines += ["  " + line for line in (verdict.details or (verdict.reason,))]
    else:
        lines.append(style("red", f"{exercise.name}: {verdict.status}"))
        lines += ["  " + line for line in (verdict.details or (verdict.reason,))]
    lines += printed_lines(verdict, style)
    if with_file and verdict.status != NOT_BEGUN:
        lines.append(style("dim", f"  checked: {path}" + (f", on {device_text(verdict)}" if verdict.device else "")))
    return lines


def printed_lines(verdict, style):
    """The first lines that kernels printed."""
    return [style("dim", f"  printed: {line}") for line in verdict.printed]


def device_text(verdict):
    return f"an emulated {verdict.device}" if verdict.emulated else verdict.device


def one_line(text, width):
    return text if len(text) <= width else text[: width - 3] + "..."


def chapter_report(desk, chapter, style):
    """Checks a chapter's exercises and prints each; what `make exerciseN` shows."""
    print(style("bold", f"Chapter {chapter.number} · {chapter.title} · {len(chapter.exercises)} exercises, "
                     f"{sum(e.minutes for e in chapter.exercises)} min"))  # fmt: skip
    verdicts = []
    for exercise in chapter.exercises:
        verdict = desk.check(exercise)
        verdicts.append(verdict)
        margin = " " * (STATUS_WIDTH + 2)
        status = style.status(verdict.status) + " " * (STATUS_WIDTH - len(verdict.status))
        path = display(exercise.path(desk.root), desk.root)
        print(f"  {status}{exercise.name:<20}{style('dim', path)}")
        lines = () if verdict.status in (DONE, NOT_BEGUN) else verdict.details or (verdict.reason,)
        if verdict.status == REFUSED:
            lines = (verdict.reason,)
        for line in (*lines, *printed_lines(verdict, style)):
            print(margin + line)
        sys.stdout.flush()
    device = next((device_text(v) for v in verdicts if v.device), "")
    done = sum(v.done for v in verdicts)
    print()
    print(progress_bar(done, len(verdicts)) + f" done{', checked on ' + device if device else ''}")
    print_next(desk, chapter, verdicts)
    return done == len(verdicts)


def print_next(desk, chapter, verdicts):
    open_ones = [(e, v) for e, v in zip(chapter.exercises, verdicts) if not v.done]
    if not open_ones:
        other = next((e for e in desk.exercises if not desk.solved(e) and e.chapter != chapter.number), None)
        print("All done. " + (f"Next: make exercise{other.chapter}" if other else "There is nothing left to solve."))
        return
    begun = [(e, v) for e, v in open_ones if v.status != NOT_BEGUN]
    exercise, _ = (begun or open_ones)[0]
    path = display(exercise.path(desk.root), desk.root)
    shown = desk.hints_shown(exercise)
    print(f"Next: edit {path}, then make exercise{exercise.chapter} again, or let ./workbook watch while you edit.")
    print(f"      {'another' if shown else 'a'} hint: ./workbook hint {exercise.name}      start it afresh: make exercise{exercise.chapter} RESET={exercise.name}")


def hint_lines(exercise, count, style):
    lines = []
    for number, hint in enumerate(exercise.hints[:count], 1):
        lines.append(style("cyan", f"Hint {number} of {len(exercise.hints)}"))
        lines.append(wrap(hint, "  "))
    return lines


def list_lines(desk, style, current=None):
    lines = []
    for chapter in desk.book:
        done = sum(desk.solved(e) for e in chapter.exercises)
        minutes = sum(e.minutes for e in chapter.exercises)
        lines.append(style("bold", f"Chapter {chapter.number} · {chapter.title}") + f"  {done} of {len(chapter.exercises)}, {minutes} min")
        for e in chapter.exercises:
            mark = style("green", "done") if desk.solved(e) else "    "
            here = ">" if current is not None and e.key == current.key else " "
            lines.append(f" {here} {mark}  {e.name:<20} {KINDS[e.kind]:<13} {e.effort}")
    return lines


def solution_lines(exercise):
    """The lines that were taken out, as a diff between the file as handed out and the step."""
    if not exercise.is_code:
        return [f"our answer: {exercise.answer}"]
    plain = "".join(p.step for p in exercise.pieces if not is_mark(p.step))
    given = "".join(p.handed_out for p in exercise.pieces[1:])
    ours = "our solution" if exercise.forbid else f"chapters/{exercise.folder}/{exercise.step_file}"
    names = (f"exercises/chapter{exercise.chapter}/{exercise.name}.cuh, as handed out", ours)
    return [line.rstrip("\n") for line in difflib.unified_diff(given.splitlines(), plain.splitlines(), *names, lineterm="")]
