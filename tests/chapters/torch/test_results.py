"""Each operator against PyTorch's own, on random problems."""

import math

import pytest
import torch
import warpbook_ops as ops
from conftest import CASES

NUMBERS = [torch.float, torch.half, torch.bfloat16]
MOVED = [torch.uint8, torch.half, torch.float, torch.double, torch.complex128, torch.bool]
BACKWARD = torch.ops.aten.upsample_nearest2d_backward


def random_shape(draw, dims, most):
    """Sizes of about `most` elements in all, sometimes none."""
    shape = [draw.choice([1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 100]) for _ in range(dims)]
    while math.prod(shape) > most:
        shape[draw.randrange(dims)] = draw.choice([1, 2, 3])
    if dims and draw.random() < 0.02:
        shape[draw.randrange(dims)] = 0
    return shape


def numbers(shape, dtype, device):
    return torch.randn(shape, device=device).to(dtype)


def whole(shape, dtype, device, most=8):
    """Whole numbers, whose sums and products are exact however they are added up."""
    return torch.randint(-most, most + 1, shape, device=device).to(dtype)


def anything(shape, dtype, device):
    return torch.randint(0, 2, shape, device=device).to(dtype) if dtype == torch.bool else (
        torch.randn(shape, device=device) * 50).abs().to(dtype)


def displaced(draw, tensor):
    """The same values in a contiguous tensor that may begin anywhere an element may."""
    elements = draw.choice([0, 0, 1, 2, 3])
    room = torch.empty(tensor.numel() + elements, dtype=tensor.dtype, device=tensor.device)
    return room[elements:].view(tensor.shape).copy_(tensor)


def random_view(draw, shape, make):
    """A view of that shape into a larger tensor: dimensions in another order, steps, an offset. No element twice."""
    order = draw.sample(range(len(shape)), len(shape))
    steps = [draw.choice([1, 1, 1, 2, 3]) for _ in shape]
    offsets = [draw.choice([0, 0, 1, 2]) for _ in shape]
    room = make([shape[d] * steps[d] + offsets[d] for d in order])
    view = room.permute([order.index(d) for d in range(len(shape))])
    for d, (step, offset) in enumerate(zip(steps, offsets)):
        view = view.narrow(d, offset, shape[d] * step)[(slice(None),) * d + (slice(None, None, step),)]
    return view


def same(ours, expected, case):
    assert ours.dtype == expected.dtype and ours.shape == expected.shape, case
    assert torch.equal(ours, expected), f"{case}: {int((ours != expected).sum())} of {expected.numel()} differ"


@pytest.mark.parametrize("name", ["add2", "mul", "mul_add", "scale"])
def test_elementwise(name, device, draw):
    for number in range(CASES):
        dtype = draw.choice(NUMBERS)
        shape = random_shape(draw, draw.randint(0, 4), 20000)
        case = f"case {number}: {name} {shape} {dtype}"
        if name == "add2":
            a, b = (displaced(draw, numbers(shape, dtype, device)) for _ in range(2))
            out = displaced(draw, torch.full_like(a, 7))
            ops.add2(out, a, b)
            same(out, a + b, case)
            expected = a + b
            ops.add2(a, a, b)  # In place.
            same(a, expected, case)
        elif name == "mul":
            mixed = draw.random() < 0.2
            a = displaced(draw, numbers(shape, torch.half if mixed else dtype, device))
            b = displaced(draw, numbers(shape, torch.float if mixed else dtype, device))
            same(ops.mul(a, b), a * b, case)
        elif name == "mul_add":
            a, b, c = (displaced(draw, whole(shape, dtype, device)) for _ in range(3))
            same(ops.mul_add(a, b, c), a * b + c, case)
        else:
            x = displaced(draw, numbers(shape, dtype, device))
            factor = torch.randn(1, device=device)
            same(ops.scale(x, factor), (x.float() * factor.squeeze()).to(dtype), case)


def test_make_contiguous(device, draw):
    for number in range(CASES):
        dtype = draw.choice(MOVED)
        shape = random_shape(draw, draw.randint(0, 6), 5000)
        x = random_view(draw, shape, lambda size: anything(size, dtype, device))
        if draw.random() < 0.2:
            x = x.unsqueeze(draw.randint(0, x.dim()))
            x = x.expand([4 if d == 1 and draw.random() < 0.5 else d for d in x.shape])
        ours = ops.make_contiguous(x)
        assert ours.is_contiguous()
        same(ours, x, f"case {number}: {list(x.shape)} {x.stride()} {dtype}")


def test_write_into(device, draw):
    for number in range(CASES):
        dtype = draw.choice(MOVED)
        shape = random_shape(draw, draw.randint(1, 5), 5000)
        rooms = []

        def make(size):
            rooms.append(anything(size, dtype, device))
            return rooms[-1]

        view = random_view(draw, shape, make)
        src = displaced(draw, anything(shape, dtype, device))
        expected = rooms[0].clone()
        expected.as_strided(view.shape, view.stride(), view.storage_offset()).copy_(src)
        ops.write_into_(view, src)
        same(rooms[0], expected, f"case {number}: {list(view.shape)} {view.stride()} {dtype}")


def test_permute(device, draw):
    for number in range(CASES):
        dtype = draw.choice(MOVED)
        shape = random_shape(draw, draw.randint(0, 8), 20000)
        dims = draw.sample(range(len(shape)), len(shape))
        dims = [d - len(shape) if draw.random() < 0.2 else d for d in dims]
        x = displaced(draw, anything(shape, dtype, device))
        ours = ops.permute(x, dims)
        assert ours.is_contiguous()
        same(ours, x.permute(dims), f"case {number}: {shape} {dims} {dtype}")


def test_scatter_add(device, draw):
    for number in range(CASES):
        dtype = draw.choice(NUMBERS)
        count = draw.choice([0, 1, 2, 31, 33, 100, 1000, 5000])
        places = draw.choice([1, 2, 3, 10, 100, 1000])
        most = max(1, 250 * min(places, count) // max(count, 1) // 4) if dtype != torch.float else 8
        dtype = dtype if count <= 60 * places else torch.float  # Sums stay whole numbers that the type holds.
        index = torch.randint(0, places, (count,), device=device)
        if draw.random() < 0.3 and dtype == torch.float:
            index = index // 7 % places
        src = whole([count], dtype, device, min(most, 1 if dtype != torch.float else 8))
        start = whole([places], dtype, device)
        ours = displaced(draw, start)
        ops.scatter_add_(ours, index, displaced(draw, src), check_index=draw.random() < 0.5)
        expected = start.double().scatter_add_(0, index, src.double()).to(dtype)
        same(ours, expected, f"case {number}: {count} into {places} {dtype}")


def test_index_add(device, draw):
    types = [*NUMBERS, torch.double, torch.int, torch.long]
    for number in range(CASES):
        dtype = draw.choice(types)
        shape = random_shape(draw, draw.randint(1, 4), 3000)
        dim = draw.randrange(len(shape))
        entries = draw.choice([0, 1, 2, 5, 17, 60])
        if shape[dim] == 0:
            entries = 0
        alpha = draw.choice([1, 1, 2, -1])
        strided = draw.random() < 0.3
        sizes = [entries if d == dim else n for d, n in enumerate(shape)]
        index = torch.randint(0, max(shape[dim], 1), (entries,), device=device)
        if strided:
            source = random_view(draw, sizes, lambda size: whole(size, dtype, device, 1))
            ours = random_view(draw, shape, lambda size: whole(size, dtype, device))
        else:
            source, ours = whole(sizes, dtype, device, 1), displaced(draw, whole(shape, dtype, device))
        expected = ours.clone().index_add_(dim, index, source, alpha=alpha)
        ops.index_add_(ours, dim if draw.random() < 0.5 else dim - len(shape), index, source, alpha=alpha,
                       check_index=draw.random() < 0.5)
        same(ours, expected, f"case {number}: {shape} dim={dim} entries={entries} {dtype} strided={strided}")


def test_inner_product(device, draw):
    for number in range(CASES):
        dtype = draw.choice(NUMBERS)
        count = draw.choice([0, 1, 2, 31, 32, 33, 1000, 4097])
        a, b = (displaced(draw, whole([count], dtype, device, 3)) for _ in range(2))
        expected = torch.dot(a.double(), b.double()).to(dtype)
        same(ops.inner_product(a, b), expected, f"case {number}: {count} {dtype}")


def random_images(draw, dtype, device, exact):
    """x, the output's size, and scales as PyTorch takes them: from the sizes, or given.

    On the CPU PyTorch does not look at a scale where the size doubles, which it does on CUDA, as the kernels do.
    """
    height, width = draw.choice([1, 2, 5, 8, 16, 21]), draw.choice([1, 2, 4, 7, 16, 20])
    x = whole([draw.randint(1, 3), draw.choice([1, 3, 4, 8]), height, width], dtype, device, 4)
    if draw.random() < 0.5:
        x = x.to(memory_format=torch.channels_last)
    if exact:  # Whole scales, for which every rule is the same.
        scale = draw.choice([1, 2, 2, 2, 3, 4])
        size = [height * scale, width * scale]
        scales = draw.choice([(None, None), (float(scale), float(scale))])
    elif draw.random() < 0.5:
        size, scales = [draw.randint(1, 40), draw.randint(1, 40)], (None, None)
    else:
        scales = (draw.choice([0.5, 1.3, 1.6, 2.0, 2.1, 3.0]), draw.choice([0.5, 1.5, 2.0, 2.7]))
        size = [max(1, int(height * scales[0])), max(1, int(width * scales[1]))]
        if device == "cpu" and (size[0] == 2 * height or size[1] == 2 * width):
            scales = (None, None)
    return x, size, scales


def test_upsample(device, draw):
    for number in range(CASES):
        x, size, scales = random_images(draw, draw.choice(NUMBERS), device, exact=False)
        expected = torch.ops.aten.upsample_nearest2d(x, size, *scales)
        same(ops.upsample_nearest2d(x, size, *scales), expected, f"case {number}: {x.shape} {size} {scales} {x.dtype}")


def test_upsample_backward(device, draw):
    """With scales that are no whole numbers PyTorch's two devices differ from one another; the kernels do as CUDA does."""
    for number in range(CASES):
        x, size, scales = random_images(draw, draw.choice(NUMBERS), device, exact=device == "cpu")
        y = torch.ops.aten.upsample_nearest2d(x, size, *scales)
        grad = whole(y.shape, y.dtype, device, 4)
        grad = grad.contiguous(memory_format=torch.contiguous_format if y.is_contiguous() else torch.channels_last)
        expected = BACKWARD(grad.float(), size, x.shape, *scales).to(x.dtype)
        ours = ops.upsample_nearest2d_backward(grad, size, x.shape, *scales)
        same(ours, expected, f"case {number}: {x.shape} {size} {scales} {x.dtype}")
