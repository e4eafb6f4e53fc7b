"""What the host and the GPU do while somebody reads a clock: chapter 7's ways to time."""

import re

from charts import text
from records import Problem
from sketch import WIDTH, box, inside, line, panel, panels, parts

CALL, EVENT, WAY = 3, 1, 2  # A call's time on the host, an event's, and a message's way to the GPU or back: units of the drawing.
WARM, COLD, FLUSH = 4, 7, 3  # A kernel whose arrays are in the L2 or not, and what fills the L2 with something else.
LEFT = 38


class Timeline:
    """A program of both: [(lane, what, begins, ends)] and the times at which the clocks were read."""

    def __init__(self, program):
        self.now = self.free = 0  # When the host goes on; when the GPU has done all that it was sent.
        self.boxes, self.readings, self.held, self.near = [], [], None, 0  # Near: the arrays that are in the L2.
        for word in program.split():
            match = re.fullmatch(r"graph(\d+)/(\d+)", word)
            if match:
                self.sent("graph", [("kernel", launch % int(match[2])) for launch in range(int(match[1]))])
            elif word in ("wait", "clock", "launch", "event", "flush", "hold", "release"):
                getattr(self, word)()
            else:
                raise Problem(f"a program has wait, clock, launch, event, flush, hold, release and graph6/3, not {word}")
        if self.held is not None or len(self.readings) % 2:
            raise Problem(f"clocks are read in pairs, and what is held is released: not so in {program}")

    def sent(self, name, work, cost=CALL):
        """A call that sends work to the GPU."""
        self.boxes.append(("host", name, self.now, self.now + cost))
        self.now += cost
        if self.held is None:
            self.do(work, self.now + WAY)
        else:
            self.held += work

    def do(self, work, arrived):
        for what, arrays in work:
            begins = max(self.free, arrived)
            took = {"event": 0, "flush": FLUSH, "kernel": WARM if arrays == self.near else COLD}[what]
            self.free = begins + took
            if what == "event":
                self.readings.append(self.free)
                continue
            self.boxes.append(("GPU", f"{'warm' if took == WARM else 'cold'} kernel" if what == "kernel" else what, begins, self.free))
            self.near = arrays

    def wait(self):
        if self.held is not None:
            raise Problem("who waits for a GPU that is held waits for ever")
        ends = max(self.now + EVENT, self.free + WAY if self.boxes else 0)
        self.boxes.append(("host", "wait", self.now, ends))
        self.now = ends

    def clock(self):
        self.readings.append(self.now)

    def launch(self):
        self.sent("launch", [("kernel", 0)])

    def event(self):
        self.sent("event", [("event", None)], EVENT)

    def flush(self):
        self.sent("flush", [("flush", None)])

    def hold(self):
        self.held, self.begun = [], max(self.free, self.now + WAY)

    def release(self):
        work, self.held, self.free = self.held, None, max(self.begun, self.now + WAY)
        self.boxes.append(("GPU", "held", self.begun, self.free))
        self.do(work, self.free)

    def read(self):
        """What the clocks read, sample by sample."""
        return [stop - start for start, stop in zip(self.readings[::2], self.readings[1::2])]


CLASSES = {"warm kernel": "bar", "cold kernel": "conflict", "wait": "cell", "held": "cell", "event": "edge"}
WORDS = {"warm kernel": "kernel, data in the L2", "cold kernel": "kernel, data in memory"}


def fits(what, width):
    return what not in WORDS and width > 7.4 * len(what)


def clocked(arguments):
    """`clocked v1: wait clock launch wait clock | v7a: event graph4/1 event`: what the host and the GPU do, and what the clocks read."""
    drawn = [(title, Timeline(program)) for title, program in parts(arguments)]
    unit = (WIDTH - LEFT - 2) / max(max(ends for _, _, _, ends in time.boxes) for _, time in drawn)
    body, described, y, told = [], [], 0, {}
    for title, time in drawn:
        lanes = {"host": y + 28, "GPU": y + 58}
        body.append(text(0, y + 16, title, "title"))
        for lane, top in lanes.items():
            body += [text(0, top + 16, lane, "muted"), line(LEFT, top + 22, WIDTH, top + 22, "grid")]
        for start, stop in zip(time.readings[::2], time.readings[1::2]):
            at, width = LEFT + start * unit, (stop - start) * unit
            body += [box(at, y + 24, width, 72, "shade", 'fill-opacity=".14"'), line(at, y + 24, at, y + 96, "limit"),
                     line(at + width, y + 24, at + width, y + 96, "limit"), inside(at, y + 90, width, 20, "reads" if width > 34 else "")]
        for lane, what, begins, ends in time.boxes:
            x, width = LEFT + begins * unit, (ends - begins) * unit - 1
            body.append(box(x, lanes[lane], width, 22, CLASSES.get(what, "mark"), 'rx="3"'))
            if fits(what, width):
                body.append(inside(x, lanes[lane], width, 22, what))
            told[what] = told.get(what, False) or fits(what, width)
        described.append(f"{title}: " + "; ".join(f"{lane} {what} from {begins} to {ends}" for lane, what, begins, ends in time.boxes)
                         + f"; the clocks read {', '.join(map(str, time.read())) or 'nothing'}.")
        y += 122 if time.readings else 100
    words = WORDS if "cold kernel" in told else {"warm kernel": "kernel"}
    for number, what in enumerate(what for what, is_told in sorted(told.items()) if not is_told):  # A legend for what has no name in its box.
        x, top = number % 2 * 172, y - 4 + number // 2 * 18
        body += [box(x, top, 10, 10, CLASSES.get(what, "mark")), text(x + 15, top + 10, words.get(what, what), "small")]
        bottom = top + 18
    return panels([panel(bottom, body, "Host and GPU, and what a clock reads", " ".join(described))])
