"""The project's version, as CMakeLists.txt has it."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


def project_version():
    """\\returns "1.2.3"."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(warpbook VERSION (\d+\.\d+\.\d+) ", text, re.MULTILINE).group(1)
