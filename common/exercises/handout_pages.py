"""The book's pages as a handout has them: each stands alone, and names nothing that is not handed out."""

import html
import os
import re
import textwrap

TITLES = {"memory": "Chapter 0: How a GPU reads memory", "glossary": "Glossary", "counters": "Reading the counters", "emulator": "The emulator",
          "emulator_limits": "What the emulator has and lacks", "timing": "How we time", "verifying": "How we verify"}  # fmt: skip
TARGETS = re.compile(r"deps|watch|clean|emulate|exercise\d+")  # Of a handout's Makefile.
RUN_ALL = re.compile(r"\brun_all\b|--(?:counters|samples|profile)\b")  # Chapters' own programs are made of the solutions.
PATH = re.compile(r"(?<![\w./-])(?:scripts|tests|docs|chapters|common)/[\w./-]+")
FIGURE = re.compile(r"<!-- figure .*?<!-- end -->", re.S)
COMMENT = re.compile(r"^<!--.*?-->\n|<!--.*?-->|^!\[[^\]]*\]\([\w./-]*docs/results/[^)]*\)\n", re.M | re.S)
NO_FIGURE = "(a figure)"
PAPER = ("svg{background:#fff;--page-foreground-color:#1b2126;--page-secondary-foreground-color:#565d64;--separator-color:#c9d0d6;--bar-color:#2f81c7;"
         "--limit-color:#b3441e;--font-family:sans-serif}")  # fmt: skip
ANSWER = re.compile(r"▸ \*(.+?)\*(?=\n|\Z)", re.S)
STEPS_PAGE = re.compile(r"\b(?:[Tt]heir|[Ii]ts|steps?'s?) pages?\b|\b[Tt]he pages? of v\d")
CODE = re.compile(r"`([^`]+)`")
FILE = re.compile(r"`([\w./-]+(?:\.(?:cuh|cu|hpp|cpp|py|txt)|/))`")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([\w./-]+)(?:#[\w-]+)?\)")


def with_drawings(text, name, draw, style):
    """The page with its figures as files beside it, and these: {path: SVG}. `draw` makes SVG of a figure's words, or nothing
    where it cannot. `style` is the book's."""
    made = {}
    rules = "".join(re.findall(r"^svg\.chart(?!\.narrow)[^\n]*\n", style, re.M))

    def drawn(found):
        links = []
        for picture in re.findall(r"<svg.*?</svg>", draw(found[1]), re.S):
            path = f"{name.removesuffix('.md')}_{len(made) + 1}.svg"
            made[path] = picture.replace(">", f"><style>{PAPER}{rules}</style>", 1) + "\n"
            links.append(f"![{html.unescape(re.search('<title>(.*?)</title>', picture)[1])}]({os.path.basename(path)})")
        return "\n".join(links) + f"\n\n{found[2]}" if links else found[0]

    return re.sub(r"<!-- figure (.*?) -->\n(.*?)<!-- end -->\n", drawn, text, flags=re.S), made


def page(text, name, files, chapters):
    """A page with the path `name`; `files` are the handout's, and `chapters` its folders by number."""
    titles = {title: os.path.relpath(f"docs/pages/{title}.md", os.path.dirname(name)) for title in TITLES}
    titles |= {f"chapter{number}": os.path.relpath(f"{folder}/README.md", os.path.dirname(name)) for number, folder in chapters.items()}
    own = {re.sub(r"[^a-z0-9]+", "-", heading.lower()) for heading in re.findall(r"^#+ (.*?)(?: \{#.*)?$", text, re.M)}

    def pointed(found):
        words, target = found.groups()
        return found[0] if target in own else f"[{words}]({titles[target]})" if target in titles else f"{words} (in the whole book)"

    text = re.sub(r"\[([^\]]+)\]\(#(\w+)\)", pointed, text)
    text = "\n## ".join(part for part in text.split("\n## ") if "[[book " not in part)
    text = with_links_within(without_absent(COMMENT.sub("", FIGURE.sub(NO_FIGURE, text)), files), name, files)
    return with_answers_behind(with_absent_named(text, name, files))


def with_absent_named(text, name, files):
    """A chapter's page says at its head which of the files that it names are not here."""
    absent = [file for file in dict.fromkeys(FILE.findall(text)) if name.startswith("chapters/") and not is_named(file, files)]
    title, _, rest = text.partition("\n\n")
    line = f"*In the whole book, and not here: {', '.join(f'`{file}`' for file in absent)}.*"
    return f"{title}\n\n{textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False)}\n\n{rest}" if absent else text


def is_named(name, files):
    """Whether a file has this name, or lies in a folder that has it."""
    return any(f"/{name}" in (f"/{file}" if name.endswith("/") else f"/{file}"[-len(name) - 1 :]) for file in files)


def with_answers_behind(text):
    """Nobody reads an answer before the question is thought about."""
    answers = []

    def behind(found):
        answers.append(f"{len(answers) + 1}. {' '.join(found[1].split())}")
        return f"(The answer is number {len(answers)} at the end.)"

    text = ANSWER.sub(behind, text)
    return text + ("\n## Answers\n\n" + "\n".join(answers) + "\n" if answers else "")


def is_absent(code, files):
    """Whether a command or a path is of the whole project alone."""
    words = code.replace("&&", "&& ").split()
    targets = []
    for word in words[words.index("make") + 1 :] if "make" in words else ():
        if word in ("&&", "#"):
            break
        targets += [word] * ("=" not in word and word[0].isalpha() and word.islower())
    paths = [p.rstrip("./") for p in PATH.findall(code)]
    return bool(RUN_ALL.search(code) or [t for t in targets if not TARGETS.fullmatch(t)] or [p for p in paths if not is_there(p, files)])


def is_there(path, files):
    return any(file == path or file.startswith(f"{path}/") for file in files)


def without_absent(text, files):
    """Without commands that a handout lacks, and the sentences about them; of a paragraph that begins with one, nothing."""
    kept = []
    for block in blocks(text):
        if block.startswith("    "):
            lines = [line for line in block.split("\n") if not is_absent(line, files)]
            if not lines and kept and (kept[-1].endswith(":") or re.match(r"\**Run\b", kept[-1])):
                kept.pop()
            block = "\n".join(lines)
        elif block == NO_FIGURE:
            if kept and kept[-1].endswith(":"):
                kept[-1] = " ".join(SENTENCE.split(kept[-1])[:-1])
            block = ""
        elif not block.startswith(("#", "|", "```")):
            items = re.split(r"\n(?=- |\d+\. )", block)
            block = "\n".join(filter(None, (without_absent_sentences(item, files) for item in items)))
        if block.startswith("#"):
            while kept and heading(kept[-1]) >= heading(block) > 0:  # With nothing below it.
                kept.pop()
        kept += [block] if block else []
    while kept and heading(kept[-1]):
        kept.pop()
    return "\n\n".join(kept) + "\n"


def heading(block):
    """A heading's level; 0 for other blocks."""
    found = re.fullmatch(r"(#+) [^\n]*", block)
    return len(found[1]) if found else 0


def blocks(text):
    """What blank lines part; a fenced listing is one."""
    parts, fenced = [], False
    for part in re.split(r"\n{2,}", text.strip("\n")):
        if fenced:
            parts[-1] += f"\n\n{part}"
        else:
            parts.append(part)
        fenced ^= part.count("```") % 2 == 1
    return parts


def without_absent_sentences(text, files):
    sentences = SENTENCE.split(text)
    there = [s for s in sentences if not STEPS_PAGE.search(s) and not any(is_absent(code, files) for code in CODE.findall(s))]
    if there == sentences:
        return text
    if not there or there[0] != sentences[0]:
        return ""
    return "\n".join(textwrap.wrap(" ".join(there), 120, subsequent_indent="  " * text.startswith("- "), break_long_words=False, break_on_hyphens=False))


def with_links_within(text, name, files):
    """A page without links to what is not handed out, such as the steps' pages: their words stay. An item that begins with another
    page's link goes."""

    def leads(target):
        return is_there(os.path.normpath(os.path.join(os.path.dirname(name), target)), files)

    def kept_item(item):
        found = re.match(r"- " + LINK.pattern, item[0])
        return not found or found[2].startswith("pages/") or leads(found[2])

    text = re.sub(r"^- .*\n(?:  .*\n)*", lambda m: m[0] if kept_item(m) else "", text, flags=re.MULTILINE)
    return LINK.sub(lambda m: m[0] if leads(m[2]) else m[1], text)
