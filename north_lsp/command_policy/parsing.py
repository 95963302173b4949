"""Parses a command line into a list of simple commands, or says why it is more than that.

Two parsers must agree. The first accepts only what may pass without asking: words, quotes, `&& || | |& ; &`, comments,
redirects to `/dev/null` and between descriptors. The second is a full grammar of bash (tree-sitter), which names
anything else it finds. Loading it takes a while: call `parse` on a thread.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.command_identity import trimmed

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_LENGTH = 8192

_RESERVED = frozenset(
    {
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "in", "function",
        "time", "{", "}", "[[", "]]", "coproc", "select",
    }
)  # fmt: skip
_NAME = lazy_pattern(r"[A-Za-z0-9_.+/-][A-Za-z0-9_.+/@-]*\Z|\[\Z|:\Z")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_BLANK = " \t"
_OPERATORS = ("&&", "||", "|&", ";", "&", "|", "\n")
_WORD_END = frozenset(" \t\n;&|<>()")
_TILDE_BEHIND = frozenset("=:")
_LITERAL_DOLLAR = frozenset(' "|),./:%]')

_FORBIDDEN = {
    "command_substitution": "a command substitution",
    "process_substitution": "a process substitution",
    "expansion": "a parameter expansion",
    "simple_expansion": "a parameter expansion",
    "arithmetic_expansion": "an arithmetic expansion",
    "brace_expression": "a brace expansion",
    "ansi_c_string": "a $'…' string",
    "translated_string": 'a $"…" string',
    "subshell": "a subshell",
    "compound_statement": "a group",
    "function_definition": "a function definition",
    "variable_assignment": "an assignment",
    "variable_assignments": "an assignment",
    "declaration_command": "a declaration",
    "unset_command": "an unset",
    "test_command": "a test",
    "if_statement": "an if",
    "for_statement": "a loop",
    "c_style_for_statement": "a loop",
    "while_statement": "a loop",
    "case_statement": "a case",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "heredoc_body": "a here-document",
    "ERROR": "something that is not valid bash",
}
_ALLOWED = frozenset(
    {
        "program", "list", "pipeline", "command", "command_name", "word", "string", "string_content", "raw_string",
        "concatenation", "number", "comment", "redirected_statement", "file_redirect", "file_descriptor",
        "negated_command", "extglob_pattern", "regex", "special_character",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """One word. `text` is what the program gets, unless `is_glob`: then it is a pattern. `starts_open` says that the
    word begins with a wildcard or a tilde, so that its first character is unknown."""

    text: str
    raw: str
    is_glob: bool = False
    starts_open: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words, and its source as the user sees it. `link` is the operator after it, `negated`
    says that it follows an exclamation mark."""

    words: tuple[Word, ...]
    source: str
    link: str = ""
    negated: bool = False

    @property
    def program(self) -> str:
        return self.words[0].text


class NotSimple(ValueError):
    """Why a command line is not a list of simple commands; `part` is the piece that it is about."""

    def __init__(self, reason: str, part: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.part = part


def parse(command: str) -> tuple[Simple, ...]:
    """Return the simple commands of a line in order. Raises NotSimple."""
    _check_characters(command)
    simple = _Reader(command).read()
    _check_grammar(command)
    return simple


def _is_number(raw: str) -> bool:
    """Return whether bash reads a word as the number of a descriptor."""
    return raw.isascii() and raw.isdecimal()


def _check_characters(command: str) -> None:
    if len(command) > MAX_LENGTH:
        raise NotSimple(f"it is longer than the {MAX_LENGTH} characters that are analyzed", command[:80])
    for character in command:
        if character in "\n\t" or " " <= character <= "~":
            continue
        category = unicodedata.category(character)
        if category[0] in "CZ" or character.isspace():
            raise NotSimple(f"it contains the invisible character U+{ord(character):04X}", repr(character))


class _Reader:
    """The first parser. Anything it does not know raises NotSimple."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> tuple[Simple, ...]:
        found: list[Simple] = []
        while True:
            self._skip_blank(newlines=True)
            if self._at >= len(self._text):
                break
            simple = self._command()
            found.append(simple)
        if not found:
            raise NotSimple("there is no command in it", self._text[:80])
        if found[-1].link in ("&&", "||", "|", "|&"):
            raise NotSimple("it is incomplete", found[-1].link)
        return tuple(found)

    def _peek(self, size: int = 1) -> str:
        return self._text[self._at : self._at + size]

    def _skip_blank(self, *, newlines: bool = False) -> None:
        while self._at < len(self._text):
            here = self._peek()
            if here in _BLANK or (newlines and here == "\n"):
                self._at += 1
            elif self._peek(2) == "\\\n":
                self._at += 2
            elif here == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return

    def _command(self) -> Simple:
        start = self._at
        words: list[Word] = []
        negated = redirected = False
        while True:
            self._skip_blank()
            here = self._peek()
            if here == "" or (here in "\n;&|" and self._peek(2) not in ("&>",)):
                break
            if here in "<>" or self._peek(2) == "&>":
                redirected = True
                self._redirect()
                continue
            if here in "()":
                raise NotSimple("it contains a subshell or a group", self._near())
            word = self._word()
            if word.raw == "[":
                word = Word("[", "[")
            if self._peek() in ("<", ">"):
                if _is_number(word.raw):
                    redirected = True
                    self._redirect()
                    continue
                if word.raw.startswith("{"):
                    raise NotSimple("it assigns a variable", word.raw)
            if not words:
                if word.raw == "!" and not negated:
                    if redirected:
                        raise NotSimple("an exclamation mark after a redirection is a program", word.raw)
                    negated = True
                    continue
                self._check_program(word)
            words.append(word)
        source = trimmed(self._text[start : self._at])
        if not words:
            raise NotSimple("a command without a program", source or self._near())
        return Simple(tuple(words), source, self._link(), negated)

    def _check_program(self, word: Word) -> None:
        if word.raw in _RESERVED:
            raise NotSimple(f"it uses the shell's `{word.raw}`", word.raw)
        if _ASSIGNMENT.match(word.raw):
            raise NotSimple("it assigns a variable", word.raw)
        if word.raw != word.text or (word.is_glob and word.raw != "["):
            raise NotSimple("the program's name is quoted, escaped or a pattern", word.raw)
        if not _NAME.match(word.text):
            raise NotSimple("the program's name has unusual characters", word.raw)

    def _link(self) -> str:
        for operator in _OPERATORS:
            if self._text.startswith(operator, self._at):
                if operator == ";" and self._peek(2) in (";;", ";&"):
                    raise NotSimple("it contains a part of a case", self._near())
                self._at += len(operator)
                return operator
        return ""

    def _redirect(self) -> None:
        start = self._at
        match = re.compile(r"&>>?|>&|<&|>>|>\||<>|<<<|<<-?|>|<").match(self._text, self._at)
        operator = match[0] if match else ""
        self._at += len(operator)
        self._skip_blank_in_line()
        target = self._word() if self._peek() not in ("", *_WORD_END) else Word("", "")
        part = self._text[start : self._at]
        if operator in ("<<", "<<-", "<<<"):
            raise NotSimple("it contains a here-document or a here-string", part)
        if operator in (">&", "<&") and (_is_number(target.raw) or target.raw == "-"):
            return
        if operator in ("&>", "&>>", ">&", ">", ">>", "<", ">|") and target.raw == "/dev/null":
            return
        raise NotSimple("it redirects to or from a file", part)

    def _skip_blank_in_line(self) -> None:
        while self._peek() and self._peek() in _BLANK:
            self._at += 1

    def _word(self) -> Word:
        start = self._at
        text: list[str] = []
        is_glob = False
        braces: list[str] = []
        starts_open = self._peek() in ("*", "?", "[", "~")
        while self._at < len(self._text):
            here = self._peek()
            if here in _WORD_END:
                if here in "<>" and _is_number(self._text[start : self._at]):
                    break
                if here == "(":
                    raise NotSimple("it contains an unquoted parenthesis", self._near())
                break
            if here == "'":
                text.append(self._single())
            elif here == '"':
                text.append(self._double())
            elif here == "\\":
                if self._peek(2) == "\\\n":
                    self._at += 2
                    continue
                if self._at + 1 >= len(self._text):
                    raise NotSimple("it ends with a backslash", self._near())
                text.append(self._text[self._at + 1])
                self._at += 2
            elif here == "$":
                following = self._text[self._at + 1 : self._at + 2]
                if following and (following == "(" or following not in _WORD_END):
                    raise NotSimple(self._dollar(following), self._near())
                text.append(here)
                self._at += 1
            elif here == "`":
                raise NotSimple("it contains a command substitution", self._near())
            else:
                is_glob = is_glob or here in "*?["
                if here == "~" and self._text[self._at - 1] in _TILDE_BEHIND and self._at > start:
                    raise NotSimple("it contains a tilde that may stand for a folder", self._near())
                if here in "{},":
                    braces.append(here)
                elif here == "." and self._peek(2) == "..":
                    braces.append("..")
                text.append(here)
                self._at += 1
        raw = self._text[start : self._at]
        if "{" in braces and any(one in braces[braces.index("{") :] for one in (",", "..")):
            raise NotSimple("it contains a brace expansion", raw)
        return Word("".join(text), raw, is_glob, starts_open)

    def _dollar(self, following: str) -> str:
        if following == "(":
            arithmetic = self._text.startswith("$((", self._at)
            return f"it contains {'an arithmetic expansion' if arithmetic else 'a command substitution'}"
        if following in "'\"":
            return "it contains a $'…' string"
        return "it contains a parameter expansion"

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise NotSimple("a quote is not closed", self._near())
        inner = self._text[self._at + 1 : end]
        self._at = end + 1
        return inner

    def _double(self) -> str:
        opening = self._near()
        self._at += 1
        inner: list[str] = []
        while True:
            here = self._peek()
            if here == "":
                raise NotSimple("a quote is not closed", opening)
            if here == '"':
                self._at += 1
                return "".join(inner)
            if here == "`":
                raise NotSimple("it contains a command substitution", self._near())
            if here == "$":
                following = self._text[self._at + 1 : self._at + 2]
                if following not in _LITERAL_DOLLAR:
                    raise NotSimple(
                        self._dollar(following) if following != "'" else "it contains a dollar", self._near()
                    )
            if here == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                escaped = self._text[self._at + 1]
                inner.append("" if escaped == "\n" else escaped)
                self._at += 2
                continue
            inner.append(here)
            self._at += 1

    def _near(self) -> str:
        return self._text[self._at : self._at + 40].split("\n")[0]


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _check_grammar(command: str) -> None:
    """Check the line with the full grammar. Raises NotSimple for anything beyond simple commands."""
    data = command.encode("utf-8")
    tree = _parser().parse(data)
    waiting: list[Node] = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_missing:
            raise NotSimple("something is missing in it", _shown(node, data))
        if node.is_named:
            kind = node.type
            if kind == "test_command" and data[node.start_byte : node.start_byte + 2] != b"[[":
                continue  # `[` is an ordinary command, whose words the first parser has read
            if kind in _FORBIDDEN:
                raise NotSimple(f"it contains {_FORBIDDEN[kind]}", _shown(node, data))
            if kind not in _ALLOWED:
                raise NotSimple(f"it contains a {kind.replace('_', ' ')}", _shown(node, data))
        waiting.extend(node.children)


def _shown(node: Node, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")[:80]
