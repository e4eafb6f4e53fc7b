"""Warpbook's kernels as PyTorch operators: torch.ops.warpbook_ops.*, and the same by name here.

    import warpbook_ops
    c = warpbook_ops.upsample_nearest2d(x, (160, 160))     # x on CUDA: the CUDA kernel; on the CPU: the same, emulated

`make chapter7` builds what is loaded here: the operators (build/torch_op/), and the kernels for CUDA (build/gpu/) and
for CPU tensors (build/emulator/), whichever of them the machine can make.
"""

import importlib.machinery
import importlib.util
import os
import pathlib

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
OPS = pathlib.Path(os.environ.get("WARPBOOK_OPS") or ROOT / "build/torch_op/libwarpbook_ops.so")
KERNELS = {
    "cuda": pathlib.Path(os.environ.get("WARPBOOK_OPS_CUDA") or ROOT / "build/gpu/lib/libwarpbook_ops_kernels.so"),
    "cpu": pathlib.Path(os.environ.get("WARPBOOK_OPS_CPU") or ROOT / "build/emulator/lib/libwarpbook_ops_kernels.so"),
}

if not OPS.is_file():
    raise ImportError(f"{OPS} is not there: make chapter7")
torch.ops.load_library(OPS)
_ops = torch.ops.warpbook_ops
DEVICES = []  # Of tensors that the operators take here: "cuda", "cpu".
for _device, _path in KERNELS.items():
    if _path.is_file() and (_device == "cpu" or torch.cuda.is_available()):
        _ops.load_kernels(_device, str(_path))
        DEVICES.append(_device)

# Operators that change an argument and return nothing need no word of what they return.
for _name in ("add2", "write_into_", "scatter_add_", "index_add_"):
    torch.library.register_fake(f"warpbook_ops::{_name}", lambda *args, **kwargs: None)


@torch.library.register_fake("warpbook_ops::mul")
def _(a, b):
    mixed = a.dtype == torch.half and b.dtype == torch.float
    return torch.empty_like(b if mixed else a)


@torch.library.register_fake("warpbook_ops::mul_add")
def _(a, b, c):
    return torch.empty_like(a)


@torch.library.register_fake("warpbook_ops::scale")
def _(x, factor):
    return torch.empty_like(x)


@torch.library.register_fake("warpbook_ops::make_contiguous")
def _(x):
    return x.new_empty(x.shape)


@torch.library.register_fake("warpbook_ops::permute")
def _(x, dims):
    return x.new_empty([x.shape[d] for d in dims])


@torch.library.register_fake("warpbook_ops::inner_product")
def _(a, b):
    return a.new_empty(())


def _layout(x):
    return torch.contiguous_format if x.is_contiguous() else torch.channels_last


@torch.library.register_fake("warpbook_ops::upsample_nearest2d")
def _(x, output_size, scale_h=None, scale_w=None):
    return torch.empty((*x.shape[:2], *output_size), dtype=x.dtype, device=x.device, memory_format=_layout(x))


@torch.library.register_fake("warpbook_ops::upsample_nearest2d_backward")
def _(grad, output_size, input_size, scale_h=None, scale_w=None):
    return torch.empty(input_size, dtype=grad.dtype, device=grad.device, memory_format=_layout(grad))


# The gradient of upsample_nearest2d is upsample_nearest2d_backward; and, both being linear, the other way round.
def _remember(ctx, inputs, output):
    x, output_size, scale_h, scale_w = inputs
    ctx.arguments = (output_size, x.shape, scale_h, scale_w)


def _backward(ctx, grad):
    layout = torch.contiguous_format
    if not grad.is_contiguous() and grad.is_contiguous(memory_format=torch.channels_last):
        layout = torch.channels_last
    return _ops.upsample_nearest2d_backward(grad.contiguous(memory_format=layout), *ctx.arguments), None, None, None


def _remember_backward(ctx, inputs, output):
    _, output_size, _, scale_h, scale_w = inputs
    ctx.arguments = (output_size, scale_h, scale_w)


def _double_backward(ctx, grad):
    return _ops.upsample_nearest2d(grad.contiguous(), *ctx.arguments), None, None, None, None


torch.library.register_autograd("warpbook_ops::upsample_nearest2d", _backward, setup_context=_remember)
torch.library.register_autograd(
    "warpbook_ops::upsample_nearest2d_backward", _double_backward, setup_context=_remember_backward
)


def _short_way():
    """The module that python.cpp makes, if it was built for this Python."""
    path = OPS.with_name("warpbook_ops_python" + importlib.machinery.EXTENSION_SUFFIXES[0])
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("warpbook_ops_python", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.set_general_way(_ops.add2)
    return module


def _add2_for_compilers_too(short, is_compiling=torch.compiler.is_compiling):
    def add2(out, a, b):
        """out = a + b."""
        # torch.compile can't look into a function of C, and needn't: it knows the operator.
        return _ops.add2(out, a, b) if is_compiling() else short(out, a, b)

    return add2


_python = _short_way()
add2 = _add2_for_compilers_too(_python.add2) if _python else _ops.add2
mul = _ops.mul
mul_add = _ops.mul_add
scale = _ops.scale
make_contiguous = _ops.make_contiguous
write_into_ = _ops.write_into_
permute = _ops.permute
scatter_add_ = _ops.scatter_add_
index_add_ = _ops.index_add_
inner_product = _ops.inner_product
upsample_nearest2d = _ops.upsample_nearest2d
upsample_nearest2d_backward = _ops.upsample_nearest2d_backward
