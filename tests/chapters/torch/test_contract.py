"""What PyTorch asks of an operator besides its result: schema, meta function, gradient, compiler, errors, streams."""

import pytest
import torch
import torch.fx.experimental.proxy_tensor
import warpbook_ops as ops


def samples(device):
    """name -> arguments and keyword arguments, made anew at each call."""
    a, b, c = (torch.randn(6, 10, device=device) for _ in range(3))
    index = torch.tensor([3, 0, 3, 5], device=device)
    image = torch.randn(2, 3, 4, 5, device=device)
    return {
        "add2": ((torch.empty_like(a), a, b), {}),
        "mul": ((a, b), {}),
        "mul_add": ((a, b, c), {}),
        "scale": ((a, torch.tensor(2.5, device=device)), {}),
        "make_contiguous": ((a.t(),), {}),
        "write_into_": ((torch.zeros(10, 6, device=device).t(), a), {}),
        "permute": ((a, [1, 0]), {}),
        "scatter_add_": ((torch.zeros(6, device=device), index, torch.randn(4, device=device)), {"check_index": False}),
        "index_add_": ((a.clone(), 0, index, torch.randn(4, 10, device=device)), {"check_index": False, "alpha": 2}),
        "inner_product": ((a.view(-1), b.view(-1)), {}),
        "upsample_nearest2d": ((image, [8, 10]), {}),
        "upsample_nearest2d_backward": ((torch.randn(2, 3, 8, 10, device=device), [8, 10], [2, 3, 4, 5]), {}),
    }


NAMES = sorted(samples("cpu"))
NEEDS_OPCHECK = pytest.mark.skipif(not hasattr(torch.library, "opcheck"), reason="this PyTorch has no opcheck")


def test_every_operator_is_here():
    registered = {s.name.split("::")[1] for s in torch._C._jit_get_all_schemas() if s.name.startswith("warpbook_ops::")}
    assert registered == {*NAMES, "load_kernels"}


@NEEDS_OPCHECK
@pytest.mark.parametrize("name", NAMES)
def test_opcheck(name, device):
    arguments, keywords = samples(device)[name]
    if name.startswith("upsample"):
        arguments[0].requires_grad_()
    torch.library.opcheck(getattr(torch.ops.warpbook_ops, name).default, arguments, keywords)


@pytest.mark.parametrize("name", NAMES)
def test_compiles_without_a_graph_break(name, device):
    """On the GPU by Inductor; on the CPU its C++ compiler would take minutes, so there the graph is run as it is."""
    torch._dynamo.reset()
    operator = getattr(ops, name)

    def program(*arguments, **keywords):
        changed = arguments[0] * 1  # Something for the compiler on both sides.
        if name in ("add2", "write_into_", "scatter_add_", "index_add_"):
            operator(changed, *arguments[1:], **keywords)
            return changed + 1
        return operator(arguments[0], *arguments[1:], **keywords) + 1

    arguments, keywords = samples(device)[name]
    expected = program(*arguments, **keywords)
    compiled = torch.compile(program, fullgraph=True, backend="inductor" if device == "cuda" else "aot_eager")
    torch.testing.assert_close(compiled(*arguments, **keywords), expected)


def test_gradients(device):
    """In float: the operators know no double. Both are linear, so with whole numbers and a step of 1/8 the differences
    are exact."""
    x = torch.randint(-8, 8, (2, 2, 3, 4), device=device).float().requires_grad_()
    for size, scales in (([6, 8], (None, None)), ([6, 8], (2.0, 2.0)), ([5, 3], (None, None)), ([4, 7], (1.5, 1.9))):

        def upsample(t):
            return ops.upsample_nearest2d(t, size, *scales)

        exact = {"eps": 0.125, "atol": 0.0, "rtol": 0.0}
        grad = torch.randint(-8, 8, (2, 2, *size), device=device).float().requires_grad_()
        with pytest.warns(UserWarning, match="double precision"):
            assert torch.autograd.gradcheck(upsample, (x,), **exact)
            assert torch.autograd.gradgradcheck(upsample, (x,), (grad,), **exact)
        channels_last = x.detach().to(memory_format=torch.channels_last).requires_grad_()
        ops.upsample_nearest2d(channels_last, size, *scales).sum().backward()
        same = x.detach().clone().requires_grad_()
        upsample(same).sum().backward()
        assert torch.equal(channels_last.grad, same.grad)


CHANGING = ("add2", "index_add_", "scatter_add_", "write_into_")


@pytest.mark.parametrize("name", CHANGING)
def test_a_gradient_that_a_change_would_make_wrong_is_refused(name, device):
    """PyTorch keeps x for the gradient of weight * x, and notices a change by the number that it keeps of x."""
    arguments, keywords = samples(device)[name]
    changed = arguments[0]
    weight = torch.ones_like(changed, requires_grad=True)
    loss = (weight * changed).sum()
    getattr(ops, name)(*arguments, **keywords)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("name", CHANGING)
def test_what_has_no_gradient_says_so(name, device):
    arguments, keywords = samples(device)[name]
    operator = getattr(ops, name)
    for i, argument in enumerate(arguments):
        if not torch.is_tensor(argument) or not argument.is_floating_point():
            continue
        wanting = [*arguments[:i], argument.detach().requires_grad_(), *arguments[i + 1 :]]
        with pytest.raises(RuntimeError, match=f"{name}: has no gradient, and a tensor requires one"):
            operator(*wanting, **keywords)
        with torch.no_grad():
            operator(*wanting, **keywords)
    with torch.inference_mode():  # Tensors that count no changes.
        arguments, keywords = samples(device)[name]
        operator(*arguments, **keywords)


@pytest.mark.skipif(not ops._python, reason="add2 has no short way here: Python's headers were not found")
def test_the_short_way_leaves_to_the_general_one_what_is_not_plain(device):
    """What the short way takes itself, each other test of add2 calls."""
    a = torch.ones(3, device=device)
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    ops.add2(a.as_subclass(Watched), a, a)
    with Mode():
        ops.add2(a, a, a)
    assert [str(function) for function in seen] == ["warpbook_ops.add2"] * 2 and a.tolist() == [4] * 3
    ops.add2(out=a, b=a, a=torch.nn.Parameter(a, requires_grad=False))
    assert a.tolist() == [8] * 3
    for wrong in (None, 2.5, [a]):
        with pytest.raises(RuntimeError, match="add2"):
            ops.add2(a, a, wrong)
    with pytest.raises(TypeError):
        ops.add2(a, a)
    traced = torch.fx.experimental.proxy_tensor.make_fx(lambda out: ops.add2(out, a, a))(a)
    assert "warpbook_ops.add2" in traced.code


def bad_input(device):
    """(a part of the message, a call that must fail)."""
    a = torch.randn(4, 6, device=device)
    long = torch.tensor([0, 1], device=device)
    row, image = torch.zeros(6, device=device), torch.randn(1, 2, 3, 4, device=device)
    return {
        "out is of type Int": lambda: ops.add2(a.int(), a.int(), a.int()),
        "types must be the same": lambda: ops.add2(a, a.half(), a),
        "shapes must be the same": lambda: ops.add2(a, a[:2], a),
        "b must be contiguous": lambda: ops.add2(a, a, torch.randn(6, 4, device=device).t()),
        "single memory location": lambda: ops.add2(row[:5], row[1:], row[:5]),
        "a is of type Double": lambda: ops.mul(a.double(), a.double()),
        "c must be contiguous": lambda: ops.mul_add(a, a, torch.randn(6, 4, device=device).t()),
        "factor must be one Float": lambda: ops.scale(a, row),
        "dims must name each of the 2 dimensions once": lambda: ops.permute(a, [0, 0]),
        "Dimension out of range": lambda: ops.permute(a, [0, 2]),
        "more than one element of the written-to tensor": lambda: ops.write_into_(row[:1].expand(4), row[:4].clone()),
        "index has 6; accepted is 0 to 5": lambda: ops.scatter_add_(row, long * 6, a[0, :2].clone()),
        "index has -1; accepted is 0 to 3": lambda: ops.index_add_(a, 0, long - 1, a[:2].clone()),
        "index must be of type Long": lambda: ops.index_add_(a, 0, long.int(), a[:2].clone()),
        "source must have 2 along dimension 0": lambda: ops.index_add_(a, 0, long, a[:3].clone()),
        "alpha must be an integer": lambda: ops.index_add_(a.int(), 0, long, a[:2].int(), alpha=0.5),
        "a must have 1 dimension": lambda: ops.inner_product(a, a),
        "x must have 4 dimensions": lambda: ops.upsample_nearest2d(a, [2, 2]),
        "heights and widths must be 1": lambda: ops.upsample_nearest2d(image, [0, 2]),
        "scales must be finite and above 0": lambda: ops.upsample_nearest2d(image, [6, 8], -1.0, 2.0),
        "x must be contiguous, as NCHW or channels last": lambda: ops.upsample_nearest2d(
            image.transpose(0, 3).contiguous().transpose(0, 3), [6, 8]),
        "grad must be as large as the output": lambda: ops.upsample_nearest2d_backward(image, [6, 8], [1, 2, 3, 4]),
    }


@pytest.mark.parametrize("part", sorted(bad_input("cpu")))
def test_bad_input_is_an_exception_with_a_sentence(part, device):
    with pytest.raises((RuntimeError, ValueError, IndexError)) as caught:
        bad_input(device)[part]()
    assert part in str(caught.value)
    a = torch.ones(5, device=device)  # The process lives on, and so does the device.
    ops.add2(a, a, a)
    assert a.tolist() == [2] * 5


def test_an_index_out_of_range_changes_nothing(device):
    for call in (
        lambda row: ops.scatter_add_(row, torch.tensor([1, 9], device=device), torch.ones(2, device=device)),
        lambda row: ops.index_add_(row, 0, torch.tensor([1, 9], device=device), torch.ones(2, device=device)),
    ):
        row = torch.zeros(4, device=device)
        with pytest.raises(IndexError):
            call(row)
        assert row.tolist() == [0, 0, 0, 0]


def test_an_index_out_of_range_is_left_out_where_nobody_looks(device):
    row = torch.zeros(4, device=device)
    ops.scatter_add_(row, torch.tensor([1, 9, -1], device=device), torch.ones(3, device=device), check_index=False)
    ops.index_add_(row, 0, torch.tensor([1, 4], device=device), torch.ones(2, device=device), check_index=False)
    assert row.tolist() == [0, 2, 0, 0]


def test_nothing_is_no_error(device):
    empty = torch.empty(0, 3, device=device)
    ops.add2(empty, empty, empty)
    assert ops.mul(empty, empty).shape == (0, 3)
    assert ops.permute(empty, [1, 0]).shape == (3, 0)
    assert ops.make_contiguous(empty.t()).shape == (3, 0)
    ops.index_add_(torch.zeros(2, 3, device=device), 0, torch.empty(0, dtype=torch.long, device=device), empty)
    assert ops.upsample_nearest2d(torch.empty(0, 2, 3, 4, device=device), [6, 8]).shape == (0, 2, 6, 8)


@pytest.mark.skipif(ops.DEVICES != ["cuda", "cpu"], reason="needs both devices' kernels")
def test_tensors_on_two_devices_are_refused():
    gpu, cpu = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="all tensors must be on one device"):
        ops.add2(gpu, gpu, cpu)


@pytest.mark.skipif("cuda" not in ops.DEVICES, reason="needs a CUDA device")
def test_the_current_stream_is_used():
    """A long copy in front of it on the same stream: an operator on another stream would read too early."""
    stream = torch.cuda.Stream()
    late = torch.zeros(1 << 20, device="cuda")
    out = torch.empty_like(late)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late.fill_(1)
        ops.add2(out, late, late)
    stream.synchronize()
    assert out.unique().tolist() == [2]


@pytest.mark.skipif("cuda" not in ops.DEVICES, reason="needs a CUDA device")
def test_a_graph_holds_the_operator():
    a = torch.ones(1000, device="cuda")
    out = torch.empty_like(a)
    ops.add2(out, a, a)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.add2(out, a, a)
    a.fill_(3)
    graph.replay()
    assert out.unique().tolist() == [6]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_the_tensors_device_becomes_the_current_one():
    a = torch.ones(1000, device="cuda:1")
    out = torch.empty_like(a)
    with torch.cuda.device(0):
        ops.add2(out, a, a)
        assert torch.cuda.current_device() == 0
    assert out.unique().tolist() == [2]
