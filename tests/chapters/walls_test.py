"""The walls between kernels: what a step, an aside and a library kernel include, and what common/ knows of the chapters."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
STEP = re.compile(r'C::(?:step|preparing)\(\s*(?:"[^"]*",\s*)?"(v\d+[a-z]?)",\s*"(\w+)",\s*"(\w*)"')
CHAPTERS = [folder for folder in sorted((ROOT / "chapters").iterdir()) if (folder / "v1_naive.cuh").exists() or list(folder.glob("v1_*.cuh"))]
SOURCES = (".hpp", ".cuh", ".cu", ".cpp", ".h")


def includes(path):
    return [name for name in INCLUDE.findall(path.read_text(encoding="utf-8"))]


def crossed(name, path, base="", dispatch=False):
    """Why a kernel of a chapter may not include `name`; None where it may. `base` is the file of a step's base."""
    folder = next(f for f in CHAPTERS if path.is_relative_to(f))
    if name.startswith("common/cuda/"):
        return None
    target = ROOT / name
    if not target.is_file():
        return "it is not there, or not named from the repository's root"
    if not target.is_relative_to(folder):
        taken_away = target.parent in CHAPTERS and target.name == target.parent.name.split("_", 1)[1].replace("strided", "strided_copy") + ".cuh"
        return None if taken_away else "it is no take-away header of another chapter, and not in common/cuda"
    kind = target.parent.name if target.parent != folder else ("step" if re.match(r"v\d", target.name) else "problem")
    if kind == "problem":
        below = [n for n in includes(target) if re.search(r"/(v\d\w*\.cuh|library/|asides/)", n)]
        return f"it is no header of the problem: it includes {below[0]}" if below else None
    if path.parent == folder and not dispatch:
        return None if kind == "step" and target.name == base else f"a step includes its base alone, which is {base or 'none'}"
    return "nothing includes an aside" if kind == "asides" and path.parent.name != "asides" else None


class Walls(unittest.TestCase):
    def test_a_step_includes_its_problem_and_its_base(self):
        seen = 0
        for folder in CHAPTERS:
            declared = STEP.findall((folder / "chapter.cu").read_text(encoding="utf-8"))
            files = {version: f"{version}_{idea}.cuh" for version, idea, _ in declared}
            self.assertEqual(set(files.values()), {f.name for f in folder.glob("v*.cuh")}, f"the ladder of {folder.name}")
            for version, _, base in declared:
                path = folder / files[version]
                for name in includes(path):
                    why = crossed(name, path, files.get(base, ""), dispatch=version == declared[-1][0])
                    self.assertIsNone(why, f"{path.relative_to(ROOT)} includes {name}: {why}")
                    seen += 1
        self.assertGreater(seen, 80)

    def test_other_kernels_stay_in_their_chapter(self):
        for folder in CHAPTERS:
            for path in [*folder.glob("library/*.[ch]*"), *folder.glob("asides/*.cuh")]:
                for name in includes(path):
                    why = crossed(name, path)
                    self.assertIsNone(why, f"{path.relative_to(ROOT)} includes {name}: {why}")

    def test_common_knows_no_chapter(self):
        for room, unknown in (("cuda", ("chapters/", "common/harness/", "common/emulator/", "common/exercises/")),
                              ("harness", ("chapters/", "common/emulator/", "common/exercises/")),
                              ("emulator", ("chapters/", "common/harness/", "common/cuda/", "common/exercises/"))):  # fmt: skip
            for path in (p for p in sorted((ROOT / "common" / room).rglob("*")) if p.suffix in SOURCES):
                for name in includes(path):
                    self.assertFalse(name.startswith(unknown), f"{path.relative_to(ROOT)} includes {name}")

    def test_the_walls_are_seen(self):
        chapter3 = ROOT / "chapters/chapter3_permute"
        step, kernel = chapter3 / "v4b_padded_tile.cuh", chapter3 / "library/gather.cuh"
        for why, args in {
            "its base alone": ("chapters/chapter3_permute/v3_movement_size.cuh", step, "v4a_shared_tile.cuh"),
            "base alone, which is v4a": ("chapters/chapter3_permute/library/gather.cuh", step, "v4a_shared_tile.cuh"),
            "no take-away": ("chapters/chapter2_strided/v1_naive.cuh", kernel),
            "not there": ("permute.hpp", step),
            "an aside": ("chapters/chapter3_permute/asides/tma.cuh", kernel),
        }.items():
            self.assertIn(why, crossed(*args) or "")


if __name__ == "__main__":
    unittest.main()
