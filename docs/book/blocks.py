"""What stands on a page between a line `<!-- KIND ... -->` and a line `<!-- end -->`:

    <!-- table steps -->                    a table of the chapter as a whole (tables.py)
    <!-- measure v4b float wavefronts/load -->   a step beside its base on a case: counters, the time, the share of a copy
    <!-- diff v4b -->                       what its kernel changes of its base's; `<!-- diff v4b load -->` of the region [load], or
                                           of the function `load()`; `diff v7a large v3:kernel` beside a region of v3
    <!-- code v4b load -->                  the region [load] of its file; `permute.hpp:merged` is another file's,
                                           `common/cuda/fast_division.cuh:divide` one's of common/
    <!-- call permute -->                   how a take-away header declares this function
    <!-- sass 3: NAME 0470 0570 -->         recorded machine code, from one address to another
    <!-- exercises -->                 the exercises of a step's page, which exercises.toml describes
    <!-- figure banks v4b: lane * 33 -->    in the book, a drawing of drawings.py, above the caption that follows

`update` writes all but the caption, and adds the line `end` where it is missing.
"""

import html

import drawings
import exercise_boxes
import listings
import lookup
import queries
import tables
from chapters import chapters
from markdown import raw
from queries import split
from records import ROOT, Problem
from sentences import MARKER


def chapter_of(path):
    for chapter in chapters():
        if chapter.folder in path.parents:
            return chapter
    raise Problem("the page belongs to no chapter")


def step_and_base(path, version):
    chapter = chapter_of(path)
    step = chapter.kernel(version)
    return step, chapter.kernel(step.base) if step.base else None


def difference(path, version, region="kernel", other=""):
    """The lines of a step's difference from its base, or from another step that it is built on, as `v2:region` says; with "..." where
    lines are left out."""
    step, base = step_and_base(path, version)
    if base is None:
        raise Problem(f"chapter.cu names no base of {version}")
    name, _, base_region = other.partition(":")
    if name:
        base = next((below for below in chapter_of(path).bases(step) if below.version == name), None)
        if base is None:
            raise Problem(f"{version} is not built on {name}")
    lines = step.difference(base, region, base_region)
    if not lines:
        raise Problem(f"the region [{region}] is the same in {base.file}")
    return [" ..." if line.startswith("@@") else line for line in lines[1:]]


def fenced(language, lines):
    return "\n".join([f"```{language}", *(line.rstrip() for line in lines), "```"]) + "\n"


def made(path, kind, words, given):
    if kind == "table":
        return tables.table(path, " ".join(words))
    if kind == "measure":
        return tables.measure_table(chapter_of(path), words[0], words[1], " ".join(words[2:]).replace(",", " ").split())
    if kind == "diff":
        return fenced("diff", difference(path, *words))
    if kind == "call":
        return fenced("cuda", lookup.call(words[0]))
    if kind == "sass":
        return fenced("sass", listings.part(queries.chapter_of(path, words), *words))
    if kind == "code":
        file, _, region = words[1].rpartition(":")
        return fenced("cuda", chapter_of(path).kernel(words[0]).region(region, file))
    if kind == "exercises":
        return exercise_boxes.line(chapter_of(path), path.stem)
    drawing(path, " ".join(words))
    if not (given or "").strip():
        raise Problem("a figure has a caption between its line and the line `<!-- end -->`")
    return given


def body(path, match):
    """A block's lines, as the page's source has them."""
    try:
        return made(path, match["kind"], split(match["what"]), match["body"])
    except (Problem, KeyError, ValueError, IndexError, TypeError, OSError) as error:
        raise Problem(f"{path.relative_to(ROOT)}: <!-- {match['kind']} {match['what']} -->: {error}") from None


def renewed(path, text):
    """The text with its blocks made anew. A step's page ends with its exercises."""
    chapter = next((chapter for chapter in chapters() if chapter.folder / "pages" == path.parent), None)
    if chapter:
        text = exercise_boxes.with_block(chapter, path, text)
    return MARKER.sub(lambda m: f"<!-- {' '.join(filter(None, (m['kind'], m['what'])))} -->\n{body(path, m)}<!-- end -->\n", text)


def difference_html(lines):
    kinds = {"+": "ins", "-": "del"}
    spans = "".join(f'<span class="{"hunk" if line == " ..." else kinds.get(line[:1], "same")}">{html.escape(line) or " "}</span>'
                    for line in lines)
    return f'<pre class="diff" tabindex="0">{spans}</pre>'


def drawing(path, what):
    """A figure as SVG."""
    name, _, arguments = what.partition(" ")
    folder = next((chapter.folder for chapter in chapters() if chapter.folder in path.parents), path.parent)
    return drawings.draw(name, arguments, folder)


def published(path, text):
    """The text with its blocks as the book shows them."""
    def shown(match):
        if match["kind"] == "diff":
            return raw(difference_html(difference(path, *split(match["what"]))))
        if match["kind"] in ("code", "call", "sass"):
            return match["body"].replace("```cuda", "~~~{.cpp}").replace("```sass", "~~~{.unparsed}").replace("```", "~~~")
        if match["kind"] == "exercises":
            return raw(exercise_boxes.boxes(chapter_of(path), path.stem))
        if match["kind"] == "figure":
            picture = drawing(path, match["what"])
            return (raw(f'<figure><div class="scroll" tabindex="0" role="group" aria-label="figure">{picture}</div><figcaption>')
                    + f"\n{match['body']}\n" + raw("</figcaption></figure>"))
        return f"\n{match['body']}\n"

    return MARKER.sub(shown, text)
