"""The commands of every day in projects of many kinds: after one "always" they run without asking in the sandbox.

`EACH_TIME` are those that ask even so, with what the question says.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.classification import classify
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import propose
from tests.command_policy.test_rules import Allowed, make_place

PROJECTS: dict[str, dict[str, str]] = {
    "npm": {"package.json": '{"scripts": {"test": "jest", "build": "tsc"}}', "src/a.ts": "", "src/a.test.ts": ""},
    "pnpm": {"package.json": "{}", "pnpm-workspace.yaml": "", "packages/app/src/a.ts": ""},
    "yarn": {"package.json": "{}", "yarn.lock": "", "src/a.js": ""},
    "uv": {"pyproject.toml": "", "uv.lock": "", "src/app/a.py": "", "tests/test_a.py": ""},
    "poetry": {"pyproject.toml": "[tool.poetry]", "app/a.py": "", "tests/test_a.py": ""},
    "venv": {"setup.py": "", "app/a.py": "", "tests/test_a.py": "", "requirements.txt": "", "manage.py": ""},
    "tox": {"tox.ini": "", "noxfile.py": "", "tests/test_a.py": ""},
    "cargo": {"Cargo.toml": "", "src/main.rs": "", "tests/it.rs": ""},
    "go": {"go.mod": "", "main.go": "", "internal/a/a_test.go": ""},
    "maven": {"pom.xml": "", "mvnw": "#!/bin/sh\n", "src/main/java/A.java": ""},
    "gradle": {"build.gradle": "", "gradlew": "#!/bin/sh\n", "src/A.java": ""},
    "make": {"Makefile": "", "src/a.c": "", "include/a.h": ""},
    "cmake": {"CMakeLists.txt": "", "src/a.cpp": "", "build/CTestTestfile.cmake": ""},
    "ruby": {"Gemfile": "", "Rakefile": "", "lib/a.rb": "", "spec/a_spec.rb": "", "test/a_test.rb": ""},
    "php": {"composer.json": "", "src/A.php": "", "tests/ATest.php": ""},
    "elixir": {"mix.exs": "", "lib/a.ex": "", "test/a_test.exs": ""},
    "dotnet": {"app.sln": "", "src/A.cs": ""},
}
# What is answered with "always", and what runs without asking from then on.
UNASKED: dict[str, Sequence[tuple[str, Sequence[str]]]] = {
    "npm": [
        ("npm test", ["npm test", "npm test 2>&1 | tail -20", "npm test 2>&1 | grep -c FAIL"]),
        ("npm run build", ["npm run build", "npm run build 2>/dev/null | head -5"]),
        ("npm test -- --watch=false src/a.test.ts", ["npm test -- --watch=false src/a.test.ts"]),
        ("npm run lint -- --fix", ["npm run lint -- --fix"]),
        ("npx tsc --noEmit", ["npx tsc --noEmit"]),
        ("npx tsgo --noEmit", ["npx tsgo --noEmit | tail -5"]),
        ("npx jest src/a.test.ts -t name", ["npx jest src/a.test.ts -t name", "npx jest -t other src"]),
        ("tsc --noEmit -p .", ["tsc --noEmit -p ."]),
        ("eslint src --ext .ts", ["eslint src --ext .ts", "eslint src/a.ts --ext .ts"]),
        ("node_modules/.bin/vitest run src", ["node_modules/.bin/vitest run src/a.test.ts"]),
        ("node --test src", ["node --test src"]),
        ("node --test", ["node --test", "node --test | tail -8"]),
        ("npm ls", ["npm ls"]),
    ],
    "pnpm": [
        ("pnpm test", ["pnpm test", "pnpm test | tail -5"]),
        ("pnpm -r test", ["pnpm -r test"]),
        ("pnpm run build", ["pnpm run build"]),
        ("pnpm lint", ["pnpm lint"]),
        ("pnpm exec tsc --noEmit", ["pnpm exec tsc --noEmit"]),
        ("pnpm build", ["pnpm build"]),
    ],
    "yarn": [
        ("yarn test", ["yarn test"]),
        ("yarn run build", ["yarn run build"]),
        ("yarn lint", ["yarn lint"]),
        ("yarn exec eslint src", ["yarn exec eslint src/a.js"]),
    ],
    "uv": [
        ("uv run pytest -q", ["uv run pytest -q", "uv run pytest -q 2>&1 | tail -30"]),
        ("uv run pytest -q tests/test_a.py", ["uv run pytest -q tests", "uv run pytest tests/test_a.py -q"]),
        ("uv run ruff check .", ["uv run ruff check src", "uv run ruff check ."]),
        ("uv run mypy src", ["uv run mypy src tests"]),
        ("uv run python -m pytest", ["uv run python -m pytest"]),
        ("uv tree", ["uv tree"]),
        ("uv run --no-sync pytest -q", ["uv run --no-sync pytest -q"]),
        ("uv --offline run --frozen ruff check .", ["uv --offline run --frozen ruff check src"]),
    ],
    "poetry": [
        ("poetry run pytest -x tests", ["poetry run pytest -x tests/test_a.py"]),
        ("poetry run mypy app", ["poetry run mypy app/a.py"]),
        ("poetry check", ["poetry check"]),
    ],
    "venv": [
        ("pytest", ["pytest", "pytest 2>&1 | tail -5", "cd tests && pytest"]),
        ("pytest -q tests/test_a.py::test_one", ["pytest -q tests/test_a.py::test_two", "pytest -q tests"]),
        ("pytest -k 'a and not b' -x tests", ["pytest -x -k 'c or d' tests"]),
        (".venv/bin/pytest -q", [".venv/bin/pytest -q"]),
        (".venv/bin/python -m pytest -q tests", [".venv/bin/python -m pytest -q tests/test_a.py"]),
        ("python3 -m unittest discover tests", ["python3 -m unittest discover tests"]),
        ("python manage.py test app", ["python manage.py test app"]),
        ("ruff check .", ["ruff check app", "ruff check tests/test_a.py"]),
        ("ruff format --check .", ["ruff format --check app"]),
        ("ruff check --fix app", ["ruff check app --fix"]),
        ("mypy app", ["mypy app tests"]),
        ("black --check .", ["black --check app"]),
        ("coverage report", ["coverage report"]),
        ("pip list", ["pip list"]),
        ("python3 --version", ["python3 --version"]),
    ],
    "tox": [
        ("tox -e py311", ["tox -e py311", "tox -e py311 | tail -40"]),
        ("nox -s tests", ["nox -s tests"]),
        ("tox", ["tox"]),
    ],
    "cargo": [
        ("cargo test", ["cargo test", "cargo test 2>&1 | grep -E 'FAILED|panicked'"]),
        ("cargo test parse -- --nocapture", ["cargo test parse -- --nocapture"]),
        ("cargo build --release", ["cargo build --release"]),
        ("cargo check", ["cargo check"]),
        ("cargo clippy -- -D warnings", ["cargo clippy -- -D warnings"]),
        ("cargo fmt --check", ["cargo fmt --check"]),
        ("cargo metadata --format-version 1", ["cargo metadata --format-version 1"]),
        ("cargo run -- --help", ["cargo run -- --help"]),
    ],
    "go": [
        ("go test ./...", ["go test ./...", "go test ./internal/...", "go test ./... 2>&1 | tail"]),
        ("go test -run TestA -v ./internal/a", ["go test -v -run TestB ./internal/a"]),
        ("go build ./...", ["go build ./..."]),
        ("go vet ./...", ["go vet ./internal/..."]),
        ("gofmt -l .", ["gofmt -l internal"]),
        ("go version", ["go version"]),
        ("golangci-lint run", ["golangci-lint run"]),
    ],
    "maven": [
        ("mvn -q test", ["mvn -q test"]),
        ("./mvnw test -Dtest=ATest", ["./mvnw test -Dtest=ATest"]),
        ("mvn package -DskipTests", ["mvn package -DskipTests"]),
    ],
    "gradle": [
        ("./gradlew test", ["./gradlew test", "./gradlew test | tail -30"]),
        ("./gradlew build --offline", ["./gradlew build --offline"]),
        ("gradle :app:test", ["gradle :app:test"]),
    ],
    "make": [
        ("make", ["make", "make 2>&1 | tail -20"]),
        ("make test", ["make test"]),
        ("make -j4 all", ["make -j4 all"]),
        ("gcc -Wall -Iinclude -c src/a.c -o a.o", ["gcc -c src/a.c -Wall -Iinclude -o a.o"]),
        ("shellcheck src", ["shellcheck src"]),
    ],
    "cmake": [
        ("cmake -S . -B build", ["cmake -S . -B build"]),
        ("cmake --build build --parallel 4", ["cmake --build build --parallel 8"]),
        ("ctest --test-dir build --output-on-failure", ["ctest --test-dir build --output-on-failure"]),
        ("ninja", ["ninja"]),
    ],
    "ruby": [
        ("bundle exec rspec", ["bundle exec rspec", "bundle exec rspec | tail -5"]),
        ("bundle exec rspec spec/a_spec.rb", ["bundle exec rspec spec"]),
        ("bundle exec rubocop lib", ["bundle exec rubocop spec lib"]),
        ("rake test", ["rake test"]),
        ("rails test test/a_test.rb", ["rails test test"]),
        ("ruby test/a_test.rb", ["ruby test/a_test.rb"]),
        ("ruby -c lib/a.rb", ["ruby -c lib/a.rb"]),
    ],
    "php": [
        ("vendor/bin/phpunit tests", ["vendor/bin/phpunit tests/ATest.php"]),
        ("composer test", ["composer test"]),
        ("php -l src/A.php", ["php -l src/A.php"]),
        ("phpstan analyse src", ["phpstan analyse src"]),
    ],
    "elixir": [
        ("mix test", ["mix test"]),
        ("mix test test/a_test.exs", ["mix test test"]),
        ("mix format --check-formatted", ["mix format --check-formatted"]),
        ("mix compile", ["mix compile"]),
    ],
    "dotnet": [("dotnet test", ["dotnet test"]), ("dotnet build -c Release", ["dotnet build -c Release"])],
}
EVERYWHERE: Sequence[tuple[str, Sequence[str]]] = [
    ("git status", ["git status", "git status | head -5"]),
    ("git status --short", ["git status --short"]),
    ("git diff", ["git diff", "git diff | cat"]),
    ("git diff --stat HEAD~1", ["git diff HEAD~3 --stat", "git diff --stat main..HEAD"]),
    ("git log --oneline -10", ["git log --oneline -5", "git log --oneline -20 | head -3"]),
    ("git log -n 5 --stat", ["git log --stat -n 20"]),
    ("git show HEAD", ["git show HEAD~2", "git show main"]),
    ("ls -la src", ["ls -la", "ls -la tests"]),
    ("grep -rn def --include=*.py src", ["grep -rn class --include=*.ts src", "grep -rn x ."]),
    ("sed 's/^[ \\t]*//' README.md", ["sed 's/a/b/' README.md"]),
    ("sed -n '1,20p' README.md", ["sed -n '5,9p' README.md"]),
    ("find . -name '*.py' -type f", ["find src -type f -name '*.ts'"]),
    ("wc -l README.md", ["wc -l README.md", "wc -l ./*.md"]),
    ("cat README.md", ["cat README.md | head -3"]),
    ("mkdir -p build/out", ["mkdir -p build/other"]),
]
EACH_TIME: Sequence[tuple[str, str]] = [
    ("npm install", "is not a command of npm that North knows"),
    ("npm ci", "is not a command of npm that North knows"),
    ("npm exec cowsay", "is not a command of npm that North knows"),
    ("npx cowsay", "`cowsay` is not a program North knows"),
    ("uv add requests", "is not a command of uv that North knows"),
    ("uv run mytool", "`mytool` is not a program North knows"),
    ("poetry run bash", "is a shell"),
    ("poetry install", "is not a command of poetry that North knows"),
    ("pip install -r requirements.txt", "is not a command of pip that North knows"),
    ("cargo install ripgrep", "is not a command of cargo that North knows"),
    ("go get example.com/x", "is not a command of go that North knows"),
    ("make CC=clang", "a variable of make can name programs"),
    ("python3 -c 'print(1)'", "`-c` is not a flag of python3 that North knows"),
    ("node -e 1", "`-e` is not a flag of node that North knows"),
    ("./scripts/run.sh", "`run.sh` is not a program North knows"),
    ("git add -A", "changes the repository"),
    ("git commit -m x", "changes the repository"),
    ("git checkout main", "changes the repository"),
    ("git push", "changes the repository"),
    ("npm run build && npm test", "more than one command of the line changes something"),
    ("npm run build && ls dist", "a command before it may change what it reads"),
    ("ls *.py", "could become a flag"),
    ("docker compose up", "reaches other machines"),
    ("rm -rf build", "changes files or the machine"),
]


def at(tmp_path: Path, kind: str) -> Place:
    root = tmp_path / kind
    place = make_place(root, contained=True)
    for name, text in {**PROJECTS[kind], "README.md": "x"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if name in ("mvnw", "gradlew"):
            path.chmod(0o755)
    return place


def test_every_kind_has_its_lines() -> None:
    assert PROJECTS.keys() == UNASKED.keys()


@pytest.mark.parametrize(
    ("kind", "first", "later"),
    [(kind, first, later) for kind, rows in UNASKED.items() for first, later in [*rows, *EVERYWHERE]],
)
def test_one_always_is_enough(tmp_path: Path, kind: str, first: str, later: Sequence[str]) -> None:
    place = at(tmp_path, kind)
    rule = propose(first, place)
    assert rule is not None
    for line in (first, *later):
        verdict = classify(line, place=place, approvals=Allowed(rules=(rule,)))
        assert (verdict.status, verdict.contained) == ("always", True), (line, rule, verdict)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("npm test 2>&1 | tail -20", Rule(("npm", "test"), (), "none")),
        ("cd src && npm test -- a.test.ts | grep -c FAIL", Rule(("npm", "test", "--", "a.test.ts"), (), "none")),
        ("npm run build && echo done", Rule(("npm", "run", "build"), (), "none")),
        ("git log --oneline | head -5", Rule(("git", "log"), ("--oneline",), "none")),
        ("npm test && git status", None),
        ("cd .. && npm test", None),
        ("npm test | xargs touch", None),
        ("npm test &", None),
        ("echo a | cat", None),
    ],
)
def test_always_for_a_line_is_about_its_one_command(tmp_path: Path, line: str, rule: Rule | None) -> None:
    place = at(tmp_path, "npm")
    assert propose(line, place) == rule
    if rule is not None:
        assert classify(line, place=place, approvals=Allowed(rules=(rule,))).status == "always"


@pytest.mark.parametrize(("line", "why"), EACH_TIME)
def test_what_asks_each_time_says_why(tmp_path: Path, line: str, why: str) -> None:
    place = at(tmp_path, "npm")
    program = line.split(maxsplit=1)[0]
    rules = [Rule((name,), ("-*",)) for name in (program, "ls", "npm")]
    verdict = classify(line, place=place, approvals=Allowed(rules=tuple(rules)))
    assert verdict.status is None
    assert why in " ".join((*verdict.reasons, *verdict.warnings))
    assert propose(line, place) is None
