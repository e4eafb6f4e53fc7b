"""What is made for a page between a line `<!-- KIND ... -->` and a line `<!-- end -->`."""

import tables
from records import ROOT, Problem
from sentences import MARKER


def body(path, kind, what):
    """A block's lines, as the page's source has them."""
    try:
        if kind == "table":
            return tables.table(path, what)
        raise Problem(f"there is no block of the kind {kind}")
    except (Problem, KeyError, ValueError, IndexError) as error:
        raise Problem(f"{path.relative_to(ROOT)}: <!-- {kind} {what} -->: {error}") from None


def renewed(path, text):
    """The text with its blocks made anew; a marker without an `end` gets one."""
    return MARKER.sub(lambda m: f"<!-- {m['kind']} {m['what']} -->\n{body(path, m['kind'], m['what'])}<!-- end -->\n", text)


def published(path, text):
    """The text with its blocks as the book shows them."""
    return MARKER.sub(lambda m: m["body"], text)
