"""What the chapters' Markdown needs on its way to Doxygen: names for headings, links between pages, raw HTML."""

import itertools
import re

HEADING = re.compile(r"^(#{1,4}) (.+?)(?: \{#([\w-]+)\})?\s*$")
FENCE = re.compile(r"^(```|~~~)")


def slug(title):
    """The name that code hosts give a heading."""
    title = re.sub(r"[^\w\- ]", "", title.lower().replace("`", ""))
    return title.strip().replace(" ", "-")


def raw(markup):
    """HTML that Doxygen passes on as it is."""
    return f"\n\\htmlonly[block]\n{markup}\n\\endhtmlonly\n"


def lines_outside_code(lines):
    """(number, line, is code) of each line. Code is what stands in fences or is indented by four."""
    fenced = False
    blank = True
    for number, line in enumerate(lines):
        if FENCE.match(line.strip()):
            fenced = not fenced
            yield number, line, True
            continue
        indented = line.startswith("    ") and blank
        yield number, line, fenced or indented
        blank = not line.strip() or indented


def sections(text):
    """[(heading line or "", title, level, body)] of a Markdown text."""
    found = [["", "", 0, []]]
    lines = text.splitlines()
    for _, line, is_code in lines_outside_code(lines):
        match = None if is_code else HEADING.match(line)
        if match:
            found.append([line, match.group(2), len(match.group(1)), []])
        else:
            found[-1][3].append(line)
    return [(heading, title, level, "\n".join(body)) for heading, title, level, body in found]


def name_headings(text, page):
    """Gives each heading a name of its own, unique in the book, and turns the page's links to its headings to them."""
    lines = text.splitlines()
    names = {}
    for number, line, is_code in lines_outside_code(list(lines)):
        match = None if is_code else HEADING.match(line)
        if match:
            marks, title, name = match.groups()
            name = page if len(marks) == 1 else name or f"{page}-{slug(title)}"
            names[slug(title)] = name
            lines[number] = f"{marks} {title} {{#{name}}}"
    return re.sub(r"\]\(#([\w-]+)\)", lambda m: f"](#{names.get(m.group(1), m.group(1))})", "\n".join(lines))


def defused(text):
    """A text that scripts wrote, and that knows nothing of Doxygen: what it would take for a command or a tag, it shows."""
    lines = text.splitlines()
    for number, line, is_code in lines_outside_code(list(lines)):
        if not is_code:
            parts = re.split(r"(`[^`]*`)", line)
            lines[number] = "".join(part if part.startswith("`") else re.sub(r"([\\@])", r"\\\1", part).replace("<", "&lt;")
                                    for part in parts)
    return "\n".join(lines) + "\n"


CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n[ \t]*\n).)+?)(?<!`)\1(?!`)", re.S)


def quoted_code(text):
    """Doxygen ends code at a single quote, unless two backticks surround it, and drops a % before a word, unless there are two."""
    def quoted(match):
        ticks = "``" if match[1] == "`" and "'" in match[2] else match[1]
        return ticks + re.sub(r"%(?=\w)", "%%", match[2]) + ticks

    parts = itertools.groupby(lines_outside_code(text.splitlines()), key=lambda each: each[2])
    return "".join(joined if is_code else CODE.sub(quoted, joined)
                   for is_code, lines in parts for joined in ["".join(f"{line}\n" for _, line, _ in lines)])


LINK = re.compile(r"(?<!!)\[((?:[^\]`]|`[^`]*`)*)\]\((?![\w./-]*\.html)([\w./-]+)(?:#([\w-]+))?\)")
ANSWER = re.compile(r"[ \t]*▸\s*\*((?:(?!\n[ \t]*\n).)+?)(?<=\S)\*(?:[ \t]+|(?=\n)|$)", re.S)


def link_pages(text, path, pages):
    """Links to files become links to their pages, or plain names where the book has no such page. `pages` has the book's name
    of each file's page."""
    def target(match):
        words, file, anchor = match.groups()
        page = pages.get((path.parent / file).resolve())
        if page:
            return f"[{words}](#{page}{'-' + anchor if anchor else ''})"
        return words if "`" in words else f"`{file}`" if words == file or file.endswith(".md") else f"{words} (`{file}`)"

    return LINK.sub(target, text)


def broken_links(text, path):
    """[(line, link)] of the links to files, and to headings of texts, that are not there."""
    found = []
    for number, line, is_code in lines_outside_code(text.splitlines()):
        for match in () if is_code else LINK.finditer(line):
            file, anchor = (path.parent / match[2]).resolve(), match[3]
            titles = [title for _, title, _, _ in sections(file.read_text(encoding="utf-8"))] if file.suffix == ".md" and file.exists() else []
            if not file.exists() or anchor and anchor not in map(slug, titles):
                found.append((number + 1, match[2] + (f"#{anchor}" if anchor else "")))
    return found


def fold_answers(text):
    """A question's answer, `▸ *...*`, folds: a paragraph of its own, within the item of the list that it stands in."""
    def folded(match):
        before = text[:match.start()]
        first = re.split(r"\n[ \t]*\n|\n(?=[ \t]*(?:[-*+]|\d+\.) )", before)[-1]
        indent = " " * len(re.match(r"[ \t]*(?:(?:[-*+]|\d+\.) +)?", first.lstrip("\n")).group())
        parts = ["\\htmlonly[block]", '<details class="answer"><summary>Answer</summary>', "\\endhtmlonly", "",
                 " ".join(match.group(1).split()), "", "\\htmlonly[block]", "</details>", "\\endhtmlonly", ""]
        return "\n\n" + "\n".join(indent + part if part else "" for part in parts) + "\n" + indent

    return ANSWER.sub(folded, text)


def fence_indented(text):
    """Indented blocks become fenced ones, which Doxygen does not take for anything else."""
    out, block = [], []

    def flush():
        while block and not block[-1].strip():
            trailing.append(block.pop())
        if block:
            out.extend(["~~~{.unparsed}", *[line[4:] for line in block], "~~~"])
        out.extend(trailing)
        block.clear()
        trailing.clear()

    trailing = []
    fenced = False
    for line in text.splitlines():
        if FENCE.match(line.strip()):
            fenced = not fenced
        if not fenced and line.startswith("    ") and (block or not out or not out[-1].strip()):
            block.append(line)
        elif block and not line.strip():
            block.append(line)
        else:
            flush()
            out.append(line)
    flush()
    return "\n".join(out) + "\n"


def near_pictures(text):
    """Pictures of docs/results/ lie beside the pages in the book; site_builder.py puts them there. A phone shows a link to them."""
    return re.sub(r"^!\[([^\]]*)\]\([\w./-]*docs/results/[\w./-]*/([\w.-]+\.svg)\)$", lambda match: raw(
        f'<figure class="recorded"><img src="{match[2]}" alt="{match[1]}"/><figcaption>{match[1]}</figcaption></figure>'
        f'<p class="in-words"><a href="{match[2]}">{match[1]}: the picture</a></p>'), text, flags=re.M)
