"""./workbook: watches the exercises, and checks the current one whenever its file is saved.

On a terminal there are keys and the screen holds one exercise; with the output piped, plain lines come one after another.
"""

import contextlib
import os
import select
import sys
import termios
import time
import tty

import book
from book import KINDS
from judge import DONE, NOT_BEGUN
from show import folded, hint_lines, list_lines, one_line, progress_bar, solution_lines, terminal_width, verdict_lines, wrap
from toolchain import display

POLL_SECONDS = 0.05
SETTLE_SECONDS = 0.05  # Editors save in several steps.
KEYS = "h hint   l list   n next   r reset   {}c check again   q quit"


class Screen:
    """A terminal in raw mode, as far as keys go."""

    def __init__(self, style):
        self.style = style
        self.old = None

    def __enter__(self):
        self.old = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *_):
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.old)

    def key(self, seconds):
        """A key that was pressed within so many seconds, or ""; "q" at the end of input."""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        if not ready:
            return ""
        data = os.read(sys.stdin.fileno(), 64)
        if not data:
            return "q"
        if data.startswith(b"\x1b"):  # An arrow or another special key: none of ours.
            return ""
        return data.decode("utf-8", "ignore")[:1]

    def draw(self, lines):
        """Shows the lines on a cleared screen; on a dumb terminal, below what is there."""
        if os.environ.get("TERM", "dumb") == "dumb":
            print("\n" + "\n".join(lines), flush=True)
        else:
            print("\033[H\033[2J\033[3J" + "\n".join(lines), flush=True)


class Watch:
    def __init__(self, desk, style, screen=None):
        self.desk = desk
        self.style = style
        self.screen = screen
        self.current = desk.current()
        self.verdict = None
        self.note = ""  # One line about the last key.
        self.extra = []  # Hints, the list or a solution.
        self.asked = ""  # What has to be asked twice, and was asked once.
        self.stamps = {}

    # ---- files
    def stamp(self, exercise):
        try:
            stat = exercise.path(self.desk.root).stat()
        except OSError:
            return None
        return (stat.st_mtime_ns, stat.st_size, stat.st_ino)

    def changed(self):
        """The exercise whose file was saved since the last look; the current one first."""
        order = [self.current] + [e for e in self.desk.exercises if e is not self.current]
        found = None
        for exercise in order:
            stamp = self.stamp(exercise)
            if self.stamps.get(exercise.key, stamp) != stamp and stamp is not None and found is None:
                found = exercise
            self.stamps[exercise.key] = stamp
        return found

    # ---- what happens
    def go_to(self, exercise):
        self.current = exercise
        self.desk.set_current(exercise)
        book.lay_out([exercise], self.desk.root)
        self.stamps[exercise.key] = self.stamp(exercise)
        self.verdict, self.extra, self.asked = None, [], ""

    def check(self, anyway=False):
        if self.screen is not None and (anyway or self.desk.known(self.current) is None):
            path = self.current.path(self.desk.root)
            fresh = path.is_file() and path.read_text(encoding="utf-8", errors="replace") == self.current.handed_out
            if anyway or not fresh:
                self.draw(busy=True)
        was_solved = self.desk.solved(self.current)
        self.verdict = self.desk.check(self.current, anyway)
        if self.verdict.status == DONE and not was_solved:
            self.note = "Well done."
            self.extra = []  # Hints that helped.
        self.draw()

    def draw(self, busy=False):
        if self.screen is None:
            return self.print_plain()
        style, exercise = self.style, self.current
        done = sum(self.desk.solved(e) for e in self.desk.exercises)
        width = terminal_width()
        lines = [style("bold", f"Warpbook · chapter {exercise.chapter} · {exercise.name}") + "   " + progress_bar(done, len(self.desk.exercises), 24), ""]
        lines += [style("dim", f"{KINDS[exercise.kind]}, {exercise.effort}"), "", wrap(exercise.task, "", width), ""]
        lines.append("edit  " + style("cyan", display(exercise.path(self.desk.root), self.desk.root)))
        lines.append("")
        if busy:
            lines.append(style("dim", "checking ..."))
        elif self.verdict is not None:
            lines += verdict_lines(exercise, self.verdict, style, self.desk.root)
            if self.verdict.status == DONE:
                lines.append(wrap(exercise.learn, "  ", width))
                lines.append("press n for the next one" if done < len(self.desk.exercises) else f"that was the last one: all {done} are solved")
        if self.extra:
            lines += [""] + self.extra
        lines.append("")
        if self.note:
            lines.append(style("yellow", self.note))
        lines.append(style("dim", one_line(KEYS.format("" if exercise.solution is None else "s solution   "), width)))
        return self.screen.draw([part for line in lines for part in folded(line, width)])

    def print_plain(self):
        print("\n".join(verdict_lines(self.current, self.verdict, self.style, self.desk.root)))
        done = sum(self.desk.solved(e) for e in self.desk.exercises)
        print(progress_bar(done, len(self.desk.exercises)))
        if self.verdict.status == NOT_BEGUN:
            print(wrap(self.current.task, "  "))
            print(f"edit {display(self.current.path(self.desk.root), self.desk.root)}")
        sys.stdout.flush()
        return None

    def press(self, key):
        """\\return False to leave"""
        desk, exercise, asked = self.desk, self.current, self.asked
        self.note, self.asked = "", ""
        if key in ("q", "\x03", "\x04"):
            return False
        if key == "h":
            self.extra = hint_lines(exercise, desk.next_hint(exercise), self.style)
        elif key == "l":
            self.extra = [] if self.extra and self.extra[0].startswith("\u200b") else ["\u200b"] + list_lines(desk, self.style, exercise)
        elif key == "n":
            following = desk.next_open(exercise)
            if following is None:
                self.note = "There is no other exercise left to solve."
            else:
                self.go_to(following)
                return self.check() is None
        elif key == "c":
            return self.check(anyway=True) is None
        elif key == "r":
            self.reset(asked)
        elif key == "s":
            self.show_solution(asked)
        elif key:
            self.note = f"'{key}' is no key here." if key.isprintable() and key != "\n" else ""
        self.draw()
        return True

    def reset(self, asked):
        if asked != "r":
            self.asked = "r"
            self.note = f"Press r again to restore {self.current.name}.cuh as it was handed out (yours is kept beside it)."
            return
        kept = book.reset(self.current, self.desk.root)
        self.go_to(self.current)
        self.verdict = self.desk.check(self.current)
        self.note = "Restored." + (f" What you had is in {display(kept, self.desk.root)}" if kept else "")

    def show_solution(self, asked):
        if self.current.solution is None:
            self.note = "A handout has no solutions."
        elif not self.desk.solved(self.current) and asked != "s":
            self.asked = "s"
            self.note = "You have not solved it yet. Press s again to see the solution all the same."
        else:
            self.extra = solution_lines(self.current)

    # ---- the loop
    def begin(self):
        for exercise in self.desk.exercises:
            self.stamps[exercise.key] = self.stamp(exercise)
        self.go_to(self.current)
        if self.desk.hints_shown(self.current):
            self.extra = hint_lines(self.current, self.desk.hints_shown(self.current), self.style) if self.screen else []
        self.check()

    def look(self):
        """Checks what was saved."""
        saved = self.changed()
        if saved is None:
            return
        time.sleep(SETTLE_SECONDS)
        self.stamps[saved.key] = self.stamp(saved)
        if saved is not self.current:
            self.go_to(saved)
        self.note, self.asked = "", ""
        self.check()

    def run(self):
        self.begin()
        while True:
            key = self.screen.key(POLL_SECONDS)
            if key and not self.press(key):
                return 0
            self.look()

    def run_plain(self):
        """Without keys: until everything is solved, or the program is ended."""
        print("./workbook checks what you save; Ctrl-C ends it. (On a terminal it shows hints, too.)", flush=True)
        self.begin()
        while True:
            while self.desk.solved(self.current):
                following = self.desk.next_open(self.current)
                if following is None:
                    print("All exercises are solved.")
                    return 0
                self.go_to(following)
                self.check()
            time.sleep(POLL_SECONDS)
            self.look()


def watch(desk, style, name=None):
    if name:
        desk.set_current(book.find_exercise(desk.book, name))
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    desk.prepare([desk.chapters[desk.current().chapter]])  # The others when one of theirs is checked.
    if not interactive:
        return Watch(desk, style).run_plain()
    with contextlib.suppress(KeyboardInterrupt), Screen(style) as screen:
        Watch(desk, style, screen).run()
    print()
    done = sum(desk.solved(e) for e in desk.exercises)
    print(f"{progress_bar(done, len(desk.exercises))} solved. ./workbook goes on at {desk.current().name}.")
    return 0

