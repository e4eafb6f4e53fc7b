"""Which page of the book a file of the tree becomes."""

import functools

from chapters import chapters
from records import RESULTS, ROOT


def result_texts():
    """The texts that scripts write into docs/results/ beside the records: pages of the book, too."""
    return sorted(RESULTS.glob("*.md")) + sorted(RESULTS.glob("*/*.md"))


def general():
    """{name: file} of the pages that belong to no chapter."""
    found = {path.stem: path for path in sorted((ROOT / "docs" / "pages").glob("*.md"))}
    found |= {f"result_{path.stem}": path for path in result_texts()}
    return found | {"making": ROOT / "common" / "exercises" / "README.md"}


def of_chapter(chapter):
    """{name: file} of a chapter's pages, its own first."""
    page = f"chapter{chapter.number}"
    found = {page: chapter.readme} | {f"{page}-{version}": path for version, path in chapter.pages.items()}
    beside = {f"{page}-evidence": chapter.folder / "evidence.md", f"{page}-library": chapter.folder / "library" / "README.md"}
    return found | {name: path for name, path in beside.items() if path.exists()}


@functools.lru_cache(maxsize=None)
def pages():
    """{file: what a link to it names}. A step's source stands at the end of its page."""
    found = {path: name for name, path in general().items()} | {ROOT / "README.md": "index"}
    for chapter in chapters():
        found |= {path: name for name, path in of_chapter(chapter).items()}
        found |= {chapter.kernel(version).path: f"chapter{chapter.number}-{version}-file" for version in chapter.pages}
    return found
