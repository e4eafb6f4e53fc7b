"""The way through the book: front page, chapter 0, then each chapter's story and its ladder, chapter 3 first, as the front page
says. Asides, evidence and libraries lie beside it: from them, one goes back to the chapter."""

import html
import re

import addresses
from chapters import chapters
from markdown import raw
from records import ROOT, Problem

FIRST = ("index", "memory")


def title_of(path):
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    if not first.startswith("# "):
        raise Problem(f"{path}: the first line is to be the title, `# ...`")
    return first[2:].strip()


def ladder(chapter):
    """The names of a chapter's pages that everybody reads, its own first."""
    own = f"chapter{chapter.number}"
    return [own, *(f"{own}-{step.version}" for step in chapter.steps if step.version in chapter.pages)]


def way():
    """{name: title} in the order in which the book is read."""
    general = addresses.general()
    found = {name: title_of(general[name]) for name in FIRST if name in general}
    for chapter in sorted(chapters(), key=lambda chapter: (chapter.number != 3, chapter.number)):
        files = addresses.of_chapter(chapter)
        found |= {name: title_of(files[name]) for name in ladder(chapter)}
    return found


def heads():
    """{name: what stands above the title} of a chapter's other pages: the chapter, the page before and the page after in short."""
    found, order = {}, list(way().items())
    for chapter in chapters():
        own = f"chapter{chapter.number}"
        for name in addresses.of_chapter(chapter):
            at = next((at for at, (other, _) in enumerate(order) if other == name), None)
            beside = [] if at is None else [(order[at - 1], "&larr; {}")] + [(other, "{} &rarr;") for other in order[at + 1:at + 2]]
            links = "".join(f' <a href="{other}.html" title="{html.escape(title)}">{form.format(html.escape(re.split(" · |:", title)[0]))}</a>'
                            for (other, title), form in beside if other != own)
            if name != own:
                found[name] = f'<nav class="head" aria-label="the chapter"><a href="{own}.html">{html.escape(title_of(chapter.readme))}</a>{links}</nav>'
    return found


def navigation(name, chapter=None):
    """Links from a page to the one before, to the chapter's own, and to the one after."""
    files = addresses.of_chapter(chapter) if chapter else {}
    whole = way()
    on_way = name in whole
    if not on_way:
        whole = {other: title_of(path) for other, path in files.items()}
    order, links = list(whole), []
    at = order.index(name)

    def link(other, words, relation):
        links.append(f'<a rel="{relation}" href="{other}.html">{words}</a>')

    if at > 0:
        link(order[at - 1], f"&larr; {html.escape(whole[order[at - 1]])}", "prev")
    own = f"chapter{chapter.number}" if chapter else ""
    if chapter and own not in (name, *order[at - 1:at]):
        link(own, html.escape(title_of(chapter.readme)), "up")
    elif name == own and at > 0:
        link("index", "Warpbook", "up")
    if at + 1 < len(order):
        link(order[at + 1], f"{html.escape(whole[order[at + 1]])} &rarr;", "next")
    return raw(f'<nav class="chapters" aria-label="the pages before and after">{"".join(links)}</nav>')
