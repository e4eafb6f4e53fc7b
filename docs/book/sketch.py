"""What drawings are made of: the expressions that a page gives, boxes, lines, panels."""

import ast
import html
import re

from charts import svg, text
from records import Problem

WIDTH = 340  # Of a panel: on a phone it keeps its size.


def function_of(expression, *names):
    """The function that a page writes as `lane * 33`: of these names, with Python's operators on whole numbers."""
    if not re.fullmatch(rf"(?:\b(?:{'|'.join(names)})\b|[\d\s+*/%^&()-])+", expression):
        raise Problem(f"an expression has {', '.join(names)}, numbers and operators; it is not to be {expression}")

    def value(*given):
        try:
            result = eval(expression.strip(), {"__builtins__": {}}, dict(zip(names, given)))  # pylint: disable=eval-used
        except (SyntaxError, ArithmeticError, TypeError) as error:
            raise Problem(f"{expression}: {error}") from None
        if not isinstance(result, int):
            raise Problem(f"{expression} is {result}, which is no whole number; `//` divides whole numbers")
        return result

    value(*[1] * len(names))
    return value


class Floors(ast.NodeTransformer):
    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.FloorDiv):
            return ast.Call(ast.Name("floor"), [ast.BinOp(node.left, ast.Div(), node.right)], [])
        return node


def readable(expression):
    """`lane * 32 // 2` as a reader who knows no Python writes it: floor(lane × 32 / 2)."""
    return ast.unparse(Floors().visit(ast.parse(expression.strip(), mode="eval"))).replace("*", "×")


def parts(arguments):
    """[(title, what)] of `title: what | title: what`."""
    found = [tuple(part.strip() for part in each.rpartition(":")[::2]) for each in arguments.split("|")]
    if not all(title and what for title, what in found):
        raise Problem(f"a drawing's parts are `title: what | title: what`, not {arguments}")
    return found


def pair(what):
    """The two expressions of `lane * 2, lane`."""
    first, comma, second = what.partition(",")
    if not comma or "," in second:
        raise Problem(f"two expressions with a comma between them are wanted, not {what}")
    return first.strip(), second.strip()


def numbers(words, sign):
    """[4, 6] of `4x6`."""
    return [int(word) for word in words.split(sign)]


def permutation(words, rank):
    """[1, 0] of `1,0`, or of `10`."""
    found = numbers(words, ",") if "," in words else [int(digit) for digit in words]
    if sorted(found) != list(range(rank)):
        raise Problem(f"{words} is no permutation of {rank} dimensions")
    return found


def count(number, what):
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def box(x, y, width, height, classes="cell", more=""):
    return f'<rect class="{classes}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" {more}/>'


def line(x1, y1, x2, y2, classes="link"):
    return f'<line class="{classes}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'


def inside(x, y, width, height, words, classes="small"):
    """Words in the middle of a box."""
    return text(x + width / 2, y + height / 2 + 4.5, words, classes, "middle")


def labelled(x, y, width, height, words, classes="cell", more=""):
    return box(x, y, width, height, classes, more) + inside(x, y, width, height, words)


def paths(drawn, classes="cell"):
    """Many lines as one element; each is (x, y, "h5v5"), where it begins and an SVG path's steps from there."""
    return f'<path class="{classes}" d="{"".join(f"M{x:g} {y:g}{steps}" for x, y, steps in drawn)}"/>'


def boxes(places, width, height, classes="cell"):
    """Boxes of one size at these places, as one element."""
    return paths([(x, y, f"h{width:g}v{height:g}h{-width:g}z") for x, y in places], classes)


def panel(height, body, title, description, width=WIDTH, counted=None):
    """`counted`: the panel's name and what it counts, which stand beside a control."""
    more = f' data-count="{html.escape("|".join(counted))}"' if counted else ""
    return svg(height, "".join(body), title, description, "panel", width, more)


def panels(drawn):
    """Panels beside each other, below each other where the page is narrow."""
    return f'<div class="panels">{"".join(drawn)}</div>'
