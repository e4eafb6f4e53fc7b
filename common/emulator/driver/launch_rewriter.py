"""Makes C++ of CUDA: `kernel<<<grid, block>>>(arguments)`, `extern __shared__` arrays, qualifiers where C++ has no place
for them, and inline PTX's constraints; nothing else is touched.

    kernel<T, 4><<<grid, block>>>(x)   (::warpbook::emulator::configure(grid, block), kernel<T, 4>(x),
                                        ::warpbook::emulator::launch())
    extern __shared__ float tile[];    extern WARPBOOK_DYNAMIC_SHARED float tile[];
    [=] __device__ (int i) {}          [=] (int i) __device__ {}    also where a macro stands for the qualifiers
    __shared__ alignas(16) int a[4];   alignas(16) __shared__ int a[4];
    asm("mov.b16 %0, %1;" : "=h"(i) ...     asm("mov.b16 %0, %1;" : "=r"(i) ...
    main() {                           int main() {
    int a[n] = {1};                    int a[n]; ... (where the compiler has said that n is no constant)

Works on tokens, so comments, strings and raw strings stay as they are, and so do all line numbers; `Rewritten.origin`
leads from a place in the new text to the reader's own. include/warpbook_chevrons.h says what becomes of it.
"""

import bisect
import re

TOKEN = re.compile(
    r"""
      (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
    | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    | (?P<character>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    | (?P<name>[A-Za-z_$]\w*(?:\s*\#\#\s*\w+)*)  # A macro may paste it: add_##type##_kernel.
    | (?P<space>(?:\s|\\\r?\n)+)
    | (?P<arrow>->)
    | (?P<scope>::)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)

CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}
# Inline PTX's constraints, and those of them that not every host has, or not for results. The pass goes by an argument's
# type.
CONSTRAINT = re.compile(r'"[=+&]*[rhlfdqn]"')
FOREIGN = re.compile(r'"[=+&]*[hlfdq]"')
# A register that nvcc takes with one percent sign as well as with two: a special one, or one that the asm declares. A
# letter with an operand's number or name behind it is a modifier of the host's asm.
REGISTER = re.compile(r"(?<!%)%(?=[A-Za-z_])(?![A-Za-z](?:\d+\b|\[))")
# Before a parenthesis these are no function's name.
KEYWORDS = {"if", "while", "for", "switch", "return", "else", "do", "case", "co_return", "throw", "and", "or", "not"}

# What stands before a lambda, and what of its words stands behind its parameters.
BEFORE_LAMBDA = {"(", ",", "=", "{", ";", "?", ":", "&", "|", "return"}
BEHIND_PARAMETERS = {"mutable", "constexpr", "consteval", "static", "noexcept", "requires"}


class Token:
    def __init__(self, kind, text, begin):
        self.kind, self.text, self.begin = kind, text, begin

    @property
    def end(self):
        return self.begin + len(self.text)


class Rewritten:
    """The new text, and where its pieces come from: (begin in the new text, begin in the old text or None)."""

    def __init__(self, text, pieces, old, launches=0, arrays=0):
        self.text, self.pieces, self.old = text, pieces, old
        self.launches, self.arrays = launches, arrays
        self._begins = []

    def origin(self, line, column):
        """A place of the new text (from 1) as the place of the old one that it came from."""
        lines = self.text.splitlines(keepends=True)
        if not 1 <= line <= len(lines):
            return line, column
        offset = sum(len(text) for text in lines[: line - 1]) + min(column, len(lines[line - 1])) - 1
        self._begins = self._begins or [begin for begin, _ in self.pieces]
        begin, old_begin = self.pieces[bisect.bisect_right(self._begins, offset) - 1]
        if old_begin is None:  # A text of ours: the next one of the reader's.
            after = [old for new, old in self.pieces if new > offset and old is not None]
            old = after[0] if after else len(self.old)
        else:
            old = old_begin + offset - begin
        return self.old.count("\n", 0, old) + 1, old - (self.old.rfind("\n", 0, old) + 1) + 1


def tokenize(text):
    return [Token(match.lastgroup if match.lastgroup != "delimiter" else "raw", match.group(), match.start())
            for match in TOKEN.finditer(text)]


def kind_of(token):
    return token.kind not in ("comment", "space")


class Rewriter:
    def __init__(self, text, places=()):
        self.text = text
        self.places = places  # offsets of sizes that are no constants, of initialised arrays
        self.all = tokenize(text)
        self.tokens = [token for token in self.all if kind_of(token)]
        self.edits = []  # (begin, end, [pieces]); a piece is a text of ours, or (begin, end) of the old text
        self.launches = 0
        self.arrays = 0

    def split_arrays(self):
        for position, token in enumerate(self.tokens):
            if token.begin in self.places:
                at = position
                while at > 0 and self.tokens[at].text != "[":
                    at -= 1
                while at and self.tokens[at - 1].text == "]":
                    at = self.back_over_brackets(at - 1)
                if at:
                    self.split_array(at - 1)

    def run(self):
        self.split_arrays()
        position = 0
        while position < len(self.tokens):
            if self.is_chevron(position, "<"):
                position = self.rewrite_launch(position)
            elif self.tokens[position].text in ("asm", "__asm__", "__asm"):
                self.rewrite_registers(position)
            elif self.tokens[position].kind == "string":
                if self.is_constraint(position):
                    self.rewrite_constraint(position)
                after = self.tokens[position + 1 : position + 2]
                if after and after[0].begin == self.tokens[position].end and after[0].text.startswith("__"):
                    self.edits.append((after[0].begin, after[0].begin, [" "]))  # `extern "C"__global__`: no suffix
            elif self.tokens[position].text == "]":
                self.rewrite_lambda(position)
            elif self.tokens[position].text == "\\":
                self.drop_backslash(position)
            elif self.tokens[position].text == "main":
                self.rewrite_main(position)
            elif self.tokens[position].text == "__shared__":
                self.rewrite_alignment(position)
                if self.is_extern(position):
                    token = self.tokens[position]
                    self.edits.append((token.begin, token.end, ["WARPBOOK_DYNAMIC_SHARED"]))
                    self.arrays += 1
            position += 1
        return self.apply()

    # ---- Reading tokens

    def is_run(self, position, character, count):
        """True where `count` tokens of one character follow each other without a space."""
        tokens = self.tokens[position : position + count]
        return len(tokens) == count and all(
            token.text == character and token.begin == tokens[0].begin + i for i, token in enumerate(tokens))

    def is_chevron(self, position, character):
        """True for `<<<`, and for `<< <` as some formatters leave it, which is nothing else in C++."""
        tokens = self.tokens[position : position + 3]
        return (len(tokens) == 3 and all(token.text == character for token in tokens)
                and not self.is_run(position, character, 4)
                and (tokens[0].end == tokens[1].begin or tokens[1].end == tokens[2].begin))

    def is_run_of(self, position, text):
        """True where tokens of one character spell the text without a space."""
        tokens = self.tokens[position : position + len(text)]
        return "".join(token.text for token in tokens) == text and tokens[-1].end - tokens[0].begin == len(text)

    def back_over_brackets(self, position):
        """From a closing bracket to its opening one; None where there is none."""
        stack = []
        while position >= 0:
            text = self.tokens[position].text
            if text == "<" and self.is_run(position - 1, "<", 2):  # a shift
                position -= 2
                continue
            if text in "<>" and self.is_run_of(position, text + "="):  # a comparison
                position -= 1
                continue
            if text in ")]}" and self.tokens[position].kind == "other":
                stack.append(CLOSING[text])
            elif text == ">" and (not stack or stack[-1] == "<"):  # In parentheses it is an operator.
                stack.append("<")
            elif text in "([{" and self.tokens[position].kind == "other":
                while stack and stack[-1] == "<":
                    stack.pop()  # That one was an operator after all.
                if not stack or stack.pop() != text:
                    return None
                if not stack:
                    return position
            elif text == "<" and stack and stack[-1] == "<":
                stack.pop()
                if not stack:
                    return position
            elif text == ";":
                return None
            position -= 1
        return None

    def callee_begin(self, position):
        """Where the expression that ends before the chevron begins, as a token's index; None where there is none."""
        begin = None
        position -= 1
        while position >= 0:
            token = self.tokens[position]
            # One name with its brackets...
            bracketed = False
            while token.kind == "other" and token.text in (")", "]", ">"):
                opening = self.back_over_brackets(position)
                if opening is None or (begin is not None and opening > 0 and
                                       self.tokens[opening - 1].text in KEYWORDS):  # if (x) (*pointer)<<<...>>>()
                    return begin
                bracketed = True
                begin, closing, position = opening, token.text, opening - 1
                if position < 0:
                    return begin
                token = self.tokens[position]
                if closing == ")" and (token.kind != "name" or token.text in KEYWORDS) and token.text not in ")]>":
                    return begin
            if token.kind != "name" or (bracketed and token.text in KEYWORDS):
                return begin
            begin = position
            position -= 1
            if position >= 0 and self.tokens[position].text == "template":
                begin = position
                position -= 1
            # ... and what it is a member of.
            if position < 0 or self.tokens[position].text not in ("::", ".", "->"):
                return begin
            scope = self.tokens[position].text == "::"
            begin = position if scope else begin
            position -= 1
            before = self.tokens[position] if position >= 0 else None
            if scope and (before is None or not (before.kind == "name" and before.text not in KEYWORDS
                                                 or before.text == ">")):
                return begin
        return begin

    def chevron_end(self, position):
        """The first token of the `>>>` that ends a configuration, which `(` follows; None where there is none."""
        depth = 0
        while position < len(self.tokens):
            token = self.tokens[position]
            if token.kind == "other":
                if token.text in "([{":
                    depth += 1
                elif token.text in ")]}":
                    depth -= 1
                elif token.text == ";" and depth <= 0:
                    return None
                elif depth == 0 and self.is_chevron(position, ">"):
                    after = position + 3
                    if after < len(self.tokens) and self.tokens[after].text == "(":
                        return position
                if depth < 0:
                    return None
            position += 1
        return None

    def closing(self, position):
        """The index of the parenthesis that closes the one at `position`; None where it stays open."""
        depth = 0
        while position < len(self.tokens):
            text = self.tokens[position].text if self.tokens[position].kind == "other" else ""
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if depth == 0:
                return position
            position += 1
        return None

    def is_extern(self, position):
        """Whether the declaration that holds the `__shared__` at `position` is `extern`."""
        for step in (-1, 1):
            at = position + step
            while 0 <= at < len(self.tokens) and self.tokens[at].text not in (";", "{", "}", "[", "="):
                if self.tokens[at].text == "extern":
                    return True
                at += step
        return False

    def ends_captures(self, position):
        """Whether the bracket closes a lambda's captures, and no index or attribute."""
        opening = self.back_over_brackets(position)
        return bool(opening and self.tokens[opening - 1].text in BEFORE_LAMBDA and self.tokens[opening + 1].text != "[")

    def is_constraint(self, position):
        """Whether the text at `position` is a constraint of an argument, as in `"=h"(x)`; nothing else in C++ looks so."""
        after = self.tokens[position + 1 : position + 2]
        return bool(CONSTRAINT.fullmatch(self.tokens[position].text) and after and after[0].text == "(")

    # ---- Changing them

    def rewrite_launch(self, position):
        """Rewrites the launch whose `<<<` is at `position`, and leaves to the compiler what is none; returns where to
        go on."""
        begin = self.callee_begin(position)
        chevron = self.chevron_end(position + 3)
        if begin is None or chevron is None:
            return position + 2
        last = self.closing(chevron + 3)
        if last is None:
            return position + 2
        opening, inside, closing = self.tokens[position], self.tokens[position + 2].end, self.tokens[chevron + 2]
        configuration = []
        for token in self.all[bisect.bisect_left(self.all, inside, key=lambda t: t.begin):]:
            if token.begin >= self.tokens[chevron].begin:
                break
            if kind_of(token):
                configuration.append((token.begin, token.end))
            elif configuration:
                configuration.append(" ")
        callee = self.tokens[begin].begin
        self.edits.append((callee, callee, ["(::warpbook::emulator::configure(", *configuration, "), "]))
        # The lines stay: of the configuration, the line breaks remain.
        self.edits.append((opening.begin, closing.end,
                           re.findall(r"\\?\r?\n", self.text[opening.begin : closing.end])))
        end = self.tokens[last].end
        self.edits.append((end, end, [", ::warpbook::emulator::launch())"]))
        self.launches += 1
        return chevron + 2

    def rewrite_lambda(self, position):
        """Puts the qualifiers of `[=] __device__ (int i) {` where attributes of lambdas stand: behind the parameters."""
        at = position + 1
        while at < len(self.tokens) and self.tokens[at].kind == "name" and self.tokens[at].text not in BEHIND_PARAMETERS:
            at += 1
        given = {token.text for token in self.tokens[position + 1 : at]}
        if not given <= {"__device__", "__host__"} and not self.ends_captures(position):  # A macro stands for them.
            return
        if at == position + 1 or at == len(self.tokens) or self.tokens[at].text not in ("(", "{"):
            return
        words = " ".join(token.text for token in self.tokens[position + 1 : at])
        has_parameters = self.tokens[at].text == "("
        closing = self.closing(at) if has_parameters else None
        if has_parameters and closing is None:
            return
        begin, end = self.tokens[position + 1].begin, self.tokens[at - 1].end
        self.edits.append((begin, end, [*re.findall(r"\\?\r?\n", self.text[begin:end]),
                                        *([] if has_parameters else [f"() {words}"])]))
        if has_parameters:
            after = self.tokens[closing].end
            self.edits.append((after, after, [f" {words}"]))

    def drop_backslash(self, position):
        """Before a comment that ends the line, nvcc takes a backslash for none."""
        token = self.tokens[position]
        if re.match(r"\\[ \t]*//", self.text[token.begin:]):
            self.edits.append((token.begin, token.end, [" "]))

    def rewrite_main(self, position):
        """Gives a `main` without a type the one that g++ gives it."""
        before = self.tokens[position - 1] if position > 0 else None
        last = self.closing(position + 1) if self.is_run(position + 1, "(", 1) else None
        if last is None or not self.is_run(last + 1, "{", 1):
            return
        line = self.text[self.text.rfind("\n", 0, before.begin) + 1 : before.begin + 1] if before else "#"
        if before and before.text not in ("}", ";") and not line.lstrip().startswith("#"):
            return
        self.edits.append((self.tokens[position].begin, self.tokens[position].begin, ["int "]))

    def rewrite_alignment(self, position):
        """Moves an `alignas(...)` that follows `__shared__` to the declaration's begin."""
        if [token.text for token in self.tokens[position + 1 : position + 3]] != ["alignas", "("]:
            return
        last = self.closing(position + 2)
        if last is None:
            return
        first = position
        while first > 0 and self.tokens[first - 1].text in ("extern", "static", "const", "volatile"):
            first -= 1
        begin, end = self.tokens[position + 1].begin, self.tokens[last].end
        self.edits.append((self.tokens[first].begin, self.tokens[first].begin, [(begin, end), " "]))
        self.edits.append((begin, end, []))

    def split_array(self, position):
        """Sets an array behind its declaration: g++ takes what clang does not."""
        name, at = self.tokens[position].text, position + 1
        while self.is_run(at, "[", 1) and self.closing(at) is not None:
            at = self.closing(at) + 1
        equals = at
        at += self.is_run(at, "=", 1)
        last = self.closing(at) if self.is_run(at, "{", 1) else None
        if last is None or not self.is_run(last + 1, ";", 1):
            return
        begin, end = self.tokens[at].begin, self.tokens[last].end
        list_of = [] if last == at + 1 else [
            f" {{ static_assert(__is_trivially_copyable(__typeof__({name}[0]))); const __typeof__({name}[0]) warpbook_list[] = ",
            (begin, end), f"; __builtin_memcpy({name}, warpbook_list, "
            f"sizeof {name} < sizeof warpbook_list ? sizeof {name} : sizeof warpbook_list); }}"]
        self.edits.append((self.tokens[equals].begin, end, [f"; __builtin_memset({name}, 0, sizeof {name});", *list_of]))

    def rewrite_registers(self, position):
        """Doubles the percent signs of special registers in an asm statement that has arguments."""
        at = position + 1
        while at < len(self.tokens) and self.tokens[at].kind == "name" or self.is_run(at, "(", 1):
            at += 1
        last = at
        while last < len(self.tokens) and self.tokens[last].kind in ("string", "name"):  # a name: a macro
            last += 1
        if last < len(self.tokens) and self.tokens[last].text in (":", "::"):
            for token in self.tokens[at:last]:
                for found in REGISTER.finditer(token.text) if token.kind == "string" else ():
                    self.edits.append((token.begin + found.start(), token.begin + found.start(), ["%"]))

    def rewrite_constraint(self, position):
        token = self.tokens[position]
        before = self.back_over_brackets(position - 1) if self.tokens[position - 1].text == ")" else None
        if before and self.is_constraint(before - 1):  # nvcc misses no comma between arguments
            self.edits.append((token.begin, token.begin, [", "]))
        if FOREIGN.fullmatch(token.text):
            self.edits.append((token.end - 2, token.end - 1, ["r"]))

    def apply(self):
        output, pieces, size, at = [], [], 0, 0

        def add(text, old):
            nonlocal size
            if text:
                output.append(text)
                pieces.append((size, old))
                size += len(text)

        for begin, end, replacement in sorted(self.edits, key=lambda edit: (edit[0], edit[1])):
            add(self.text[at:begin], at)
            for piece in replacement:
                if isinstance(piece, str):
                    add(piece, None)
                else:
                    add(self.text[piece[0] : piece[1]], piece[0])
            at = end
        add(self.text[at:], at)
        return Rewritten("".join(output), pieces or [(0, 0)], self.text, self.launches, self.arrays)


def rewrite(text, places=()):
    """The C++ of a CUDA source text."""
    return Rewriter(text, places).run()


def split_arrays(text, places):
    """A C++ text in which only these arrays are set behind their declarations."""
    rewriter = Rewriter(text, places)
    rewriter.split_arrays()
    return rewriter.apply()
