"""The book's tool.

    python3 docs/book build      build/docs/html, with Doxygen; any warning stops it: `make docs`
    python3 docs/book slides     build/docs/html/slides/chapterN.html alone, for which Doxygen is not needed: `make slides`
    python3 docs/book update     the pages' figures and blocks anew from docs/results/ and the sources
    python3 docs/book maps       draws the access maps anew by build/emulator, into docs/results/
    python3 docs/book model [N]  runs the chapters' main cases by build/emulator, into docs/results/: of all, or of some
    python3 docs/book check      fails where a page's figure differs from the records, or nothing says where it is from
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import figures  # noqa: E402
import limits  # noqa: E402
import readme_chart  # noqa: E402
import sidecar  # noqa: E402
import site_builder  # noqa: E402
import slides  # noqa: E402
import texts  # noqa: E402
from records import ROOT, Problem  # noqa: E402


def update():
    """Writes the pages anew. Returns the number of what is left wrong."""
    wrong = []
    for path in texts.texts():
        try:
            text, faults = texts.renewed(path)
        except Problem as problem:
            wrong.append(str(problem))
            continue
        wrong += faults
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: renewed")
    if readme_chart.faults():
        readme_chart.PATH.write_text(readme_chart.drawn(), encoding="utf-8")
        print(f"{readme_chart.PATH.relative_to(ROOT)}: renewed")
    return told(wrong)


def check():
    pages = texts.texts()
    faults = sidecar.without_page(pages) + readme_chart.faults()
    for path in pages:
        text = path.read_text(encoding="utf-8")
        faults += texts.faults(path, text) + limits.faults(path, text)
    return told(faults)


def told(faults):
    """Prints what is wrong; the number of it."""
    for fault in faults:
        print(fault, file=sys.stderr)
    return len(faults)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["build", "slides", "update", "maps", "model", "check"])
    parser.add_argument("chapter", nargs="*", type=int, help="of model: which chapters")
    options = parser.parse_args()
    what = options.what
    try:
        if what == "build":
            site_builder.build()
        elif what == "slides":
            for path in slides.write(site_builder.SITE / "slides"):
                print(f"{path.relative_to(ROOT)}: written")
        elif what == "update":
            sys.exit(1 if update() else 0)
        elif what == "maps":
            for path in figures.record():
                print(f"{path.relative_to(ROOT)}: drawn")
        elif what == "model":
            for path in figures.model(options.chapter):
                print(f"{path.relative_to(ROOT)}: written", flush=True)
        elif check():
            sys.exit(1)
    except Problem as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:  # A checkout that may not be written, a full disk.
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(4)


if __name__ == "__main__":
    main()
