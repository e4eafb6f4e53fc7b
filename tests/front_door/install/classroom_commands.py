#!/usr/bin/env python3
"""The commands that a handout's files for GitHub run, each on a line: classroom_commands.py HANDOUT."""

import json
import pathlib
import re
import sys


def commands(tree):
    """Those of the devcontainer, then those of the workflow, in order."""
    container = json.loads((tree / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    workflow = (tree / ".github" / "workflows" / "classroom.yml").read_text(encoding="utf-8")
    return [text for key, text in container.items() if key.endswith("Command")] + re.findall(r"^ +(?:- )?(?:run|\w*command): (.*)$", workflow, re.MULTILINE)


if __name__ == "__main__":
    print("\n".join(commands(pathlib.Path(sys.argv[1]))))
