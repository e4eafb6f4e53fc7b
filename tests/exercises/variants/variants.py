"""Solutions that readers might hand in, as data: chapterN.toml beside this file.

    [[variant]]
    of = "one_element"              the exercise
    what = "one thread does all"    what is special about it
    verdict = "slow"                what the check has to say: done, slow, wrong or refused
    says = "times ours"             optional: a part of its message
    daily = true                    optional: tried each day; the others take turns
    points = 0                      optional: what it earns, where that is not 1, 0.5 and nothing for done, slow and the others
    regions.NAME = "..."            what stands in a marked region instead of our code
    edits = [["a", "b"], ...]       then, in the whole file, a becomes b

What is neither in a region nor in an edit is as in our solution; a project's is projects/chapterN.cuh.
"""

import pathlib
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "common" / "exercises"))

import book  # noqa: E402

KEYS = {"of", "what", "verdict", "says", "points", "daily", "regions", "edits"}


def replaced(text, regions, where):
    """A step's text with the regions that are named replaced."""
    missing = set(regions)
    parts = []
    for name, part in book.split_regions(text, where):
        if name in regions:
            part = book.indented(regions[name].strip("\n"), part)
            missing.discard(name)
        parts.append("" if name == "mark" else part)
    if missing:
        raise ValueError(f"{where}: there is no region {sorted(missing)[0]}")
    return "".join(parts)


def text_of(exercise, variant):
    where = f"{exercise.key}: {variant['what']}"
    project = pathlib.Path(__file__).resolve().parents[1] / "projects" / f"chapter{exercise.chapter}.cuh"
    ours = project.read_text(encoding="utf-8") if exercise.kind == "project" else exercise.solution
    text = replaced(ours, variant.get("regions", {}), where)
    for old, new in variant.get("edits", []):
        if old not in text:
            raise ValueError(f"{where}: nothing reads {old!r}")
        text = text.replace(old, new)
    return text


def read(chapters):
    """[(chapter, exercise, variant)]"""
    found = []
    for path in sorted(pathlib.Path(__file__).parent.glob("chapter*.toml")):
        chapter = next(c for c in chapters if path.stem == f"chapter{c.number}")
        exercises = {e.name: e for e in chapter.exercises}
        for variant in tomllib.loads(path.read_text(encoding="utf-8"))["variant"]:
            if set(variant) - KEYS or variant["verdict"] not in ("done", "slow", "wrong", "refused"):
                raise ValueError(f"{path.name}: {variant}")
            found.append((chapter, exercises[variant["of"]], variant))
    return found
