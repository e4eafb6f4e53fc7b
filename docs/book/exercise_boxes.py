"""What a reader can do on a step's page: its exercises, as exercises.toml has them."""

import functools
import html
import re

from records import module

KINDS = {"fill": "fill in", "lab": "one-line lab", "write": "write", "bug": "find the bug", "predict": "predict", "explain": "explain"}
DIFFICULTIES = ("easy", "medium", "hard")
EMPTY = "<!-- exercises -->\n<!-- end -->\n"
BLOCK = re.compile(r"\n<!-- exercises -->\n(?:(?:(?!<!-- ).*\n)*<!-- end -->\n?)?")


def page_of(item):
    """The page that an exercise belongs to: as it says, or the page of the step that it is made of."""
    return item.get("page") or item["step"]


def of_page(chapter, version):
    """The exercises that belong to a page."""
    return [item for item in chapter.exercises() if page_of(item) == version]


def with_block(chapter, path, text):
    """The text with a place for its exercises at its end if it has some, and without one if it has none."""
    there = bool(BLOCK.search(text))
    if bool(of_page(chapter, path.stem)) == there:
        return text
    return BLOCK.sub("", text) if there else text.rstrip("\n") + "\n\n" + EMPTY


def effort(item):
    """Minutes and difficulty, as far as they are known."""
    return ([f"{item['minutes']} min"] if "minutes" in item else []) + ([DIFFICULTIES[item["difficulty"] - 1]] if "difficulty" in item else [])


def line(chapter, version):
    """What the page's source says: how long, which, and the command."""
    items = of_page(chapter, version)
    told = [" · ".join([*effort(item), f"`{item['name']}`"]) for item in items]
    return f"**Your turn** · {' · '.join(told)} · `make exercise{chapter.number}`\n" if items else ""


def words(text):
    """A task's or a hint's words as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(" ".join(text.split()), quote=False))


@functools.lru_cache(maxsize=None)
def laid_out(folder):
    """{name: the exercise as common/exercises has it} of a chapter."""
    return {exercise.name: exercise for exercise in module("common/exercises/book").read_chapter(folder).exercises}


def starting_code(chapter, item):
    """The marked parts of the file in which the reader has something to do, as they are handed out; "" where nothing is."""
    if not item.get("given"):
        return ""
    parts, todo = [""], [False]
    for piece in laid_out(chapter.folder)[item["name"]].pieces:
        if re.fullmatch(r"[ \t]*//! \[(?!exercise )[^\]\n]+\][ \t]*\n", piece.step or ""):  # A part begins or ends.
            parts.append("")
            todo.append(False)
            continue
        parts[-1] += piece.handed_out
        left_out = bool(piece.step) and not re.match(r"\s*//[/!]", piece.step)  # Neither a mark nor the file's story.
        todo[-1] = todo[-1] or piece.step != piece.handed_out and (left_out or bool(piece.step and piece.handed_out))
    work = [part.strip("\n") for part, has_work in zip(parts, todo) if has_work]
    return "\n\n".join(work)


def box(chapter, item):
    """An exercise: what to do, how long it takes, the command, the code to start from, hints that unfold."""
    name, kind = item["name"], KINDS.get(item["kind"], item["kind"])
    file = f"exercises/chapter{chapter.number}/{name}.cuh"
    code, learn = starting_code(chapter, item), item.get("learn")
    hints = "".join(f"<details><summary>Hint {number}</summary><p>{words(hint)}</p></details>" for number, hint in enumerate(item.get("hints", ()), 1))
    return (f'<section class="exercise" id="exercise-{name}" aria-label="exercise {name}"><p class="head"><strong>Your turn: <code>{name}</code></strong> '
            f'<span>{" · ".join([*effort(item), kind])}</span></p><p>{words(item["task"])}</p>'
            + (f"<p>You learn: {words(learn)}</p>" if learn else "")
            + f"<p><code>make exercise{chapter.number}</code> lays out <code>{file}</code> and checks it.</p>"
            + (f'<details><summary>Starting code</summary><pre class="code" tabindex="0">{html.escape(code)}</pre></details>' if code else "")
            + hints + (f"<details><summary>Our answer</summary><p>{words(item['answer'])}</p></details>" if kind == "explain" else "") + "</section>")


def boxes(chapter, version):
    return "".join(box(chapter, item) for item in of_page(chapter, version))


def listed(chapter):
    """All exercises of a chapter for its own page, as HTML: links to those on a step's page, and the boxes of the others."""
    def entry(item):
        name, page = item["name"], page_of(item)
        target, of = (f"chapter{chapter.number}-{page}.html", f", of {page}") if page in chapter.pages else ("", "")
        return (f'<li><a href="{target}#exercise-{name}"><code>{name}</code></a> '
                f'({", ".join([*effort(item), KINDS.get(item["kind"], item["kind"])])}{of})</li>')

    items = chapter.exercises()
    rest = [item for item in items if page_of(item) not in chapter.pages]
    return f"<ul>{''.join(map(entry, items))}</ul>" + "".join(box(chapter, item) for item in rest)
