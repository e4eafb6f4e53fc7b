"""Pictures of what a step does to memory, as `run_all --access-map` drew them: docs/results/<device>/maps/."""

import collections
import re

from records import EMULATED, RESULTS

Picture = collections.namedtuple("Picture", "drawing caption")


def pictures(chapter, step):
    """The recorded pictures of a step, in order of their names. A picture's caption is its <desc>, or its <title>."""
    found = []
    for path in sorted((RESULTS / EMULATED / "maps").glob(f"chapter{chapter.number}_{step.version}_*.svg")):
        drawing = path.read_text(encoding="utf-8")
        drawing = re.sub(r"<\?xml[^>]*\?>\s*", "", drawing)
        caption = re.search(r"<desc>(.*?)</desc>", drawing, re.S) or re.search(r"<title>(.*?)</title>", drawing, re.S)
        found.append(Picture(drawing, caption.group(1) if caption else f"What {step.title} touches."))
    return found
