"""The README's chart, docs/ladder.svg: chapter 3's ladder on its first case. A file of its own has its own style, for light and dark."""

import re

import charts
from chapters import chapters
from records import MEASURED, ROOT

PATH = ROOT / "docs" / "ladder.svg"
MARGIN = 12
STYLE = f"""<style>
  text {{ font: 13px system-ui, sans-serif; fill: #1f2328; }}
  .title {{ font-size: 14px; font-weight: 600; }}
  .muted {{ fill: #59636e; }}
  .bar {{ fill: #0969da; }}
  .limit {{ stroke: #b3441e; stroke-width: 1.5; stroke-dasharray: 5 4; }}
  .background {{ fill: #ffffff; }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #f0f6fc; }}
    .muted {{ fill: #9198a1; }}
    .bar {{ fill: #4493f8; }}
    .limit {{ stroke: #f0906a; }}
    .background {{ fill: #0d1117; }}
  }}
</style>
<rect class="background" x="-{MARGIN}" y="-{MARGIN}" width="100%" height="100%"/>
"""


def drawn():
    chapter = next(chapter for chapter in chapters() if chapter.number == 3)
    _, case = chapter.main_cases(chapter.times(MEASURED))[0]
    steps = [step for step in chapter.steps if not chapter.renamed(step.version)]
    drawing = charts.ladder_of(case, steps, f"{chapter.title}: {case['name']}", False)
    width, height = (int(size) for size in re.search(r'viewBox="0 0 (\d+) (\d+)"', drawing).groups())
    framed = re.sub(r'viewBox="[^"]*" width="\d+" height="\d+"',
                    f'viewBox="-{MARGIN} -{MARGIN} {width + 2 * MARGIN} {height + 2 * MARGIN}" width="{width + 2 * MARGIN}" height="{height + 2 * MARGIN}"', drawing)
    return framed.replace("</desc>", "</desc>" + STYLE, 1).replace("><", ">\n<") + "\n"


def faults():
    if PATH.exists() and PATH.read_text(encoding="utf-8") == drawn():
        return []
    return [f"{PATH.relative_to(ROOT)} differs from the record: run `python3 docs/book update`"]
