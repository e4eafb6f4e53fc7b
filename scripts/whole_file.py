"""Result files: read with one clear line where they are cut short, written as a whole or not at all."""

import json
import os
import pathlib
import sys


def read_json(path):
    """What the file holds; ends the program with status 2 and one line where it holds no whole JSON."""
    name = pathlib.Path(sys.argv[0]).stem
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except ValueError as error:  # No JSON, or no UTF-8.
        problem = f"is cut short, or no JSON ({error})"
    print(f"{name}: {path} {problem}", file=sys.stderr)
    sys.exit(2)


def write(path, text):
    """Writes beside, then renames; ends the program with status 4 and one line where that fails."""
    path = pathlib.Path(path)
    if path.exists() and not path.is_file():  # A terminal, a pipe.
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        print(f"{pathlib.Path(sys.argv[0]).stem}: cannot write {path}: {error.strerror}", file=sys.stderr)
        sys.exit(4)
