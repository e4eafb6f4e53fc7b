"""Prepares Doxygen's inputs in build/docs/, runs it, and finishes what it wrote."""

import html
import json
import os
import pathlib
import re
import shutil
import subprocess

import addresses
import front
import ladder_pages
import reading
import slides
import texts
from chapters import chapters
from markdown import defused, fence_indented, link_pages, name_headings, quoted_code
from records import ROOT, Problem, module

OUT = ROOT / "build" / "docs"
SITE = OUT / "html"
THEME = pathlib.Path("/usr/share/doxygen-awesome-css")
CUDA_WORDS = ("__global__ __device__ __host__ __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__ "
              "__grid_constant__").split()
CUDA_NAMES = "threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __ldg __shfl_down_sync __shfl_sync".split()


def needed():
    """Stops with one line where something is missing."""
    missing = [name for name, there in (("doxygen", shutil.which("doxygen")), ("doxygen-awesome-css", THEME.is_dir())) if not there]
    if missing:
        raise Problem(f"{' and '.join(missing)} not found: run `make deps docs`")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def prepare():
    pages = OUT / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for chapter in chapters():
        for name, text in ladder_pages.compose(chapter).items():
            write(pages / f"{name}.md", text)
    for name, path in addresses.general().items():
        if name.startswith("result_"):
            text = defused(link_pages(path.read_text(encoding="utf-8"), path, addresses.pages()))
        else:
            text = front.fill(texts.published(path)) + (reading.navigation(name) if name in reading.FIRST else "")
        write(pages / f"{name}.md", name_headings(quoted_code(fence_indented(text)), "mainpage" if name == "index" else name))


def layout():
    """The layout with a line of navigation for each chapter, and below it its pages where it has several."""
    def tab(chapter):
        own, *others = addresses.of_chapter(chapter).items()
        head = f'url="@ref {own[0]}" title="{html.escape(chapter.title, quote=False)}"'
        if not others:
            return f'<tab type="user" {head}/>\n      '
        inner = "".join(f'<tab type="user" url="@ref {name}" title="{html.escape(reading.title_of(path), quote=False)}"/>' for name, path in others)
        return f'<tab type="usergroup" {head}>{inner}</tab>\n      '

    tabs = "".join(map(tab, chapters()))
    return (ROOT / "docs" / "theme" / "layout.xml").read_text(encoding="utf-8").replace("<!-- chapters -->", tabs.strip())


def run_doxygen():
    shutil.rmtree(SITE, ignore_errors=True)
    write(OUT / "layout.xml", layout())
    environment = os.environ | {"WARPBOOK_VERSION": module("scripts/version").project_version()}
    result = subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, env=environment, capture_output=True, text=True)
    log = result.stderr.strip()
    write(OUT / "doxygen.log", result.stdout + result.stderr)
    if result.returncode != 0 or "warning:" in log or "error:" in log:
        raise Problem(f"Doxygen has something to say:\n{log}")


MARK = re.compile(r'<div class="line">(?:(?!</div>).)*//! \[(?:(?!</div>).)*</div>\n?')  # Of a region, which only the book reads.
LADDER = '<table class="markdownTable">\n<tr class="markdownTableHead">\n<th class="markdownTableHeadNone">step   </th><th class="markdownTableHeadNone">idea '
COLUMNS = re.compile(r"\S {3,}\S.* {3,}\S")


def spared(line, places):
    """A line of HTML with what a reader sees at these places marked as what a phone leaves out."""
    place, open_, out = 0, False, ""
    for piece in re.findall(r"<[^>]+>|&#?\w+;|.", line):
        tag = piece.startswith("<")
        if open_ != (not tag and place in places):
            out += "</span>" if open_ else '<span class="spared">'
            open_ = not open_
        out += piece
        place += not tag
    return out


def narrowed(code):
    """The table that run_all prints, for a phone without the column of bases and with one blank between columns."""
    lines = code.split("\n")
    shown = [html.unescape(re.sub(r"<[^>]+>", "", line)) for line in lines]
    head = next((i for i, line in enumerate(shown) if re.match("step +built on +time", line)), None)
    if head is None:
        return code
    rows = [i for i in range(head, len(lines)) if shown[i].strip()]
    bases = range(shown[head].index("built on"), shown[head].index("built on") + len("built on"))
    dropped = [place in bases or all(shown[i][place:place + 1] in ("", " ") for i in rows) for place in range(max(map(len, shown)))]
    places = {place for place in range(1, len(dropped)) if dropped[place] and dropped[place - 1]}
    for i in range(head):  # Above the columns: the case.
        lines[i] = spared(lines[i], {place for gap in re.finditer(" {3,}", shown[i]) for place in range(gap.start() + 2, gap.end())})
    for i in rows:
        lines[i] = spared(lines[i], places)
    return "\n".join(lines)


def hanging(lines, mark=0):
    """Lines of code in HTML, for a phone without the blanks that align a line with a bracket above; `mark` letters stand before each."""
    out, before, kept = [], 0, 0
    for line in lines:
        text = html.unescape(re.sub(r"<[^>]+>", "", line))[mark:]
        indent = len(text) - len(text.lstrip())
        if text.strip():
            kept = kept if indent == before else kept + 4 if indent > before + 6 else indent
            before = indent
            line = spared(line, range(mark + kept, mark + indent)) if kept < indent else line
        out.append(line)
    return out


def highlight(page_text):
    """CUDA's own words in code, which Doxygen takes for plain C++; and which code is none, but columns that were printed."""
    def fragment(match):
        code = match.group(0)
        lines = re.sub(r"<(?!/div>)[^>]+>", "", code).split("</div>")
        if "lineno" not in code and sum(bool(COLUMNS.search(line)) for line in lines) > 3:
            code = code.replace('"fragment"', '"fragment columns"', 1)
        code = MARK.sub("", code)
        for word in CUDA_WORDS:
            code = re.sub(rf"(?<!\w){word}(?!\w)", f'<span class="keyword">{word}</span>', code)
        for word in CUDA_NAMES:
            code = re.sub(rf"(?<!\w){word}(?!\w)", f'<span class="cuda">{word}</span>', code)
        if '"fragment columns"' in code:
            return narrowed(code)
        return code if "lineno" in code else "\n".join(hanging(code.split("\n")))

    def difference(match):
        return match[1] + "".join(hanging(re.findall(r"<span.*?</span>", match[2], re.S), 1)) + match[3]

    page_text = re.sub(r'(<pre class="diff"[^>]*>)((?:<span class="(?:ins|del|same|hunk)">[^<]*</span>)+)(</pre>)', difference, page_text)
    return re.sub(r'<div class="fragment">.*?</div><!-- fragment -->', fragment, page_text, flags=re.S)


def glossary():
    """{anchor: definition}, each in plain words."""
    text = (ROOT / "docs" / "pages" / "glossary.md").read_text(encoding="utf-8")
    found = {}
    for heading, told in re.findall(r"^### (.+)\n\n((?:.+\n)+)", text + "\n", re.M):
        words = re.sub(r"\[([^\]]+)\]\([^)]+\)|[*`]", lambda match: match[1] or "", " ".join(told.split()))
        found["glossary-" + re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")] = words
    return found


def defined(page_text, definitions):
    """A link to the glossary says on hovering what is written there."""
    def link(match):
        told = definitions.get(match["anchor"])
        return match[0] if told is None else f'<a class="term" title="{html.escape(told)}" href="glossary.html#{match["anchor"]}">'

    return re.sub(r'<a class="el" href="glossary\.html#(?P<anchor>[\w-]+)">', link, page_text)


# The words by which the steps' pages speak of what the glossary explains; for the others the heading is the word.
SPOKEN = {"shared-memory": "shared memory", "under-way": "under way", "atomic-operation": "atomics?|atomicAdd", "of-a-copy": "of a copy",
          "bank-conflict": "bank conflicts?", "issue-slot": "issue slots?", "half": "halves", "pack": "(?<!cannot )(?<!must )packs?(?!&lt;)",
          "register": "registers?(?! (?:it|the)\\b)"}
UNLINKED = ("a", "pre", "code", "svg", "script", "style", "summary", "button", "nav", "output", "label", "h1", "h2", "h3", "h4", "h5", "h6")
LINKED = ("warp", "sector", "request", "lane", "shared-memory", "under-way", "atomic-operation", "tile", "register", "block", "grid",
          "multiprocessor", "issue-slot", "bank-conflict", "bank", "l1", "l2", "of-a-copy", "half", "pack", "plane")


def explained(text, definitions):
    """A page whose first use of a glossary's word is a link to what is written there, if the page has no such link."""
    start, end = text.find('<div class="contents">'), text.find("<!-- contents -->")
    pieces = re.split(r"(<!--.*?-->|<[^>]+>)", text[start:end], flags=re.S)
    for name in LINKED:
        anchor = "glossary-" + ("warp" if name == "lane" else name)
        word = re.compile(rf"\b(?:{SPOKEN.get(name, name + 's?')})\b", re.I)
        if anchor not in definitions or (">lane" if name == "lane" else f"glossary.html#{anchor}") in "".join(pieces):
            continue
        closed, inside = 0, False
        for number, piece in enumerate(pieces):
            tag = re.match(r"<(/?)(\w+)", piece)
            if tag and tag[2] == "p":
                inside = not tag[1]
            if tag and tag[2] in UNLINKED:
                closed += -1 if tag[1] else 1
            elif not tag and inside and not closed and (found := word.search(piece)):
                link = f'<a class="term" title="{html.escape(definitions[anchor])}" href="glossary.html#{anchor}">{found[0]}</a>'
                pieces[number:number + 1] = [*re.split(r"(<[^>]+>)", piece[:found.start()] + link + piece[found.end():])]
                break
    return text[:start] + "".join(pieces) + text[end:]


def outlined(text, head=""):
    """The page with its parts and headings as a screen reader needs them: one <main>, which the keyboard scrolls, its title the
    only <h1>, `head` above it, the tree of pages a navigation."""
    text = text.replace('<div id="doc-content">', '<main id="doc-content" tabindex="0">').replace("</div><!-- doc-content -->", "</main><!-- doc-content -->")
    text = text.replace('<div id="side-nav" ', '<div id="side-nav" role="navigation" aria-label="all pages" ')
    text = re.sub(r'<div class="title">(.*?)</div>', lambda match: f'{head}<h1 class="title">{match[1]}</h1>', text, count=1, flags=re.S)
    text = text.replace("<h3>Table of Contents</h3>", '<p class="head">On this page</p>')
    start = text.find('<div class="contents">')
    if "<h1>" in text[start:]:  # Doxygen's sections begin with it again.
        text = text[:start] + re.sub(r"<(/?)h([1-5])>", lambda match: f"<{match[1]}h{int(match[2]) + 1}>", text[start:])
    return text


def plain(markup):
    markup = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", markup, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def searchable(name, text):
    """[(address, page, section, words)] of one HTML page: a section is what stands under a heading or a declaration."""
    found = re.search(r'<h1 class="title">(.*?)</h1>', text, re.S)
    title = plain(found[1]) if found else ""
    start, end = text.find('<div class="contents">'), text.find("<!-- contents -->")
    if start < 0 or not title:
        return []
    body = text[start:end]
    body = re.sub(r'<div class="toc">.*?</ul>\s*</div>', " ", body, flags=re.S)
    body = re.sub(r'<pre class="diff".*?</pre>', " ", body, flags=re.S)
    anchors = list(re.finditer(r'<a (?:class="anchor" )?id="([^"]+)"[^>]*></a>', body))
    anchors = [m for m in anchors if not re.fullmatch(r"l\d+|details", m.group(1))]
    pieces = [(name, "", body[:anchors[0].start()] if anchors else body)]
    for number, anchor in enumerate(anchors):
        last = anchors[number + 1].start() if number + 1 < len(anchors) else len(body)
        part = body[anchor.end():last]
        heading = re.match(r"\s*([^<]*)</h\d>", part)
        told = re.search(r'<h2 class="memtitle">(.*?)</h2>', part, re.S)
        label = plain(heading.group(1)) if heading else plain(told.group(1)).lstrip("\u25c6 ") if told else ""
        if label or len(plain(part)) > 40:
            pieces.append((f"{name}#{anchor.group(1)}", label, part))
    most = 300 if "_8" in name or name.startswith(("class", "struct")) else 4000
    return [[address, title, label, plain(part)[:most]] for address, label, part in pieces if plain(part)]


def internals(pages):
    """The names of the pages about the emulator's insides: of its files, and of the classes that these list. A reader who
    searches asks for the book, or for what a kernel may use."""
    found = {name for name, text in pages.items() if re.search(r'>common</a></li><li class="navelem"><a [^>]*>emulator</a>', text)}
    listed = {listed for name in found for listed in re.findall(r'(?:struct|class) &#160;</td><td [^>]*><a class="el" href="([^"]+)"', pages[name])}
    return found | listed | {name for name in pages if name.startswith("dir_") or "emulator_1_1" in name}


def finish():
    """Highlights CUDA, and writes what search.js looks in."""
    for path in (ROOT / "docs" / "results").rglob("*.svg"):
        shutil.copy(path, SITE / path.name)
    pages, definitions, heads = {}, glossary(), reading.heads()
    for path in sorted(SITE.glob("*.html")):
        if path.name.endswith("-members.html"):  # What the class's own page has, once more.
            path.unlink()
            continue
        text = outlined(defined(highlight(path.read_text(encoding="utf-8")), definitions), heads.get(path.stem, ""))
        if re.fullmatch(r"(memory|chapter\d(?!-evidence|-library)[\w-]*)\.html", path.name):
            text = explained(text, definitions)
        text = text.replace(LADDER, LADDER.replace('markdownTable"', 'markdownTable ladder"', 1))
        text = re.sub(r'(?: &#124;\s*)?<a href="[^"]*-members\.html">List of all members</a>', "", text)
        if 'name="nested-classes"' not in text:  # Doxygen links there also where all nested classes are private.
            text = re.sub(r'<a href="#nested-classes">Classes</a>(?: &#124;)?', "", text)
        path.write_text(text, encoding="utf-8")
        pages[path.name] = text
    index = [entry for name in sorted(set(pages) - internals(pages)) for entry in searchable(name, pages[name])]
    entries = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in index)
    write(SITE / "search_index.js", f"const bookIndex = [\n{entries}\n];\n")


def build():
    needed()
    prepare()
    run_doxygen()
    finish()
    slides.write(SITE / "slides")
    print(f"the book: {(SITE / 'index.html').relative_to(ROOT)}")
