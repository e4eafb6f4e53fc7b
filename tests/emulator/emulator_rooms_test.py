"""The emulator's rooms keep their order: what a file includes, and what its object file asks the linker for.

WARPBOOK_BUILD names the build directory, whose emulator must be built.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = ROOT / "common/emulator"
OBJECTS = Path(os.environ["WARPBOOK_BUILD"]) / "CMakeFiles/warpbook_emulator.dir/common/emulator"
LIBRARY = {
    "base": {"include"},
    "execution": {"include", "base"},
    "observation": {"include", "base", "execution"},
    "model": {"include", "base", "execution", "observation"},
    "runtime": {"include", "base", "execution"},
}
MAY_USE = {**LIBRARY, "include": set(), "driver": set(), "libraries": {"include"}, "pass": {"base"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def room_of(path):
    """The room of a file below common/emulator; the rest of the project is no room."""
    path = Path(os.path.normpath(path))
    return path.relative_to(EMULATOR).parts[0] if path.is_relative_to(EMULATOR) else f"{path}, outside of the emulator"


class Rooms(unittest.TestCase):
    def test_every_file_is_in_a_room(self):
        self.assertEqual({path.name for path in EMULATOR.iterdir()}, set(MAY_USE))

    def test_includes_go_down(self):
        seen = 0
        for room in MAY_USE:
            for path in sorted((EMULATOR / room).rglob("*.*")):
                if path.suffix not in (".hpp", ".cpp", ".h", ".cuh"):
                    continue
                for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    target = ROOT / name if (ROOT / name).is_file() else path.parent / name
                    self.assertTrue(target.is_file(), f"{path}: {name} is not there")
                    self.assertIn(room_of(target), MAY_USE[room] | {room}, f"{path} includes {name}")
                    seen += 1
        self.assertGreater(seen, 100)

    def test_calls_go_down(self):
        defined, asked = {}, []
        for room in LIBRARY:
            for path in sorted((OBJECTS / room).glob("*.o")):
                for line in subprocess.run(["nm", "-C", path], check=True, capture_output=True, text=True).stdout.splitlines():
                    kind, name = line[17], line[19:]
                    if kind in "TDBR":
                        defined[name] = room
                    elif kind == "U":
                        asked.append((room, path.name, name))
        self.assertEqual(set(defined.values()), set(LIBRARY))
        for room, file, name in asked:
            self.assertIn(defined.get(name, room), LIBRARY[room] | {room}, f"{room}/{file} calls {name}")


if __name__ == "__main__":
    unittest.main()
