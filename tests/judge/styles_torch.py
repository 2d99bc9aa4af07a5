# SPDX-License-Identifier: Apache-2.0
"""Honest fused programs in PyTorch and plain Python: each of a kind that careless judges refuse, and the rest of the
families of operations."""
from styles import Table, model

TABLE = Table()
add = TABLE.torch

# Weights

BLOCK = dict(made="self.fc = nn.Linear(6, 7)\nself.norm = nn.LayerNorm(7)")
PLAIN = "return torch.relu(self.norm(self.fc(x)))"
add("parameters_in_another_order", "weights: other order of the draws", PLAIN, PLAIN, **BLOCK,
    own="self.norm = nn.LayerNorm(7)\ntorch.randn(3)\nself.fc = nn.Linear(6, 7)")
add("parameters_under_other_names", "weights: other names, same shapes", "return self.a(torch.relu(self.b(x)))",
    "return self.second(torch.relu(self.first(x)))", "torch.randn(2, 3)",
    made="self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)",
    own="torch.randn(2)\nself.second, self.first = nn.Linear(3, 3), nn.Linear(3, 3)")
add("parameters_without_layers", "weights: bare parameters", PLAIN,
    "y = x @ self.w.t() + self.b\n"
    "y = (y - y.mean(-1, keepdim=True)) * torch.rsqrt(y.var(-1, unbiased=False, keepdim=True) + 1e-5)\n"
    "return (y * self.g + self.h).clamp(min=0)", **BLOCK,
    own="fc, norm = nn.Linear(6, 7), nn.LayerNorm(7)\n"
        "self.w, self.b, self.g, self.h = fc.weight, fc.bias, norm.weight, norm.bias")
add("weights_packed_at_the_first_forward", "weights: stale after a later load_state_dict", PLAIN,
    "if self.packed is None:\n    self.packed = self.fc.weight.t().contiguous()\n"
    "return F.relu(F.layer_norm(x @ self.packed + self.fc.bias, (7,), self.norm.weight, self.norm.bias))", **BLOCK,
    own="self.packed = None\nself.fc, self.norm = nn.Linear(6, 7), nn.LayerNorm(7)")
add("convolution_and_batch_norm_folded", "weights: folded into each other in the constructor",
    "return self.bn(self.conv(x))", "return F.conv2d(x, self.w, self.b, padding=1)",
    "torch.randn(2, 3, 5, 5)", made="self.conv, self.bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)",
    is_eval=True,
    own="conv, bn = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4)\n"
        "scale = (bn.weight / torch.sqrt(bn.running_var + bn.eps)).detach()\n"
        "self.w, self.b = conv.weight.detach() * scale.view(-1, 1, 1, 1), (conv.bias - bn.running_mean).detach() * "
        "scale + bn.bias.detach()")
add("an_unused_draw_before_the_layers", "weights: a draw that nobody needs",
    "return self.fc(x) + 0 * self.unused.sum()", "return self.fc(x)",
    made="self.unused = torch.randn(9)\nself.fc = nn.Linear(6, 3)")
add("sequential_of_modules", "weights: nested modules", "return self.body(x)",
    "for layer in self.layers:\n    x = layer(x)\nreturn x",
    made="self.body = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))",
    own="self.layers = nn.ModuleList([nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2)])")
add("weight_normalised", "weights: a parametrisation", "return self.fc(x)",
    "return F.linear(x, self.fc.weight, self.fc.bias)",
    made="self.fc = nn.utils.parametrizations.weight_norm(nn.Linear(6, 3))")
add("lazy_layer", "weights: made at the first call", "return self.fc(x)", "return self.fc(x)",
    made="self.fc = nn.Linear(6, 3)", own="self.fc = nn.LazyLinear(3)")
add("seeds_by_itself", "weights: another seed in the constructor", "return x * self.w", "return self.w * x",
    made="self.w = nn.Parameter(torch.randn(6))", own="torch.manual_seed(0)\nself.w = nn.Parameter(torch.randn(6))")
add("complex_parameters", "weights: complex", "return x * self.w",
    "return torch.view_as_complex(torch.stack([x.real * self.w.real - x.imag * self.w.imag, x.real * self.w.imag + "
    "x.imag * self.w.real], -1))",
    "torch.randn(3, dtype=torch.complex64)", made="self.w = nn.Parameter(torch.randn(3, dtype=torch.complex64))")
add("lists_and_tuples_as_arguments", "constructor: arguments that are changed",
    "return {k: self.fc(x) for k in self.names}", "y = self.fc(x)\nreturn dict.fromkeys(self.names, y)",
    made="first = sizes.pop(0)\nself.fc = nn.Linear(first, sizes[0])\nself.names = names", arguments="sizes, names",
    init="[6, 3], ('a', 'b')")

# Outputs

add("one_buffer_for_all_calls", "outputs: a buffer used again", "return x * 2",
    "y = BUFFER.setdefault('y', torch.empty_like(x))\ntorch.mul(x, 2, out=y)\nreturn y", before="BUFFER = {}\n")
add("view_with_offset", "outputs: view, offset, strides", "return x + 1",
    "y = torch.empty(6, 9)\ny[1:5, 2:8] = x + 1\nreturn y[1:5, 2:8]")
add("transposed_memory", "outputs: strides", "return x + 1", "return (x + 1).t().contiguous().t()")
add("expanded", "outputs: stride 0", "return x[:, :1].repeat(1, 3)", "return x[:, :1].expand(4, 3)")
add("channels_last", "outputs: NHWC", "return x * 2", "return (x * 2).contiguous(memory_format=torch.channels_last)",
    "torch.randn(2, 3, 4, 5)")
add("negative_bit", "outputs: lazy negation", "return -x", "return torch._neg_view(x.clone())")
add("conjugate_bit", "outputs: lazy conjugate", "return torch.conj_physical(x)", "return x.conj()",
    "torch.randn(3, dtype=torch.complex64)")
add("inference_tensor", "outputs: made in inference mode", "return x * 2",
    "with torch.inference_mode():\n    return x * 2")
add("graph_of_gradients", "outputs: with a gradient's graph", "return x * 2",
    "with torch.enable_grad():\n    return x * torch.full((1,), 2.0, requires_grad=True)")
add("subclass_of_tensor", "outputs: a subclass that means no harm", "return x * 2",
    "return (x * 2).as_subclass(Tagged)", before="class Tagged(torch.Tensor):\n    pass\n")
add("parameter_as_output", "outputs: a Parameter", "return x * 2", "return nn.Parameter(x * 2)")
add("scalars_and_empty_tensors", "outputs: no dimension, no element", "return x.sum(), x[:0], x.sum() > 0",
    "return x.flatten().sum(), x.new_empty(0, 6), x.sum().gt(0)")
add("a_list_for_a_tuple", "outputs: lists and tuples", "return x, (x, 1)", "return [x, [x, 1]]")
add("dataclass_and_named_tuple", "outputs: records, None, numbers, text",
    "return P(x, None), Out(x), {'k': x, 2: [True, 'text', 1.5, None]}",
    "return P(x.clone(), None), Out(x, None), dict(k=x) | {2: [True, 'text', 1.5, None]}",
    before="P = collections.namedtuple('P', 'a b')\n@dataclasses.dataclass\nclass Out:\n    a: object\n"
           "    b: object = None\n")
add("postponed_annotations", "outputs: a dataclass whose module must be known", "return Out(x * 2)",
    "return Out(x + x)", top="from __future__ import annotations\n",
    before="@dataclasses.dataclass\nclass Out:\n    a: torch.Tensor\n"
           "    b: 'int' = dataclasses.field(default_factory=int)\n")
add("frozen_dataclass_with_slots", "outputs: a record without a dict", "return Out(x, 1)",
    "return Out(a=x.clone(), b=1)",
    before="@dataclasses.dataclass(frozen=True, slots=True)\nclass Out:\n    a: object\n    b: int\n")
add("torch_return_types", "outputs: torch's own tuples", "return torch.max(x, dim=1)",
    "return tuple(torch.max(x, dim=1))")
add("default_dict", "outputs: mappings", "return {'a': x, 'b': x * 2}",
    "y = collections.defaultdict(list)\ny['a'], y['b'] = x, x + x\nreturn y")
add("the_same_tensor_twice", "outputs: shared memory", "return x, x, x[0]", "y = x.clone()\nreturn y, y, y[0]")
add("narrow_dtypes", "outputs: many dtypes",
    "return x.half(), x.bfloat16(), (x * 10).to(torch.int8), x > 0, x.double()",
    "return x.to(torch.float16), x.to(torch.bfloat16), (x * 10).char(), 0 < x, x.to(torch.float64)")
add("infinities_and_nan", "outputs: not finite where the problem's are not", "return torch.log(x), x / 0",
    "return x.log(), x * float('inf')", "torch.randn(4, 6)")
add("bfloat16_rounded_once", "outputs: nearer to the truth than eager", "return torch.softmax(x * 1.5 + 0.25, -1) * x",
    "y = x.float()\nreturn (torch.softmax(y * 1.5 + 0.25, -1) * y).to(x.dtype)",
    "torch.randn(8, 16, dtype=torch.bfloat16)")

# Inputs

add("python_numbers", "inputs: floats, ints, bools", "return x * a + n if flag else None", "return n + a * x",
    "torch.randn(3), 1.5, 7, True", "x, a, n, flag")
add("nested_inputs", "inputs: trees", "return pair[0] + d['k'][0]", "return d['k'][0] + pair[0]",
    "(torch.randn(3), None), {'k': [torch.randn(3)]}", "pair, d")
add("works_in_place", "inputs: changed as the problem changes them", "x += 1\nreturn x", "return x.add_(1)")
add("works_in_place_on_integers", "inputs: what has no float64 changes, too", "i.add_(1)\nreturn x * i",
    "i += 1\nreturn i * x", "torch.randn(3), torch.arange(3)", "x, i")
add("a_cache_that_grows", "inputs: a list that grows", "cache.append(x)\nreturn x + len(cache)",
    "cache.append(x)\nreturn x + 1.0", "torch.randn(3), []", "x, cache")
add("expanded_inputs", "inputs: shared memory", "return x.view(-1) + y.sum()", "return x.reshape(-1) + y.sum()",
    "torch.randn(2, 3), torch.randn(1, 3).expand(2, 3)", "x, y")
add("keyword_only_extras", "inputs: further parameters with defaults", "return x * 2", "return x * scale",
    signature="x, *, unused=None",
    before="scale = 2\n")

# State and mode

add("dropout_in_eval", "mode: random in training", "return self.drop(x) + 1", "return x + 1",
    made="self.drop = nn.Dropout(0.5)")
add("running_statistics", "mode: training, statistics change", "return self.bn(x)",
    "m = x.mean(dim=(0, 2), keepdim=True)\nv = x.var(dim=(0, 2), unbiased=False, keepdim=True)\n"
    "return (x - m) / torch.sqrt(v + self.bn.eps) * self.bn.weight.view(1, -1, 1) + self.bn.bias.view(1, -1, 1)",
    "torch.randn(4, 3, 6)", made="self.bn = nn.BatchNorm1d(3)")
add("hidden_state_in_the_module", "state: kept between calls",
    "self.h = torch.tanh(self.fc(x) + self.h)\nreturn self.h", "self.h = (self.fc(x) + self.h).tanh()\nreturn self.h",
    made="self.h = torch.randn(4, 5)\nself.fc = nn.Linear(6, 5)")
add("prints_and_hooks", "manners: talks, leaves threads and hooks behind", "return x * 2",
    "print('x' * 100000)\nreturn x + x", before="print('imported')\n",
    end="\nif __name__ == '__main__':\n    import problem\n    raise SystemExit(3)\n")
add("scripted", "way: TorchScript", "return x * torch.sigmoid(x)", "return silu(x)",
    before="@torch.jit.script\ndef silu(x):\n    return x / (1 + torch.exp(-x))\n")
add("autograd_function", "way: a Function of its own", "return x.pow(3)", "return Cube.apply(x)", before="""
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x
""")
add("float64_inside", "way: computes wider", "return torch.logsumexp(x, 1)",
    "return x.double().exp().sum(1).log().float()")
add("numpy_inside", "way: by numpy", "return torch.sort(x, 1).values",
    "return torch.from_numpy(numpy.sort(x.numpy(), axis=1))", before="import numpy\n")

# Families that the Triton ones leave out

add("transposed_convolution", "convolution, transposed", "return self.up(x)",
    "return F.conv_transpose2d(x, self.up.weight, self.up.bias, stride=2)", "torch.randn(1, 3, 4, 4)",
    made="self.up = nn.ConvTranspose2d(3, 2, 2, stride=2)")
add("gru", "recurrent layer, two outputs", "return self.gru(x)",
    "out, h = [], torch.zeros(x.shape[1], 5)\n"
    "wi, wh, bi, bh = self.gru.weight_ih_l0, self.gru.weight_hh_l0, self.gru.bias_ih_l0, self.gru.bias_hh_l0\n"
    "for step in x:\n    ir, iz, n = (step @ wi.t() + bi).chunk(3, 1)\n"
    "    hr, hz, hn = (h @ wh.t() + bh).chunk(3, 1)\n    r, z = torch.sigmoid(ir + hr), torch.sigmoid(iz + hz)\n"
    "    h = (1 - z) * torch.tanh(n + r * hn) + z * h\n    out.append(h)\nreturn torch.stack(out), h.unsqueeze(0)",
    "torch.randn(3, 2, 4)", made="self.gru = nn.GRU(4, 5)")
add("multi_head_attention", "attention layer", "return self.mha(x, x, x, need_weights=False)[0]",
    "b, l, w = x.shape\n"
    "q, k, v = F.linear(x, self.mha.in_proj_weight, self.mha.in_proj_bias).view(b, l, 3, 2, w // 2).permute(2, 0, "
    "3, 1, 4)\n"
    "y = torch.softmax(q @ k.transpose(-1, -2) / (w // 2) ** 0.5, -1) @ v\n"
    "return self.mha.out_proj(y.transpose(1, 2).reshape(b, l, w))", "torch.randn(2, 5, 8)",
    made="self.mha = nn.MultiheadAttention(8, 2, batch_first=True)")
add("interpolate", "upsampling", "return F.interpolate(x, scale_factor=2, mode='nearest')",
    "return x.repeat_interleave(2, -1).repeat_interleave(2, -2)", "torch.randn(1, 2, 3, 3)")
add("triplet_loss", "loss", "return F.triplet_margin_loss(a, p, n)",
    "return (torch.linalg.vector_norm(a - p + 1e-6, dim=1) - torch.linalg.vector_norm(a - n + 1e-6, dim=1) + "
    "1).clamp(min=0).mean()",
    "torch.randn(5, 8), torch.randn(5, 8), torch.randn(5, 8)", "a, p, n")
add("top_k", "selection, int outputs", "return tuple(torch.topk(x, 2, dim=1))",
    "y, i = torch.sort(x, dim=1, descending=True)\nreturn y[:, :2], i[:, :2]")

TOY = "\ndef get_inputs():\n    return [[1.0, 2.5, -3.0]]\n\ndef get_init_inputs():\n    return [3]\n"
SUM = "class %s:\n    def __init__(self, n):\n        self.n = n\n\n    def %s(self, values):\n" \
      "        values.append(1)\n        return {'s': sum(values) * self.n, 'n': len(values)}\n"
TABLE.add("no_torch_at_all", "plain Python, a class that is no module", "plain", SUM % ("Model", "__call__") + TOY,
          SUM % ("ModelNew",
                 "forward") + "\ndef kernel_function(values, n):\n    values.append(1)\n"
                              "    return {'s': sum(values) * n, 'n': len(values)}\n", "kernel")
TABLE.add("generator_and_comprehension", "plain Python, lists of numbers", "plain",
          "class Model:\n    def __call__(self, values):\n"
          "        return [round(x * 2) for x in values], max(values)\n" + TOY.replace("[3]", "[]"),
          "def doubled(values):\n    for x in values:\n        yield int(round(x + x))\n\n"
          "def kernel_function(values):\n    return list(doubled(values)), sorted(values)[-1]\n\n"
          "class ModelNew:\n    def forward(self, values):\n        return kernel_function(values)\n", "kernel")
assert model
