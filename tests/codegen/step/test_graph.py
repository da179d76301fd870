"""Tests that constant folding keeps all values, that unused values are not printed, and that printed literals are read
back exactly."""


import pytest
from hypothesis import given, strategies as st

from femtorque.codegen.step.c_text import Printer, literal
from femtorque.codegen.step.graph import Const, Expr, Graph, Values

INPUTS = {"a": 1.25, "b": -0.75, "c": 3.5}


def value(e: Expr) -> float:
    return Values(lambda x: x.value if isinstance(x, Const) else INPUTS[x.place.array]).of(e)


def read(graph: Graph, name: str) -> Expr:
    return graph.input(name, -1)


leaves = st.sampled_from(["a", "b", "c", 0.0, 1.0, -1.0, 0.5, -2.0])
trees = st.recursive(leaves, lambda t: st.tuples(st.sampled_from("+-*"), t, t), max_leaves=25)


def grow(graph: Graph, tree) -> tuple[Expr, float]:
    if isinstance(tree, str):
        return read(graph, tree), INPUTS[tree]
    if isinstance(tree, float):
        return graph.const(tree), tree
    op, left, right = tree
    (x, a), (y, b) = grow(graph, left), grow(graph, right)
    return (x + y, a + b) if op == "+" else (x - y, a - b) if op == "-" else (x * y, a * b)


@given(trees)
def test_a_folded_expression_has_the_value_of_the_plain_one(tree):
    e, plain = grow(Graph(), tree)
    assert value(e) == pytest.approx(plain, rel=1e-12, abs=1e-9)


@given(trees)
def test_printed_c_has_the_value_of_the_expression(tree):
    graph = Graph()
    e, plain = grow(graph, tree)
    graph.block("all")
    graph.output("result", -1, e)
    scope: dict[str, float] = dict(INPUTS)
    code = "\n".join(line for block in Printer(graph).blocks for line in block.lines).replace("\n    ", " ")
    exec(code.replace("const ft_real ", "").replace(";", "").replace("FT_C", ""), {}, scope)
    assert scope["result"] == pytest.approx(plain, rel=1e-12, abs=1e-9)


def test_zero_one_and_opposites_cost_nothing():
    graph = Graph()
    a, b = read(graph, "a"), read(graph, "b")
    assert (a * 0.0).is_zero and (a - a).is_zero
    assert a * 1.0 is a and a + 0.0 is a
    opposite = -a
    assert -opposite is a
    assert a + b is b + a and a * b is b * a
    assert b - a is not a - b and -(b - a) is a - b
    assert (-a) * (-b) is a * b


def test_unneeded_values_are_not_printed():
    graph = Graph()
    graph.block("all")
    a = read(graph, "a")
    graph.bind(a * 3.0, "unused")
    graph.output("result", -1, graph.bind(a * 2.0, "used"))
    lines = [line for block in Printer(graph).blocks for line in block.lines]
    assert lines == ["const ft_real used = FT_C(2.0) * a;", "result = used;"]


def test_a_value_has_the_sign_of_its_name_or_says_that_it_has_not():
    graph = Graph()
    graph.block("all")
    a, b = read(graph, "a"), read(graph, "b")
    difference, product = graph.bind(-(a - b), "d"), graph.bind(-(a * b), "p")
    graph.output("result", -1, a - difference)
    graph.output("other", -1, a - product)
    lines = [line for block in Printer(graph).blocks for line in block.lines]
    assert lines == ["const ft_real d = b - a;", "const ft_real p_neg = a * b;", "result = a - d;",
                     "other = a + p_neg;"]


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=0.0))
def test_a_literal_reads_back_as_the_same_number(x):
    """A literal has 14 digits, or 12 for a number round in 12, which are the same in single precision."""
    text = literal(x).removeprefix("FT_C(").removesuffix(")")
    assert float(text) == pytest.approx(x, rel=5.1e-12, abs=0.0) and ("." in text or "e" in text)
    assert literal(-x) == (f"-{literal(x)}" if x else literal(x))


@pytest.mark.parametrize("value, text", [
    (13.999999999999998, "14.0"), (304.8000000000375, "304.8"), (1.0000000000000002, "1.0"),
    (1 / 3, "0.33333333333333"),
    (0.9992001066609779, "0.99920010666098"), (1.23456789, "1.23456789"), (1.2345678901, "1.2345678901"),
    (1e-20, "1e-20"),
])
def test_rounding_residue_is_not_printed(value, text):
    assert literal(value) == f"FT_C({text})"
