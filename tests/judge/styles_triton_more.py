# SPDX-License-Identifier: Apache-2.0
"""Honest Triton candidates: windows, attention, indices, losses, scans, cells, and ways to launch."""
from styles import Table

TABLE = Table()
add = TABLE.triton

add("conv1d_direct", "convolution, direct", "return F.conv1d(x, self.weight, self.bias, stride=2, padding=1)",
    "torch.randn(2, 3, 11)", """
@triton.jit
def conv_kernel(x_ptr, w_ptr, b_ptr, y_ptr, L, OUT, C: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    n, o, i = tl.program_id(0), tl.program_id(1), tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32) + tl.load(b_ptr + o)
    for c in tl.static_range(C):
        for k in tl.static_range(K):
            at = 2 * i + k - 1
            x = tl.load(x_ptr + (n * C + c) * L + at, mask=(at >= 0) & (at < L), other=0.0)
            acc += x * tl.load(w_ptr + (o * C + c) * K + k)
    tl.store(y_ptr + (n * tl.num_programs(1) + o) * OUT + i, acc, mask=i < OUT)

def kernel_function(x, weight, bias):
    n, c, length = x.shape
    out = (length + 2 - weight.shape[2]) // 2 + 1
    y = torch.empty(n, weight.shape[0], out, device=x.device)
    conv_kernel[(n, weight.shape[0])](x, weight, bias, y, length, out, C=c, K=weight.shape[2], BLOCK=8)
    return y
""", "kernel_function(x, self.weight, self.bias)",
made="self.weight = torch.nn.Parameter(torch.randn(4, 3, 3))\nself.bias = torch.nn.Parameter(torch.randn(4))")

add("conv2d_implicit_gemm", "convolution by im2col and dot", "return self.conv(x)", "torch.randn(2, 3, 6, 5)", """
@triton.jit
def gemm_conv_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, H, W, O, OH, OW, S: tl.constexpr, BM: tl.constexpr,
        BN: tl.constexpr, BK: tl.constexpr):
    n = tl.program_id(1)
    p = tl.program_id(0) * BM + tl.arange(0, BM)
    o, k = tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, C * S * S, BK):
        kk = start + k
        h = (p // OW)[:, None] + (kk % (S * S) // S)[None, :]
        w = (p % OW)[:, None] + (kk % S)[None, :]
        x = tl.load(x_ptr + ((n * C + kk // (S * S))[None, :] * H + h) * W + w, mask=(kk < C * S * S)[None,
                :] & (p < OH * OW)[:, None], other=0.0)
        f = tl.load(w_ptr + o[None, :] * C * S * S + kk[:, None], mask=(o < O)[None, :] & (kk < C * S * S)[:, None],
                other=0.0)
        acc += tl.dot(x, f, input_precision="ieee")
    acc += tl.load(b_ptr + o, mask=o < O, other=0.0)[None, :]
    tl.store(y_ptr + (n * O + o)[None, :] * OH * OW + p[:, None], acc, mask=(p < OH * OW)[:, None] & (o < O)[None, :])

def kernel_function(x, conv_weight, conv_bias):
    n, c, h, w = x.shape
    o, size = conv_weight.shape[0], conv_weight.shape[-1]
    oh, ow = h - size + 1, w - size + 1
    y = torch.empty((n, o, oh, ow), device=x.device, dtype=x.dtype)
    gemm_conv_kernel[(triton.cdiv(oh * ow, 16), n)](x.contiguous(), conv_weight, conv_bias, y, c, h, w, o, oh, ow,
            S=size, BM=16, BN=16, BK=16)
    return y
""", "kernel_function(x, self.conv.weight, self.conv.bias)", made="self.conv = torch.nn.Conv2d(3, 5, 3)")

add("depthwise_conv_channels_last_output", "convolution, output in another memory format", "return self.conv(x)",
    "torch.randn(1, 4, 5, 6)", """
@triton.jit
def depthwise_kernel(x_ptr, w_ptr, y_ptr, C, H, W, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    p = tl.program_id(0) + 0 * c
    acc = tl.zeros((BLOCK,), tl.float32)
    for dh in tl.static_range(3):
        for dw in tl.static_range(3):
            h, w = p // W + dh - 1, p % W + dw - 1
            inside = (h >= 0) & (h < H) & (w >= 0) & (w < W) & (c < C)
            acc += tl.load(x_ptr + (c * H + h) * W + w, mask=inside, other=0.0) * tl.load(w_ptr + c * 9 + dh * 3 + dw,
                    mask=c < C, other=0.0)
    tl.store(y_ptr + p * C + c, acc, mask=c < C)

def kernel_function(x, weight):
    y = torch.empty_like(x, memory_format=torch.channels_last)
    depthwise_kernel[(x.shape[2] * x.shape[3],)](x, weight, y, *x.shape[1:], BLOCK=4)
    return y
""", "kernel_function(x, self.conv.weight)",
made="self.conv = torch.nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False)")

add("max_pool_with_padding", "pooling", "return F.max_pool2d(x, 3, stride=2, padding=1)", "torch.randn(1, 2, 7, 6)", """
@triton.jit
def pool_kernel(x_ptr, y_ptr, H, W, OH, OW, BLOCK: tl.constexpr):
    plane, p = tl.program_id(0), tl.arange(0, BLOCK)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for k in range(9):
        h, w = p // OW * 2 + k // 3 - 1, p % OW * 2 + k % 3 - 1
        x = tl.load(x_ptr + (plane * H + h) * W + w, mask=(h >= 0) & (h < H) & (w >= 0) & (w < W) & (p < OH * OW),
                other=float("-inf"))
        best = tl.where(x > best, x, best)
    tl.store(y_ptr + plane * OH * OW + p, best, mask=p < OH * OW)

def kernel_function(x):
    n, c, h, w = x.shape
    y = torch.empty(n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1, device=x.device)
    pool_kernel[(n * c,)](x, y, h, w, y.shape[2], y.shape[3], BLOCK=16)
    return y
""", "kernel_function(x)")

add("avg_pool_three_dimensions_of_grid", "pooling", "return F.avg_pool1d(x, 4)", "torch.randn(2, 3, 12)", """
@triton.jit
def avg_kernel(x_ptr, y_ptr, L):
    n, c, o = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    row = n * tl.num_programs(1) + c
    tl.store(y_ptr + row * tl.num_programs(2) + o, tl.sum(tl.load(x_ptr + row * L + o * 4 + tl.arange(0, 4))) * 0.25)

def kernel_function(x):
    y = x.new_empty(x.shape[0], x.shape[1], x.shape[2] // 4)
    avg_kernel[tuple(y.shape)](x, y, x.shape[2])
    return y
""", "kernel_function(x)")

add("flash_attention", "attention, online softmax", "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    "torch.randn(1, 2, 20, 16), torch.randn(1, 2, 20, 16), torch.randn(1, 2, 20, 16)", """
@triton.jit
def flash_kernel(q_ptr, k_ptr, v_ptr, o_ptr, L, scale, D: tl.constexpr, BLOCK: tl.constexpr):
    base = tl.program_id(1) * L * D
    row, d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, D)
    q = tl.load(q_ptr + base + row[:, None] * D + d[None, :], mask=row[:, None] < L, other=0.0)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK, D), tl.float32)
    for start in range(0, L, BLOCK):
        col = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + base + col[None, :] * D + d[:, None], mask=col[None, :] < L, other=0.0)
        v = tl.load(v_ptr + base + col[:, None] * D + d[None, :], mask=col[:, None] < L, other=0.0)
        s = tl.where((col[None, :] <= row[:, None]) & (col[None, :] < L), tl.dot(q, k, input_precision="ieee") * scale,
                -1.0e30)
        larger = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - larger[:, None])
        fade = tl.exp(top - larger)
        total, acc, top = total * fade + tl.sum(p, 1), acc * fade[:, None] + tl.dot(p, v,
                input_precision="ieee"), larger
    tl.store(o_ptr + base + row[:, None] * D + d[None, :], acc / total[:, None], mask=row[:, None] < L)

def kernel_function(q, k, v):
    out = torch.empty_like(q)
    b, h, length, d = q.shape
    flash_kernel[(triton.cdiv(length, 16), b * h)](q, k, v, out, length, d ** -0.5, D=d, BLOCK=16)
    return out
""", "kernel_function(q, k, v)", signature="q, k, v")

add("embedding", "embedding/gather, int64 indices", "return self.table(ids)", "torch.randint(0, 9, (2, 4))", """
@triton.jit
def gather_kernel(ids_ptr, table_ptr, y_ptr, width, BLOCK: tl.constexpr):
    at, col = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(ids_ptr + at)
    tl.store(y_ptr + at * width + col, tl.load(table_ptr + row * width + col, mask=col < width), mask=col < width)

def kernel_function(ids, table_weight):
    y = table_weight.new_empty(*ids.shape, table_weight.shape[1])
    gather_kernel[(ids.numel(),)](ids, table_weight, y, table_weight.shape[1], BLOCK=8)
    return y
""", "kernel_function(ids, self.table.weight)", signature="ids", made="self.table = torch.nn.Embedding(9, 5)")

add("scatter_add", "scatter with atomics", "return torch.zeros(4, x.shape[1], device=x.device).index_add_(0, where, x)",
    "torch.randn(7, 5), torch.randint(0, 4, (7,))", """
@triton.jit
def scatter_kernel(x_ptr, where_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row, col = tl.program_id(0), tl.arange(0, BLOCK)
    to = tl.load(where_ptr + row)
    tl.atomic_add(y_ptr + to * cols + col, tl.load(x_ptr + row * cols + col, mask=col < cols), mask=col < cols)

def kernel_function(x, where):
    y = torch.zeros((4, x.shape[1]), device=x.device)
    scatter_kernel[(x.shape[0],)](x, where, y, x.shape[1], BLOCK=8)
    return y
""", "kernel_function(x, where)", signature="x, where")

add("histogram", "scatter, int output", "return torch.bincount(x, minlength=6)", "torch.randint(0, 6, (30,))", """
@triton.jit
def count_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr + tl.load(x_ptr + at, mask=at < n, other=0), 1, mask=at < n)

def kernel_function(x):
    y = torch.zeros(6, dtype=torch.int64, device=x.device)
    count_kernel[(1,)](x, y, x.numel(), BLOCK=32)
    return y
""", "kernel_function(x)")

add("cross_entropy", "loss, integer targets, scalar", "return F.cross_entropy(x, y)",
    "torch.randn(9, 7), torch.randint(0, 7, (9,))", """
@triton.jit
def loss_kernel(x_ptr, y_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    col, total = tl.arange(0, BLOCK), 0.0
    for row in range(rows):
        x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=-float("inf"))
        top = tl.max(x, 0)
        total += top + tl.log(tl.sum(tl.exp(x - top), 0)) - tl.load(x_ptr + row * cols + tl.load(y_ptr + row))
    tl.store(out_ptr, total / rows)

def kernel_function(x, y):
    out = torch.empty((), device=x.device)
    loss_kernel[(1,)](x, y, out, *x.shape, BLOCK=8)
    return out
""", "kernel_function(x, y)", signature="x, y")

add("huber_in_two_stages", "loss, a scratch buffer between two kernels", "return F.smooth_l1_loss(x, y)",
    "torch.randn(40), torch.randn(40)", """
@triton.jit
def partial_kernel(x_ptr, y_ptr, part_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    off = tl.abs(tl.load(x_ptr + at, mask=at < n, other=0.0) - tl.load(y_ptr + at, mask=at < n, other=0.0))
    tl.store(part_ptr + tl.program_id(0), tl.sum(tl.where(off < 1.0, 0.5 * off * off, off - 0.5), 0))

@triton.jit
def finish_kernel(part_ptr, out_ptr, parts, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(part_ptr + at, mask=at < parts, other=0.0), 0) / n)

def kernel_function(x, y):
    parts = triton.cdiv(x.numel(), 16)
    scratch, out = torch.empty(parts, device=x.device), torch.empty(1, device=x.device)
    partial_kernel[(parts,)](x, y, scratch, x.numel(), BLOCK=16)
    finish_kernel[(1,)](scratch, out, parts, x.numel(), BLOCK=4)
    return out.view(())
""", "kernel_function(x, y)", signature="x, y")

add("hinge_loss_as_a_python_float", "loss, a number instead of a tensor",
    "return torch.clamp(1 - x * y, min=0).mean().item()", "torch.randn(12), torch.randn(12).sign()", """
@triton.jit
def hinge_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at, mask=at < n, other=0.0), tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr, tl.sum(tl.where(at < n, tl.maximum(1.0 - x * y, 0.0), 0.0)) / n)

def kernel_function(x, y):
    out = torch.empty(1, device=x.device)
    hinge_kernel[(1,)](x, y, out, x.numel(), BLOCK=16)
    return out.item()
""", "kernel_function(x, y)", signature="x, y")

add("cumsum", "scan", "return torch.cumsum(x, dim=1)", "torch.randn(3, 13)", """
@triton.jit
def cumsum_kernel(x_ptr, y_ptr, cols, BLOCK: tl.constexpr):
    row, col = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0.0)
    tl.store(y_ptr + row * cols + col, tl.cumsum(x, axis=0), mask=col < cols)

def kernel_function(x):
    y = torch.empty_like(x)
    cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=16)
    return y
""", "kernel_function(x)")

add("linear_recurrence", "scan with a function of its own",
    "h, out = torch.zeros_like(x[0]), []\nfor a, b in zip(gate, x):\n    h = a * h + b\n    out.append(h)\n"
    "return torch.stack(out)",
    "torch.rand(9, 4), torch.randn(9, 4)", """
@triton.jit
def combine(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2

@triton.jit
def recurrence_kernel(a_ptr, b_ptr, y_ptr, length, cols, BLOCK: tl.constexpr):
    col, t = tl.program_id(0), tl.arange(0, BLOCK)
    a = tl.load(a_ptr + t * cols + col, mask=t < length, other=1.0)
    b = tl.load(b_ptr + t * cols + col, mask=t < length, other=0.0)
    _, h = tl.associative_scan((a, b), 0, combine)
    tl.store(y_ptr + t * cols + col, h, mask=t < length)

def kernel_function(gate, x):
    y = torch.empty_like(x)
    recurrence_kernel[(x.shape[1],)](gate, x, y, *x.shape, BLOCK=16)
    return y
""", "kernel_function(gate, x)", signature="gate, x")

add("rnn_cell", "RNN cell", "return torch.tanh(self.i(x) + self.h(state))", "torch.randn(3, 6), torch.randn(3, 8)", """
@triton.jit
def cell_kernel(x_ptr, h_ptr, wi_ptr, bi_ptr, wh_ptr, bh_ptr, y_ptr, I: tl.constexpr, H: tl.constexpr):
    row, o = tl.program_id(0), tl.arange(0, H)
    acc = tl.load(bi_ptr + o) + tl.load(bh_ptr + o)
    for k in range(I):
        acc += tl.load(x_ptr + row * I + k) * tl.load(wi_ptr + o * I + k)
    for k in range(H):
        acc += tl.load(h_ptr + row * H + k) * tl.load(wh_ptr + o * H + k)
    tl.store(y_ptr + row * H + o, 2.0 * tl.sigmoid(2.0 * acc) - 1.0)

def kernel_function(x, state, i_weight, i_bias, h_weight, h_bias):
    y = torch.empty_like(state)
    cell_kernel[(x.shape[0],)](x, state, i_weight, i_bias, h_weight, h_bias, y, I=x.shape[1], H=state.shape[1])
    return y
""", "kernel_function(x, state, self.i.weight, self.i.bias, self.h.weight, self.h.bias)", signature="x, state",
    made="self.i, self.h = torch.nn.Linear(6, 8), torch.nn.Linear(8, 8)")

add("lstm_gates_named_tuple", "LSTM cell, named tuple of outputs",
    "i, f, g, o = gates.chunk(4, dim=1)\nc = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n"
    "return State(torch.sigmoid(o) * torch.tanh(c), c)",
    "torch.randn(3, 20), torch.randn(3, 5)", """
@triton.jit
def gates_kernel(g_ptr, c_ptr, h_out, c_out, width, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask, base = at < width, g_ptr + row * 4 * width + at
    i, f = tl.sigmoid(tl.load(base, mask=mask)), tl.sigmoid(tl.load(base + width, mask=mask))
    g, o = 2 * tl.sigmoid(2 * tl.load(base + 2 * width, mask=mask)) - 1, tl.sigmoid(tl.load(base + 3 * width,
            mask=mask))
    c = f * tl.load(c_ptr + row * width + at, mask=mask) + i * g
    tl.store(c_out + row * width + at, c, mask=mask)
    tl.store(h_out + row * width + at, o * (2 * tl.sigmoid(2 * c) - 1), mask=mask)

def kernel_function(gates, c):
    state = State(torch.empty_like(c), torch.empty_like(c))
    gates_kernel[(c.shape[0],)](gates, c, state.h, state.c, c.shape[1], BLOCK=8)
    return state
""", "kernel_function(gates, c)", signature="gates, c",
before="import collections\nState = collections.namedtuple('State', ['h', 'c'])\n")

add("rotary_embedding", "pairs of elements, half of a row each",
    "a, b = x.chunk(2, dim=-1)\nreturn torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)",
    "torch.randn(4, 8), torch.rand(4, 4), torch.rand(4, 4)", """
@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, HALF: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, HALF)
    a, b = tl.load(x_ptr + row * 2 * HALF + at), tl.load(x_ptr + row * 2 * HALF + HALF + at)
    cos, sin = tl.load(cos_ptr + row * HALF + at), tl.load(sin_ptr + row * HALF + at)
    tl.store(y_ptr + row * 2 * HALF + at, a * cos - b * sin)
    tl.store(y_ptr + row * 2 * HALF + HALF + at, b * cos + a * sin)

def kernel_function(x, cos, sin):
    y = torch.empty_like(x)
    rotary_kernel[(x.shape[0],)](x, cos, sin, y, HALF=x.shape[1] // 2)
    return y
""", "kernel_function(x, cos, sin)", signature="x, cos, sin")

add("sort_descending", "sort", "return torch.sort(x, dim=1, descending=True).values", "torch.randn(3, 8)", """
@triton.jit
def sort_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.sort(tl.load(x_ptr + at), descending=True))

def kernel_function(x):
    y = torch.empty_like(x)
    sort_kernel[(x.shape[0],)](x, y, BLOCK=x.shape[1])
    return y
""", "kernel_function(x)")

SCALE = """
@triton.jit
def scale_kernel(x_ptr, y_ptr, factor, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < count) * factor, mask=at < count)
"""


def scaled(name, family, function, kernel=SCALE, forward="return x * factor", call="kernel_function(x, factor)",
           **more):
    add(name, family, forward, "torch.randn(4, 6), 2.5", kernel + function, call, signature="x, factor", **more)


scaled("in_place", "the input is the output",
       "\ndef kernel_function(x, factor):\n    scale_kernel[(2,)](x, x, factor, x.numel(), BLOCK=16)\n    return x\n",
       forward="x *= factor\nreturn x")
scaled("in_place_returns_nothing", "only the input changes",
       "\ndef kernel_function(x, factor):\n    scale_kernel[(2,)](x, x, factor, x.numel(), BLOCK=16)\n",
       forward="x.mul_(factor)")
scaled("output_buffer_used_again", "one buffer for all calls",
       "\nBUFFERS = {}\ndef kernel_function(x, factor):\n    y = BUFFERS.setdefault(x.shape, torch.empty_like(x))\n"
       "    scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=16)\n    return y\n")
scaled("scratch_buffer_copied_out", "a buffer of its own, copied for the caller",
       "\nBUFFERS = {}\ndef kernel_function(x, factor):\n    y = BUFFERS.setdefault(x.shape, torch.empty_like(x))\n"
       "    scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=16)\n    return y.clone()\n")
scaled("autotuned", "autotune", "\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)](x, y, factor, x.numel())\n"
       "    return y\n",
       SCALE.replace("@triton.jit",
                     "@triton.autotune(configs=[triton.Config({'BLOCK': 8}), triton.Config({'BLOCK': 32}, "
                     "num_warps=2)], key=['count'])\n@triton.jit"))
scaled("heuristics", "heuristics",
       "\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    scale_kernel[(1,)](x, y, factor, x.numel())\n    return y\n",
       SCALE.replace("@triton.jit",
                     "@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(args['count'])})\n@triton.jit"))
scaled("persistent_programs", "few programs, each with many tiles",
       "\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=4)\n    return y\n", """
@triton.jit
def scale_kernel(x_ptr, y_ptr, factor, count, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(count, BLOCK), tl.num_programs(0)):
        at = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < count) * factor, mask=at < count)
""")
scaled("many_small_launches", "a launch for each row",
       "\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n    for source, target in zip(x, y):\n"
       "        scale_kernel[(1,)](source, target, factor, source.numel(), BLOCK=8)\n    return y\n")
scaled("output_in_a_slice_of_a_larger_one", "view with offset and stride",
       "\ndef kernel_function(x, factor):\n    y = torch.empty(x.shape[0] + 1, x.shape[1], device=x.device)\n"
       "    scale_kernel[(2,)](x, y[1:], factor, x.numel(), BLOCK=16)\n    return y[1:]\n")
scaled("conversion_after_the_launch", "computed wider, returned narrow",
       "\ndef kernel_function(x, factor):\n    y = torch.empty(x.shape, dtype=torch.float64, device=x.device)\n"
       "    scale_kernel[(2,)](x.double(), y, factor, x.numel(), BLOCK=16)\n    return y.to(x.dtype)\n")
NESTED = SCALE.replace("\n", "\n    ")
scaled("kernel_in_a_function", "the kernel is made by a function",
       "\n    return scale_kernel\n\nKERNEL = make()\n\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    KERNEL[(2,)](x, y, factor, x.numel(), BLOCK=16)\n    return y\n", "def make():" + NESTED)
scaled("kernel_in_a_class", "the kernel is a static method",
       "\n\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    Kernels.scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=16)\n    return y\n",
       "class Kernels:" + NESTED.replace("@triton", "@staticmethod\n    @triton"))
scaled("kernel_without_a_decorator", "the kernel is made by a call",
       "\nKERNEL = triton.jit(scale_kernel)\n\ndef kernel_function(x, factor):\n    y = torch.empty_like(x)\n"
       "    KERNEL[(2,)](x, y, factor, x.numel(), BLOCK=16)\n    return y\n", SCALE.replace("@triton.jit\n", ""))
scaled("autograd_function_with_a_gradient_by_torch", "a gradient that nobody asks for", """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        y = torch.empty_like(x)
        scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=16)
        return y

    @staticmethod
    def backward(ctx, grad):
        return torch.matmul(grad, torch.eye(grad.shape[1])) * ctx.factor, None

def kernel_function(x, factor):
    return Scale.apply(x, factor)
""")
scaled("launcher_class_and_postponed_annotations", "a class around the launch", """
@dataclasses.dataclass
class Launcher:
    block: "int" = 16

    def __call__(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), self.block),)](x, y, factor, x.numel(), BLOCK=self.block)
        return y

launch = Launcher()

def kernel_function(x: torch.Tensor, factor: float) -> torch.Tensor:
    return launch(x, factor)
""", before="import dataclasses\n")
scaled("checks_of_its_arguments", "asserts and errors for what it cannot do", """
def kernel_function(x, factor):
    assert isinstance(factor, float), "a float"
    if not x.is_contiguous():
        raise ValueError("not contiguous")
    y = torch.empty_like(x)
    with torch.no_grad():
        scale_kernel[(2,)](x, y, factor, x.numel(), BLOCK=16)
    print("launched", file=sys.stderr)
    return y
""", before="import sys\n")
add("complex_through_real_views", "complex numbers", "return x * factor",
    "torch.randn(4, 3, dtype=torch.complex64), 2.5", SCALE + """
def kernel_function(x, factor):
    y = torch.empty_like(x)
    scale_kernel[(1,)](torch.view_as_real(x), torch.view_as_real(y), factor, 2 * x.numel(), BLOCK=32)
    return y
""", "kernel_function(x, factor)", signature="x, factor")
TABLE[-1].candidate += "\nif __name__ == '__main__':\n    from problem import Model\n    raise SystemExit(1)\n"
