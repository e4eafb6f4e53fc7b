"""Slides of each chapter, from the pages' texts, figures and records: one HTML file that needs nothing else. `make slides`."""

import html
import re

import blocks
import ladder_pages
import reading
from chapters import chapters
from markdown import ANSWER, sections
from records import MEASURED, ROOT, load, origin
from sentences import MARKER

THEME = ROOT / "docs" / "theme"
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>{title}: slides</title>
<style>
{style}
</style>
</head>
<body>
<main>
{slides}
</main>
<script>
{script}
</script>
</body>
</html>
"""


def inline(text):
    """A line of Markdown as HTML: code, bold, italics; of a link its words."""
    kept = []

    def keep(match):
        kept.append(f"<code>{html.escape(match[1])}</code>")
        return f"\0{len(kept) - 1}\0"

    text = html.escape(re.sub(r"`([^`]+)`", keep, text), quote=False)
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<!\w)\*(.+?)\*(?!\w)", r"<i>\1</i>", text)
    return re.sub(r"\0(\d+)\0", lambda match: kept[int(match[1])], text)


def table(lines):
    rows = [[inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f'<th scope="col">{cell}</th>' for cell in rows[0])
    return f"<table><thead><tr>{head}</tr></thead><tbody>" + "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[2:]) + "</tbody></table>"


def block(lines):
    """A paragraph, a list, a table or code of a page, as HTML."""
    text = "\n".join(lines)
    if lines[0].startswith("    "):
        return f"<pre>{html.escape(re.sub('^ {4}', '', text, flags=re.M))}</pre>"
    if lines[0].startswith("|"):
        return table(lines)
    item = re.match(r"(-|\d+\.) ", text)
    if item:
        kind = "ul" if item[1] == "-" else "ol"
        items = re.split(r"^(?:-|\d+\.) ", text, flags=re.M)[1:]
        return f"<{kind}>" + "".join(f"<li>{inline(' '.join(part.split()))}</li>" for part in items) + f"</{kind}>"
    return f"<p>{inline(' '.join(text.split()))}</p>"


def prose(text):
    """A part of a page as HTML; figures and answers are left out, they have places of their own."""
    text = MARKER.sub(lambda match: "" if match["kind"] == "figure" else match["body"] or "", ANSWER.sub("", text))
    return "\n".join(block(part.split("\n")) for part in re.split(r"\n[ \t]*\n", text.strip("\n")) if part.strip())


def first_figure(path, text):
    """The page's first figure with its caption; empty where it has none."""
    match = next((match for match in MARKER.finditer(text) if match["kind"] == "figure"), None)
    if not match:
        return ""
    return f"<figure>{blocks.drawing(path, match['what'])}<figcaption>{inline(' '.join(match['body'].split()))}</figcaption></figure>"


def text_slide(title, text):
    """A part of the chapter's page; a short one in larger letters."""
    return slide(title, prose(text), "text" if len(text) > 700 else "text short")


def slide(title, body, kind=""):
    return f'<section class="{kind}"><h2>{inline(title)}</h2>\n<div class="body">{body}</div></section>'


def gain(step, text):
    """What the step's page measured: the gain over its base in large figures, and times and share; else the page's first table."""
    match = next((match for match in MARKER.finditer(text) if match["kind"] in ("measure", "table")), None)
    if not match:
        return ""
    rows = {row[0]: row[1:] for row in ([cell.strip() for cell in line.strip().strip("|").split("|")] for line in match["body"].splitlines())}
    if match["kind"] != "measure" or "time" not in rows:
        return block(match["body"].strip().split("\n"))
    shares, case = rows["of a copy"], re.search(r"\*\*Measure\*\*\s*\((.+?)\)\.", text)
    if len(rows["time"]) < 3:
        large, small = shares[0], f"of a copy's speed, {rows['time'][0]}"
    else:
        (before, after, times), base = rows["time"], rows[""][0]
        large, small = times, f"over {base}: {before} before, {after} now, {shares[1]} of a copy"
    told = [inline(" ".join(case[1].split()))] if case else []
    told += [html.escape(f"It prepares {step.prepares.split(':')[0]}.")] if step.prepares else []
    return (f'<p class="gain"><b>{html.escape(large)}</b> {html.escape(small)}</p><p class="case">'
            f"{'. '.join(told)}</p>")


def step_slide(chapter, version):
    """The idea in a sentence, the page's figure (else its problem), and what was gained."""
    path = chapter.pages[version]
    text, step, title = path.read_text(encoding="utf-8"), chapter.kernel(version), reading.title_of(path)
    idea = step.summary().rstrip(".")
    told = "" if title.lower().endswith(idea.lower()) else f'<p class="idea">{inline(idea[:1].upper() + idea[1:])}.</p>'
    problem = re.search(r"^\*\*Problem\.\*\*.*?(?=\n[ \t]*\n)", text, re.M | re.S)
    figure = first_figure(path, text) or f'<div class="problem">{prose(problem.group()) if problem else ""}</div>'
    return slide(title, told + figure + gain(step, text))


def recorded(chapter):
    """The record that the figures are from."""
    record = load(f"{MEASURED}/chapter{chapter.number}")
    return html.escape(origin(record, f"{MEASURED}/chapter{chapter.number}.json")) if record else ""


def finished(title, made):
    """The file of these slides, with the style of the book's drawings."""
    drawn = re.findall(r"^svg\.chart .*$", (THEME / "book.css").read_text(encoding="utf-8"), re.M)
    style = "\n".join([(THEME / "slides.css").read_text(encoding="utf-8"), *drawn])
    return PAGE.format(title=html.escape(title), style=style, slides="\n".join(made),
                       script="\n".join((THEME / name).read_text(encoding="utf-8") for name in ("explore.js", "slides.js")))


def memory():
    """Chapter 0's slides: of each section the first figure and the question."""
    path = ROOT / "docs" / "pages" / "memory.md"
    (_, title, _, opening), *rest = sections(path.read_text(encoding="utf-8"))[1:]
    first = re.split(r"\n[ \t]*\n", opening.strip())[0]
    made = [f'<section class="title"><h1>{inline(title)}</h1>{prose(first)}</section>']
    for _, heading, _, body in rest:
        question = re.search(r"^\*\*Question\.\*\*.*?(?=\n▸)", body, re.M | re.S)
        sample = re.search(r"(?:^    .*\n)+", body, re.M)
        shown = first_figure(path, body) or (block(sample.group().rstrip("\n").split("\n")) if sample else "")
        made.append(slide(heading, shown + (prose(question.group()) if question else "")))
    return finished(title, made)


def compose(chapter):
    """A chapter's slides as one HTML file."""
    text = chapter.readme.read_text(encoding="utf-8")
    parts = {title: body for _, title, level, body in sections(text) if level}
    opening = next(body for _, _, level, body in sections(text) if level == 1)
    bound, learned = parts["How fast can it be?"], parts["What we learned"]
    first = re.split(r"\n[ \t]*\n", opening.strip())[0]
    lessons, _, questions = learned.partition("**Questions.**")
    command = f"make deps chapter{chapter.number} && ./chapter{chapter.number}/run_all"
    made = [f'<section class="title"><h1>{inline(chapter.title)}</h1><p>{inline(chapter.book.get("about", ""))}</p><pre>{html.escape(command)}</pre>'
            f'<p class="case">{recorded(chapter)}</p></section>',
            slide("The operation", block(first.split("\n")) + first_figure(chapter.readme, opening)),
            text_slide("How fast can it be?", bound)]
    made += [step_slide(chapter, step.version) for step in chapter.steps if step.version in chapter.pages]
    ladder = re.sub(r'<svg class="chart narrow".*?</svg>|\\htmlonly\[block\]|\\endhtmlonly', "", ladder_pages.ladder_chart(chapter), flags=re.S)
    made += [slide("The ladder", ladder),
             text_slide("What we learned", lessons), text_slide("Questions", ANSWER.sub("", questions))]
    return finished(chapter.title, made)


def write(folder):
    """Writes chapter0.html and chapterN.html of every chapter; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {0: memory()} | {chapter.number: compose(chapter) for chapter in chapters()}
    for number, text in made.items():
        (folder / f"chapter{number}.html").write_text(text, encoding="utf-8")
    return [folder / f"chapter{number}.html" for number in made]
