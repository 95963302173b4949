"""Tells a file's language from its name. One table serves searching by type, counting languages and parsing."""

from __future__ import annotations

from functools import cache
from pathlib import PurePosixPath
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Comments = Literal["c", "hash", "html", "dash", "none"]


@dataclass(frozen=True, slots=True)
class Language:
    """A language and the file names that belong to it. `types` are further words for it in `search_text`; `names` are
    whole file names, `comments` the style of its comments."""

    id: str
    name: str
    endings: tuple[str, ...]
    types: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    comments: Comments = "c"


LANGUAGES = (
    Language("python", "Python", (".py", ".pyi", ".pyw"), ("py",), comments="hash"),
    Language("javascript", "JavaScript", (".js", ".jsx", ".mjs", ".cjs"), ("js",)),
    Language("typescript", "TypeScript", (".ts", ".mts", ".cts"), ("ts",)),
    Language("tsx", "TypeScript (TSX)", (".tsx",)),
    Language("rust", "Rust", (".rs",), ("rs",)),
    Language("go", "Go", (".go",), ("golang",)),
    Language("java", "Java", (".java",)),
    Language("c", "C", (".c", ".h")),
    Language("cpp", "C++", (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp", ".inl"), ("c++",)),
    Language("csharp", "C#", (".cs", ".csx"), ("cs", "c#")),
    Language("php", "PHP", (".php", ".phtml")),
    Language("ruby", "Ruby", (".rb", ".rake", ".gemspec"), ("rb",), ("Gemfile", "Rakefile"), "hash"),
    Language("bash", "Shell", (".sh", ".bash", ".zsh", ".ksh"), ("sh", "shell"), (".bashrc", ".zshrc"), "hash"),
    Language("html", "HTML", (".html", ".htm", ".xhtml"), comments="html"),
    Language("css", "CSS", (".css",)),
    Language("scss", "SCSS", (".scss", ".sass")),
    Language("less", "Less", (".less",)),
    Language("kotlin", "Kotlin", (".kt", ".kts"), ("kt",)),
    Language("swift", "Swift", (".swift",)),
    Language("scala", "Scala", (".scala", ".sbt")),
    Language("dart", "Dart", (".dart",)),
    Language("objc", "Objective-C", (".m", ".mm")),
    Language("lua", "Lua", (".lua",), comments="dash"),
    Language("perl", "Perl", (".pl", ".pm"), comments="hash"),
    Language("r", "R", (".r",), comments="hash"),
    Language("julia", "Julia", (".jl",), comments="hash"),
    Language("elixir", "Elixir", (".ex", ".exs"), comments="hash"),
    Language("erlang", "Erlang", (".erl", ".hrl"), comments="none"),
    Language("haskell", "Haskell", (".hs",), ("hs",), comments="dash"),
    Language("ocaml", "OCaml", (".ml", ".mli"), comments="none"),
    Language("clojure", "Clojure", (".clj", ".cljs", ".cljc", ".edn"), comments="none"),
    Language("zig", "Zig", (".zig",)),
    Language("nix", "Nix", (".nix",), comments="hash"),
    Language("sql", "SQL", (".sql",), comments="dash"),
    Language("graphql", "GraphQL", (".graphql", ".gql"), comments="hash"),
    Language("protobuf", "Protocol Buffers", (".proto",), ("proto",)),
    Language("vue", "Vue", (".vue",), comments="html"),
    Language("svelte", "Svelte", (".svelte",), comments="html"),
    Language("astro", "Astro", (".astro",), comments="html"),
    Language("xml", "XML", (".xml", ".xsd", ".xsl", ".svg"), comments="html"),
    Language("json", "JSON", (".json", ".jsonc", ".json5"), comments="none"),
    Language("yaml", "YAML", (".yaml", ".yml"), ("yml",), comments="hash"),
    Language("toml", "TOML", (".toml",), comments="hash"),
    Language("ini", "INI", (".ini", ".cfg", ".conf"), comments="hash"),
    Language("markdown", "Markdown", (".md", ".markdown", ".mdx"), ("md",), comments="html"),
    Language("rst", "reStructuredText", (".rst",), comments="none"),
    Language("text", "Text", (".txt",), ("txt",), comments="none"),
    Language("dockerfile", "Dockerfile", (".dockerfile",), ("docker",), ("Dockerfile",), "hash"),
    Language("make", "Makefile", (".mk",), ("makefile",), ("Makefile", "GNUmakefile", "Justfile"), "hash"),
    Language("cmake", "CMake", (".cmake",), (), ("CMakeLists.txt",), "hash"),
    Language("hcl", "HCL", (".tf", ".tfvars", ".hcl"), ("terraform", "tf"), comments="hash"),
    Language("vim", "Vim script", (".vim",), (), (".vimrc",), "none"),
    Language("lisp", "Lisp", (".lisp", ".el", ".scm"), comments="none"),
    Language("fsharp", "F#", (".fs", ".fsx", ".fsi"), ("fs", "f#")),
    Language("powershell", "PowerShell", (".ps1", ".psm1"), ("ps1",), comments="hash"),
    Language("tex", "TeX", (".tex", ".sty", ".bib"), comments="none"),
    Language("solidity", "Solidity", (".sol",)),
    Language("groovy", "Groovy", (".groovy", ".gradle")),
)


@cache
def _by_ending() -> dict[str, Language]:
    return {ending: language for language in reversed(LANGUAGES) for ending in language.endings}


@cache
def _by_name() -> dict[str, Language]:
    return {name: language for language in LANGUAGES for name in language.names}


def language_of(path: str) -> Language | None:
    """Return the language of a file with this name or path, or None."""
    name = path.rsplit("/", 1)[-1]
    found = _by_name().get(name)
    return found if found is not None else _by_ending().get(PurePosixPath(name).suffix.lower())


def find_language(word: str) -> Language | None:
    """Find a language by its id, its name, one of its types or a file ending, ignoring case; None if there is none."""
    plain = word.lower().removeprefix(".")
    for language in LANGUAGES:
        if plain in (language.id, language.name.lower(), *language.types) or f".{plain}" in language.endings:
            return language
    return None


def endings_of_type(word: str) -> tuple[str, ...] | None:
    """Return the file name endings that a type stands for; None for an unknown type. TypeScript includes TSX, as
    JavaScript includes JSX."""
    language = find_language(word)
    if language is None:
        return None
    further = (".tsx",) if language.id == "typescript" else ()
    return (*language.endings, *further, *(name.lower() for name in language.names))
