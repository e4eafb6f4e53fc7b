"""What a grading says to each student, and which submissions are alike."""

import html
import re

from desk import write_file
from judge import DONE, MISSING, NOT_BEGUN

PAIR_COLUMNS = ("exercise", "student", "other", "alike", "parts")
GRAM = 6  # Tokens in a row that are compared.
LEAST_GRAMS = 12  # Fewer of a student's own say nothing.
LEAST_ALIKE = 0.6
NOTHING_TO_SAY = (DONE, MISSING, NOT_BEGUN)  # That the table has not said.
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|[A-Za-z_]\w*|\d[\w.']*|\S", re.DOTALL)
KEYWORDS = frozenset("if else for while do return const auto int float double char unsigned long bool struct template switch case break".split())


def shown(name):
    """A file's name as text that can be printed and written: bytes that are no UTF-8 as \\xff, and no control characters."""
    text = str(name).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


# ---- feedback
def file_name(student, taken):
    """A name that no file system or shell trips over, and nobody else's."""
    plain = re.sub(r"[^\w.-]+", "_", student).strip(".") or "student"
    name, count = plain[:80], 1
    while name.lower() in taken:
        count += 1
        name = f"{plain[:80]}_{count}"
    taken.add(name.lower())
    return f"{name}.md"


def page(student, rows, exercises):
    """Markdown. What a program printed stands in blocks that are taken as they are."""
    total, of = sum(r.points for r in rows), sum(r.weight for r in rows)
    name = html.escape(re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", student))
    lines = [f"# {name}", "", f"{total:.10g} of {of:.10g} points.", "", "| exercise | result | points |", "|---|---|--:|"]
    lines += [f"| {r.exercise} | {r.verdict.status} | {f'{r.points:.10g}' if r.counts else '-'} of {r.weight:.10g} |" for r in rows]
    for r in rows:
        if r.verdict.status in NOTHING_TO_SAY:
            continue
        exercise = exercises[r.exercise]
        said = r.verdict.details or (r.verdict.reason,)
        lines += ["", f"## {r.exercise}: {r.verdict.status}", ""]
        lines += ["    " + "".join(c if c.isprintable() else " " for c in line) for text in said for line in text.splitlines()]
        if r.counts and exercise.hints:
            lines += ["", f"Next: `./workbook hint {exercise.name}`"]
    return "\n".join(lines) + "\n"


def write(folder, rows, book):
    """One file for each student. Those of an earlier grading are taken away."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OSError(f"{folder} is no folder, and is not replaced")
    for old in folder.glob("*.md"):
        old.unlink()
    exercises = {e.key: e for c in book for e in c.exercises}
    taken = set()
    for student in dict.fromkeys(r.student for r in rows):
        write_file(folder / file_name(student, taken), page(student, [r for r in rows if r.student == student], exercises))


# ---- who is like whom
def grams(text):
    """Pieces of a file, in which names and numbers are all the same: renaming hides nothing."""
    tokens = []
    for token in TOKEN.findall(text):
        if token.startswith(("//", "/*")):
            continue
        tokens.append("n" if re.match(r"[A-Za-z_]", token) and token not in KEYWORDS else "0" if token[0].isdigit() else token)
    return {tuple(tokens[i : i + GRAM]) for i in range(len(tokens) - GRAM + 1)}


def similar(rows, book):
    """[(exercise, student, other, how much of the smaller one's own pieces are the other one's too, how many it has)]: what is
    neither in the file as handed out nor in our step. The most alike first; it is for a teacher to look at, not a verdict."""
    found = []
    for exercise in (e for c in book for e in c.exercises):
        known = grams(exercise.handed_out) | grams(exercise.solution or "")
        own = [(r.student, grams(r.content.decode("utf-8", "replace")) - known) for r in rows if r.exercise == exercise.key and r.content]
        own = [(student, parts) for student, parts in own if len(parts) >= LEAST_GRAMS]
        for i, (student, parts) in enumerate(own):
            for other, theirs in own[i + 1 :]:
                least = min(len(parts), len(theirs))
                alike = len(parts & theirs) / least
                if alike >= LEAST_ALIKE:
                    found.append((exercise.key, student, other, f"{alike:.0%}", str(least), alike * least))
    return [pair[:-1] for pair in sorted(found, key=lambda p: (-p[-1], p))]
