"""The exercises from the command line."""

import argparse
import os
import pathlib
import subprocess
import sys

import book
from book import ROOT, BookError
from toolchain import BuildError, write_sources

TEACHERS = pathlib.Path(__file__).with_name("grade.py")
STATUS = "Exit status: 0 done; 1 check: not everything is solved, or try: the result is wrong; 2 bad arguments; 3 the checker could not be built, or not every file could be checked; 130 interrupted."


def pick_device():
    device = os.environ.get("DEVICE")
    if device in ("gpu", "emulator"):
        return device
    return subprocess.run([ROOT / "scripts" / "pick_device.sh"], capture_output=True, text=True, check=True).stdout.strip()


class Parser(argparse.ArgumentParser):
    """Says in one line what was wrong, and what is accepted."""

    def error(self, message):
        print(f"workbook: {message} (--help lists what is accepted)", file=sys.stderr)
        raise SystemExit(2)


def chapter_numbers(text):
    if not all(word.isdigit() for word in text.split()):
        raise argparse.ArgumentTypeError(f"'{text}': numbers of chapters are expected, as in \"1 3\"")
    return tuple(int(word) for word in text.split())


def path(text):
    if not text:
        raise argparse.ArgumentTypeError("an empty name is no file or folder")
    return pathlib.Path(text)


def between(kind, least, most):
    def convert(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}': a number from {least} to {most} is expected")
        return value

    return convert


jobs, seconds = between(int, 1, 256), between(float, 1, 3600)


def make_parser():
    parser = Parser(prog="./workbook", description="The book's exercises. Without a command: watches them while you edit.", epilog=STATUS)
    parser.add_argument("--device", choices=("gpu", "emulator"), help="what kernels run on (left out: gpu where nvcc and a device are)")
    parser.add_argument("--chapters", type=chapter_numbers, default=(), metavar='"1 3"', help="only these chapters' exercises (left out: all)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT, help="the folder that holds exercises/ (left out: this one)")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)

    def add(name, text, **options):
        return commands.add_parser(name, help=text, description=text, **options)

    watch = add("watch", "check the current exercise whenever its file is saved")
    watch.add_argument("name", nargs="?", help="begin with this exercise")
    check = add("check", "check exercises now, and say of each how it stands")
    check.add_argument("name", nargs="*", help="exercises, or chapters as numbers; left out: all that are begun")
    tried = add("try", "run your file on a case of your own, and say whether the result is right")
    tried.add_argument("name")
    tried.add_argument("case", help='as the checks name theirs: "shape=3,1,5 perm=0,2,1 dtype=half"')
    chapter = add("chapter", "lay out, build and check a chapter's exercises: what make exerciseN does")
    chapter.add_argument("number", type=int)
    chapter.add_argument("--reset", metavar="NAME", help="restore this exercise's file first; the old one is kept beside it")
    add("list", "all exercises, and which are solved")
    hint = add("hint", "one hint more about an exercise")
    hint.add_argument("name", nargs="?")
    reset = add("reset", "restore an exercise's file; the old one is kept beside it")
    reset.add_argument("name")
    sources = add("sources", "write the files that a chapter's check is built from (called by the build)")
    sources.add_argument("number", type=int)
    sources.add_argument("directory", type=pathlib.Path)
    if not TEACHERS.is_file():  # A handout has neither solutions nor what teachers need.
        return parser
    solution = add("solution", "our solution of an exercise that you solved")
    solution.add_argument("name")
    solution.add_argument("--anyway", action="store_true", help="though you did not solve it yet")
    handout = add("handout", "write a tree for a class: the exercises without their solutions")
    handout.add_argument("out", type=path)
    for name, text, out in (
        ("grade", "check a class's submissions", "grades as CSV; beside it the same as JSON, feedback for each student, and who is like whom"),
        ("leaderboard", "check a class's submissions and rank them", "a page, as HTML; beside it the same as JSON and as text"),
    ):
        of_class = add(name, text)
        of_class.add_argument("submissions", type=path, help="a folder with one folder per student")
        of_class.add_argument("out", type=path, help=out)
        of_class.add_argument("--seed", type=int, help="of the cases and their data (left out: drawn; leaderboard: by what was handed in)")
        of_class.add_argument("--jobs", type=jobs, help="how many checks at once, 1 to 256 (left out: one per core)")
        of_class.add_argument("--seconds", type=seconds, default=20, help="time limit of a check, 1 to 3600 (20)")
        of_class.add_argument("--weights", default="", metavar='"swizzle=3 chapter4=2"', help="points for an exercise, or for each of a chapter (left out: 1)")
    return parser


def chapter_of(desk, number):
    if number not in desk.chapters:
        known = ", ".join(str(n) for n in desk.chapters)
        raise BookError(f"chapter {number} has no exercises (chapters with exercises: {known})")
    return desk.chapters[number]


def run_check(desk, names, style):
    from judge import NOT_BEGUN
    from show import chapter_report, verdict_lines

    numbers = [int(n) for n in names if n.isdigit()]
    exercises = [book.find_exercise(desk.book, n) for n in names if not n.isdigit()]
    if not names:
        exercises = [e for e in desk.exercises if e.path(desk.root).is_file()]
    chapters = [chapter_of(desk, n) for n in numbers]
    needed = {c.number: c for c in chapters} | {e.chapter: desk.chapters[e.chapter] for e in exercises}
    desk.prepare(list(needed.values()) or desk.book)
    all_done = True
    for chapter in chapters:
        all_done &= chapter_report(desk, chapter, style)
    for exercise in exercises or ([] if chapters else desk.exercises):
        verdict = desk.check(exercise, anyway=bool(names))  # Named: a bug as it was handed out is looked at, too.
        all_done &= verdict.done
        if verdict.status != NOT_BEGUN or names:
            print("\n".join(verdict_lines(exercise, verdict, style, desk.root)), flush=True)
    return 0 if all_done else 1


def run_try(desk, name, case, style):
    from show import printed_lines, verdict_lines

    exercise = book.find_exercise(desk.book, name)
    if not exercise.is_code:
        raise BookError(f"{exercise.name} is a question: there is nothing to run")
    verdict = desk.try_case(exercise, case)
    right = [f"{exercise.name} is right on {case}", *printed_lines(verdict, style)]
    print("\n".join(right if verdict.done else verdict_lines(exercise, verdict, style, desk.root)))
    return 0 if verdict.done else 1


def run_hint(desk, name, style):
    from show import hint_lines

    exercise = book.find_exercise(desk.book, name) if name else desk.current()
    count = desk.next_hint(exercise)
    print(style("bold", exercise.name))
    print("\n".join(hint_lines(exercise, count, style)))
    if count < len(exercise.hints):
        print(f"Once more for the next: ./workbook hint {exercise.name}")


def run_solution(desk, name, anyway):
    from show import solution_lines

    exercise = book.find_exercise(desk.book, name)
    if exercise.solution is None:
        raise BookError("a handout has no solutions")
    if not anyway and not desk.solved(exercise):
        raise BookError(f"{exercise.name} is not solved yet; to see the solution all the same: ./workbook solution {exercise.name} --anyway")
    print("\n".join(solution_lines(exercise)))


def run_reset(desk, name):
    exercise = book.find_exercise(desk.book, name)
    kept = book.reset(exercise, desk.root)
    print(f"{exercise.path(desk.root).relative_to(desk.root)} is as it was handed out"
          + (f"; what you had is in {kept.relative_to(desk.root)}" if kept else ""))  # fmt: skip


def run(arguments):
    options = make_parser().parse_args(arguments)
    if options.command == "sources":
        chapter = next((c for c in book.read_book() if c.number == options.number), None)
        if chapter is None:
            raise BookError(f"chapter {options.number} has no exercises")
        write_sources(chapter, options.directory)
        return 0
    if options.command == "handout":
        from handout import write_handout

        return write_handout(options.out, chapters=options.chapters)
    if options.command in ("grade", "leaderboard"):
        from grade import grade
        from leaderboard import leaderboard

        ranked = options.command == "leaderboard"
        return (leaderboard if ranked else grade)(options.submissions, options.out, seed=options.seed, jobs=options.jobs, seconds=options.seconds,
                                                  chapters=options.chapters, weights=options.weights)  # fmt: skip

    from desk import Desk
    from show import Style, chapter_report, list_lines, wants_color

    style = Style(wants_color(sys.stdout))
    desk = Desk(options.device or pick_device(), options.folder.resolve(), options.chapters)
    if not desk.exercises:
        raise BookError("no chapter has exercises yet")
    if options.command == "list":
        print("\n".join(list_lines(desk, style, desk.current())))
    elif options.command == "hint":
        run_hint(desk, options.name, style)
    elif options.command == "reset":
        run_reset(desk, options.name)
    elif options.command == "solution":
        run_solution(desk, options.name, options.anyway)
    elif options.command == "try":
        return run_try(desk, options.name, options.case, style)
    elif options.command == "check":
        return run_check(desk, options.name, style)
    elif options.command == "chapter":
        chapter = chapter_of(desk, options.number)
        if options.reset:
            run_reset(desk, options.reset)
        written = desk.prepare([chapter])
        if written:
            print(f"laid out: {len(written)} file{'s' * (len(written) > 1)} in exercises/chapter{chapter.number}/")
        chapter_report(desk, chapter, style)
        if desk.current().chapter != chapter.number:  # ./workbook goes on here.
            desk.set_current(next((e for e in chapter.exercises if not desk.solved(e)), chapter.exercises[0]))
    else:
        from watch import watch

        return watch(desk, style, getattr(options, "name", None))
    return 0


def main(arguments):
    try:
        return run(arguments)
    except BookError as error:
        print(f"workbook: {error}", file=sys.stderr)
        return 2
    except BuildError as error:
        print(f"workbook: {error}", file=sys.stderr)
        return 3
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"workbook: {error.filename}: {error.strerror}" if error.filename else f"workbook: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
        return 130
