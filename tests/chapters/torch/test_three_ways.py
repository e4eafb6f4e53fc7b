"""add2 built in the chapter's three ways, and bound by pybind11. Each is a program of its own, since a process can register an operator once."""

import os
import pathlib
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
ADD2 = ROOT / "chapters/chapter7_torch_op/add2"
NVCC = subprocess.run([ROOT / "scripts/find_nvcc.sh"], capture_output=True, text=True, check=False).stdout.strip()
ON_GPU = torch.cuda.is_available()
ALL = ON_GPU or bool(os.environ.get("WARPBOOK_NIGHTLY"))

# What is seen of the operator: on a GPU its results, everywhere its schema, its meta function, and what it refuses.
USE = """
import torch
assert "Tensor(a!) out" in str(torch.ops.add2.add2.default._schema).replace("a0!", "a!")
meta = [torch.empty(5, device="meta") for _ in range(3)]
assert torch.ops.add2.add2(*meta) is None
assert meta[0]._version == 1

def refused(part, *tensors):
    try:
        torch.ops.add2.add2(*tensors)
    except (RuntimeError, NotImplementedError) as problem:
        assert part in str(problem), problem
    else:
        raise AssertionError("not refused: " + part)

refused("b has the shape [4], and out [5]", *meta[:2], torch.empty(4, device="meta"))
refused("no gradient, and a tensor requires one", *meta[:2], meta[2].clone().requires_grad_())
refused("'CPU' backend", *(torch.empty(5) for _ in range(3)))
if torch.cuda.is_available():
    a, b = torch.rand(100003, device="cuda"), torch.rand(100003, device="cuda")
    out = torch.empty_like(a)
    torch.ops.add2.add2(out, a, b)
    assert torch.equal(out, a + b)
    torch.ops.add2.add2(*(torch.empty(0, device="cuda") for _ in range(3)))
    refused("a must be of type Float, and is Half", out, a.half(), b)
    refused("b is on cpu, and out on cuda:0", out, a, b.cpu())
    refused("a must be contiguous", out[:5], torch.rand(10, device="cuda")[::2], b[:5])
    torch.library.opcheck(torch.ops.add2.add2.default, (out, a, b))
    program = torch.compile(lambda out, a, b: (torch.ops.add2.add2(out, a, b), out * 2)[1], fullgraph=True)
    assert torch.equal(program(out, a, b), (a + b) * 2)
print("as it should be")
"""


def run(*command, folder, **environment):
    toolkit = pathlib.Path(NVCC).resolve().parents[1]
    inherited = os.environ | {"CUDA_HOME": str(toolkit), "PATH": f"{NVCC.rsplit('/', 1)[0]}:{os.environ['PATH']}"}
    if not ON_GPU:
        inherited["TORCH_CUDA_ARCH_LIST"] = "9.0"
    done = subprocess.run([*map(str, command)], cwd=folder, env=inherited | environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


pytestmark = pytest.mark.skipif(not NVCC, reason="add2 is for CUDA, and there is no nvcc here")
at_night = pytest.mark.skipif(not ALL, reason="on a GPU, or at night: one way, with the harder compiler, is built by day")


@pytest.fixture(params=[pytest.param("the compiler here", marks=at_night), "a compiler with its own C++ runtime"])
def compiler(request, tmp_path):
    """Variables that name the compiler. Some put their own C++ runtime into what they link, unasked; PyTorch has brought one,
    and where there are two a message with a number in it is cut short or ends in a crash."""
    if request.param == "the compiler here":
        return {}
    path = tmp_path / "g++"
    path.write_text('#!/bin/sh\nexec g++ -static-libstdc++ "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return {"CXX": str(path), "CUDAHOSTCXX": str(path)}


def use(library):
    """In a process of its own: loads what was built and looks at it."""
    load = f"import torch; torch.ops.load_library({str(library)!r})"
    assert "as it should be" in run(sys.executable, "-X", "faulthandler", "-B", "-c", load + USE, folder=ADD2)
    assert "libstdc++.so.6" in run("readelf", "-d", library, folder=ADD2)


# What is seen of the module that pybind11 makes.
USE_MODULE = """
import torch
assert "out = a + b" in module.add2.__doc__ and not hasattr(torch.ops.add2, "add2")

def refused(part, *tensors, call=module.add2):
    try:
        call(*tensors)
    except Exception as problem:
        assert part in str(problem), problem
    else:
        raise AssertionError("not refused: " + part)

cpu = [torch.empty(5) for _ in range(3)]
refused("out must be on a GPU, and is on cpu", *cpu)
refused("incompatible function arguments", 1, 2, 3)
try:
    torch.compile(lambda *tensors: module.add2(*tensors), fullgraph=True, backend="eager")(*cpu)
except torch._dynamo.exc.Unsupported:  # It can look inside the operator, and not inside this.
    pass
else:
    raise AssertionError("torch.compile has looked inside")
if torch.cuda.is_available():
    a, b = torch.rand(100003, device="cuda"), torch.rand(100003, device="cuda")
    out = torch.empty_like(a)
    module.add2(out, a, b)
    assert torch.equal(out, a + b) and out._version == 1
    refused("b is on cpu, and out on cuda:0", out, a, b.cpu())
    refused("no gradient, and a tensor requires one", out, a.requires_grad_(), b)
print("as it should be")
"""


@at_night
def test_pybind(tmp_path):
    program = f"import sys; sys.path.insert(0, {str(ADD2)!r}); import jit; module = jit.build_module({str(tmp_path)!r})"
    assert "as it should be" in run(sys.executable, "-B", "-c", program + USE_MODULE, folder=ADD2)


@at_night
def test_jit(tmp_path, compiler):
    program = f"import sys; sys.path.insert(0, {str(ADD2)!r}); import jit; jit.build({str(tmp_path)!r})"
    run(sys.executable, "-B", "-c", program, folder=ADD2, **compiler)
    use(tmp_path / "add2_jit.so")


@at_night
def test_setuptools(tmp_path, compiler):
    run(sys.executable, "-B", ADD2 / "setup.py", "-q", "build_ext", "--build-lib", tmp_path / "lib", "--build-temp",
        tmp_path / "temp", folder=ADD2, **compiler)
    use(tmp_path / "lib/add2_op.so")


def test_cmake(tmp_path, compiler):
    architecture = "native" if ON_GPU else "90"
    run("cmake", "-S", ADD2, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_CUDA_ARCHITECTURES={architecture}",
        f"-DPython3_EXECUTABLE={sys.executable}", folder=ADD2, **compiler)
    run("cmake", "--build", tmp_path / "build", folder=ADD2)
    use(tmp_path / "build/libadd2_op.so")
