"""A chapter that has a page for each step: its story, the steps' pages, its evidence and its library."""

import html

import addresses
import charts
import page
import texts
from markdown import fence_indented, name_headings, near_pictures, raw, sections
from reading import navigation
from records import MEASURED


def finished(name, parts):
    return name_headings(near_pictures(fence_indented("\n\n".join(parts))), name)


def ladder_chart(chapter):
    """The ladder on the chapter's first case."""
    if not chapter.by_harness:
        return page.clock_charts(chapter)
    record = chapter.times(MEASURED)
    if not record:
        return ""
    _, case = chapter.main_cases(record)[0]
    steps = [step for step in chapter.steps if not chapter.renamed(step.version)]
    return raw(charts.figure(charts.ladder(case, steps, f"{chapter.title}: {case['name']}"),
                             "Each step's share of the speed of a plain copy that moves the same bytes, which is the dashed line. "
                             f"{html.escape(record.origin())}."))


def everything(chapter):
    """All that was recorded of the ladder, behind the evidence."""
    record = chapter.times(MEASURED)
    cases = raw(page.every_case(chapter, record)) if record else ""
    return ["## All steps\n" + raw(page.full_table(chapter, record)) + cases] + page.modelled_beside_measured(record, chapter.modelled())


def story(chapter):
    """The chapter's own page."""
    name = f"chapter{chapter.number}"
    parts = []
    for heading, title, level, body in sections(texts.published(chapter.readme)):
        if level == 1:
            heading += "\n\n\\tableofcontents{HTML:2}\n\n"
        parts.append(f"{heading}\n{ladder_chart(chapter) if title == 'The ladder' else ''}\n{body}")
    parts.append("## Exercises\n" + page.exercises(chapter))
    parts.append(navigation(name, chapter))
    return finished(name, parts)


def step_page(chapter, version):
    """A step's page, and behind it what the tree and the records have of the step."""
    name, step, record = f"chapter{chapter.number}-{version}", chapter.kernel(version), chapter.times(MEASURED)
    parts = [texts.published(chapter.pages[version]), raw(page.pictures_block(chapter, step))]
    if record and not chapter.renamed(version):
        parts.append(raw('<details class="every"><summary>On every headline case</summary>'
                         + page.measured_block(chapter, step, record, chapter.modelled()) + "</details>"))
        parts.append(raw(page.counters_block(chapter, step) + page.machine_code(chapter, step)))
    parts.append(f"\\anchor {name}-file\n" + raw(f'<details class="code"><summary>The whole file: <code>{step.file}</code></summary>')
                 + f"\n\\includelineno {step.file}\n" + raw("</details>"))
    return finished(name, parts + [navigation(name, chapter)])


def compose(chapter):
    """{name: Markdown} of all the chapter's pages."""
    own = f"chapter{chapter.number}"
    made = {own: story(chapter)} | {f"{own}-{version}": step_page(chapter, version) for version in chapter.pages}
    for name, path in addresses.of_chapter(chapter).items():
        if name not in made:
            parts = [texts.published(path)]
            if name.endswith("-evidence"):
                parts += everything(chapter)
            made[name] = finished(name, parts + [navigation(name, chapter)])
    return made
