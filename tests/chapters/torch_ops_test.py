#!/usr/bin/env python3
"""Runs the operators' tests, tests/chapters/torch/, by pytest with the Python that has PyTorch; skipped where there is none."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77

found = subprocess.run([ROOT / "scripts/find_torch.sh"], capture_output=True, text=True, check=False)
if found.returncode != 0:
    print("skipped: PyTorch is not here (make deps-torch)")
    sys.exit(SKIPPED)
python = found.stdout.strip()
if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode != 0:
    print(f"skipped: {python} has PyTorch, and no pytest (make deps-torch)")
    sys.exit(SKIPPED)
sys.exit(subprocess.run([python, "-B", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", ROOT / "tests/chapters/torch"],
                        check=False).returncode)
