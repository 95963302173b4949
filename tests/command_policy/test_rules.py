"""What rules let pass and what they do not: the known ways past such rules, and the commands of every day."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.classification import classify
from north_lsp.command_policy.places import Place
from north_lsp.command_policy.rules import find_uncovered, propose
from north_lsp.storage.command_identity import trimmed
from north_lsp.workspace.paths import Roots

# As generous as rules can be: whatever still asks does so for a reason of its own.
GENEROUS = [
    Rule((program,), ("-*",))
    for program in [
        "git",
        "ls",
        "cat",
        "grep",
        "rg",
        "find",
        "fd",
        "sort",
        "uniq",
        "head",
        "tail",
        "wc",
        "echo",
        "printf",
        "sed",
        "awk",
        "tar",
        "env",
        "xargs",
        "timeout",
        "nice",
        "nohup",
        "command",
        "builtin",
        "eval",
        "exec",
        "sh",
        "bash",
        "python3",
        "node",
        "npm",
        "make",
        "tee",
        "dd",
        "cp",
        "mv",
        "rm",
        "date",
        "less",
        "man",
        "jq",
        "diff",
        "tree",
        "file",
        "ssh",
        "curl",
        "sudo",
        "go",
        "cargo",
        "pytest",
        "pip",
        "npx",
        "time",
        "perl",
        "ruby",
        "docker",
        "cd",
        "test",
        "[",
        "true",
        "false",
        "pwd",
        "let",
        "unset",
        "read",
        "source",
        ".",
        "trap",
        "alias",
        "export",
        "declare",
        "set",
        "shopt",
        "enable",
        "hash",
        "kill",
        "ps",
        "xxd",
        "iconv",
        "hostname",
        "base64",
        "zip",
        "ln",
        "chmod",
        "vim",
        "ed",
        "column",
        "cut",
        "tr",
        "stat",
        "du",
        "basename",
        "dirname",
        "which",
        "type",
        "sleep",
        "mkdir",
        "touch",
        "rmdir",
        "seq",
        "tac",
        "nl",
        "rev",
        "paste",
        "join",
        "comm",
        "cmp",
        "md5sum",
        "sha256sum",
        "strings",
        "od",
        "hexdump",
        "id",
        "whoami",
        "uname",
        "realpath",
        "readlink",
        "wait",
        "printenv",
        "ack",
        "ag",
        "ugrep",
        "ruff",
        "mypy",
        "black",
        "coproc",
        "exit",
    ]
]
HOSTILE = r"""
ls $(touch x)
ls `touch x`
ls "$(touch x)"
ls "`touch x`"
ls <(touch x)
ls >(touch x)
ls "${x:-$(touch x)}"
ls ${x@P}
ls $x
ls "$HOME"
ls $((a[$(touch x)]))
ls "$((a[$(touch x)]))"
ls $[a[$(touch x)]]
echo ${!x}
echo ${x//a/b}
echo $@
echo "$*"
echo $?
echo $$
echo $-
echo $_
[[ -v a[$(touch x)] ]]
[[ a -eq b[$(touch x)] ]]
test -v 'a[$(touch x)]'
[ -v 'a[$(touch x)]' ]
test -R 'a[$(touch x)]'
printf -v 'a[$(touch x)]' y
printf '-v' 'a[$(touch x)]' y
let 'a[$(touch x)]'
unset 'a[$(touch x)]'
read 'a[$(touch x)]'
wait -p 'a[$(touch x)]'
declare 'a[$(touch x)]=1'
export 'a=$(touch x)'
((a[$(touch x)]))
a[$(touch x)]=1
for i in 1; do touch x; done
while true; do touch x; done
until false; do touch x; done
if true; then touch x; fi
case x in x) touch x;; esac
case x in x) touch x;& esac
select i in a; do touch x; done
for ((i=0;i<1;i++)); do touch x; done
(touch x)
{ touch x; }
f() { touch x; }; f
function f { touch x; }
coproc touch x
coproc ls
time ls
! time ls
ls; f() { touch x; }
PATH=. ls
LD_PRELOAD=./x.so ls
GIT_PAGER=./x git log
GIT_SSH_COMMAND=./x git status
GIT_EXTERNAL_DIFF=./x git diff
PAGER=./x git log
x=1
x+=1 ls
A=1 B=2 ls
env ls
env -i ls
env LD_PRELOAD=x ls
env -S 'sh -c x'
xargs ls
ls | xargs rm
timeout 1 ls
nice ls
nohup ls
command ls
command -p ls
builtin echo
builtin eval ls
eval ls
eval "ls"
exec ls
exec -a x ls
. ./x
source ./x
trap 'touch x' EXIT
alias ls=touch
export PATH=.
declare -x PATH=.
set -e
shopt -s expand_aliases
enable -n echo
enable -f ./x.so echo
hash -p ./x ls
unset PATH
read PATH
exit
sh -c ls
bash -c ls
bash x.sh
bash < x.sh
sh <<< ls
/bin/sh -c ls
/usr/bin/env sh
dash -c ls
zsh -c ls
fish -c ls
python3 -c 'import os'
python3 -Bc 'import os'
python3 x.py
python3 - < x
node -e x
node -p x
perl -e x
ruby -e x
awk 'BEGIN{system("touch x")}'
awk '{print > "x"}' f
awk -f x f
gawk '@load "x"'
sed 'e touch x' f
sed '1e touch x' f
sed 's/a/touch x/e' f
sed 's/a/b/w x' f
sed 'w x' f
sed -n '1w x' f
sed -n 'r x' f
sed -i s/a/b/ f
sed -ni s/a/b/p f
sed --in-place s/a/b/ f
sed -f x f
sed --file=x f
sed -e p -e 'w x' f
sed 'p;w x' f
sed 's/a/b/;e touch x' f
sed 'p
w x' f
sed -s -i s/a/b/ f
find . -exec touch x ;
find . -exec touch x \;
find . -execdir touch x +
find . -ok touch x \;
find . -delete
find . -fprint x
find . -fprintf x y
find . -fls x
find . -name x -o -delete
fd -x touch
fd --exec touch
fd -X touch
fd --exec-batch touch
fd --exe touch
rg --pre ./x y
rg --pre=./x y
rg --hostname-bin=./x y
rg --hostname-bin ./x y
rg -z y
rg -nz y
ag --pager ./x y
ack --pager=./x y
sort -o x y
sort -ox y
sort -uo x y
sort --output=x y
sort --out=x y
sort --outp x y
sort --compress-program=./x y
sort --compress ./x y
sort -T /tmp y
uniq in out
uniq -c in out
uniq - out
tar xf x.tar
tar -xf x.tar
tar cf x.tar y
tar tf x.tar --to-command=./x
tar tf x.tar --checkpoint=1 --checkpoint-action=exec=./x
tar -tf x.tar --checkpoint-a=exec=x
tar -I ./x -tf y
tar --use-compress-program=./x -tf y
tar tf host:x.tar
tar -F ./x -tf y
tee x
ls | tee x
dd if=a of=b
ls > x
ls >> x
ls >| x
ls &> x
ls &>> x
ls >& x
ls 2> x
ls 1>x 2>/dev/null
ls < x
ls <> x
ls > /dev/null/../x
ls > /dev/nullx
ls > "/dev/null"x
ls > /dev/tcp/1.1.1.1/80
ls 3> x
ls {fd}> x
cat <<EOF
cat <<< x
cat <<'EOF'
x
EOF
bash <<EOF
touch x
EOF
ls {a,b}
ls {1..9}
ls a{b,c}d
ls {-la,x}
ls $'\x2dla'
ls $"x"
$'ls'
l''s
l\s
"ls"
'ls'
l?
/bin/l*
~/x
$SHELL
ls\
; touch x
ls; touch x
ls && touch x
ls || touch x
ls & touch x
ls | touch x
ls |& touch x
ls # comment
touch x
true; rm x
git -c core.pager=./x log
git -c alias.x=!touch x
git -C /tmp log
git --git-dir=/tmp log
git --work-tree=/tmp status
git --exec-path=/tmp log
git --config-env=core.pager=X log
git -p log
git --paginate log
git x
git foo
git log --output=x
git log --output x
git log --outp=x
git diff --output=x
git diff --ext-diff
git diff --textconv
git show --textconv x
git show --ext-diff
git diff --no-index /etc/passwd x
git log --show-signature
git log --format=%G?
git log --pretty='%GK'
git grep -O x
git grep -Oless x
git grep --open-files-in-pager=./x y
git grep --open y
git cat-file --textconv x
git cat-file --filters x
git blame --contents /etc/passwd x
git push
git pull
git fetch
git fetch --upload-pack=./x
git clone ext::sh
git ls-remote --upload-pack=./x .
git ls-remote ext::sh
git archive --remote=x
git archive --exec=./x
git archive -o x HEAD
git submodule foreach ls
git submodule update
git bisect run ls
git rebase -x ls
git rebase --exec ls
git filter-branch
git difftool -x ls
git mergetool
git config core.pager ./x
git config --global core.pager ./x
git config alias.x '!touch x'
git config --unset user.name
git config -e
git config --edit
git branch x
git branch -D x
git branch -m x
git branch --edit-description
git tag x
git tag -s x -m y
git tag -d x
git tag -v x
git stash
git stash drop
git stash pop
git remote add x y
git remote update
git remote show origin
git worktree add x
git notes add
git reflog expire
git help log
git log --help
git daemon
git http-backend
git upload-pack .
git var GIT_PAGER
git var GIT_EDITOR
git gc
git hook run x
git commit -S -m x
git commit --gpg-sign -m x
git commit -e -m x
git commit -F x
git add -p
git add -i
git checkout -p
git send-email
git instaweb
git web--browse x
git credential fill
git am x
git apply x
git merge x
git cherry-pick x
git lfs env
git shell
git-log
gitk
date -s 2020-01-01
date --set=2020-01-01
date -us 2020-01-01
date 010100002020
date -f x
hostname x
hostname -F x
less x
man ls
more x
vim x
ed x
xxd -r a b
xxd a b
iconv -o x y
iconv --output=x y
tree -o x
tree --output x
file -C -m x
jq -n env
jq '$ENV.PATH' x
jq -f x y
jq -L x 'import "y" as z; .'
jq --from-file x y
jq --slurpfile a b c
ps e
ps eww
ps auxe
rm x
ln -s a b
chmod +x x
cp a b
mv a b
touch x
mkdir x
zip x y
curl x
wget x
ssh -o ProxyCommand=x y
ssh x
scp x y
docker run x
npm run x
npm test
npx x
make
make -n
make --eval='x:;touch x'
pytest
pytest -p x
pytest --collect-only
go test ./...
go test -exec ./x
go run x
cargo test
cargo build
pip install -e .
pip install x
mypy .
sudo ls
kill 1
kill -9 -1
diff -l a b
base64 -o x y
ugrep --filter='x' y
black --config x y
ls -la; cd ..; cat x
cd /; ls
cd ..; ls
cd ~; ls
cd -; ls
cd; ls
cd $(touch x)
cd sub* && ls
ls 'unterminated
ls "unterminated
ls \
ls )
ls (
ls ;; ls
ls && && ls
&& ls
| ls
ls |
ls &&
!
! !
echo a > .git/hooks/post-commit
cat x >> .bashrc
LS
Ls
/BIN/SH -c ls
./ls
sub/ls
../ls
unknown-program
unknown --flag
"""
LINES = HOSTILE.strip("\n").split("\n")
MULTI = {"cat <<'EOF'": 3, "bash <<EOF": 3, "sed 'p": 2, "ls\\": 2, "ls # comment": 2}
SPECIAL = [
    "ls\ntouch x",
    "ls \r\n",
    "ls\x00-la",
    "ls\u200b",
    "l\u0455 -la",
    "ls\u00a0-la",
    "ls \u202ex",
    "ls \ufeffx",
    "ls\u2028touch x",
    "ls\x0btouch",
    "ls\x0c-la",
    "ls \x1b[2Jx",
    "ｌｓ",
    "ls " + "a" * 10_000,
    "",
    "   ",
    "\n",
    "# nothing",
    "ls\\\n; touch x",
    "echo a\\\n;touch x",
    "ls 'a\nb",
]


def hostile() -> list[str]:
    """The cases above; those of several lines are put together again."""
    cases, lines = [], list(LINES)
    while lines:
        first = lines.pop(0)
        more = [lines.pop(0) for _ in range(MULTI.get(first, 1) - 1)]
        cases.append("\n".join([first, *more]))
    return [*cases, *SPECIAL]


def make_place(root: Path, *, contained: bool = False, git: str | None = None, cwd: Path | None = None) -> Place:
    root.mkdir(exist_ok=True)
    (root / "sub").mkdir(exist_ok=True)
    return Place(cwd or root, Roots.of(root), contained, {"PATH": "/usr/bin:/bin"}, lambda cwd, writes: git)


def asks(command: str, rules: list[Rule], place: Place) -> str | None:
    found = find_uncovered(command, rules, lambda text: False, place)
    return None if found is None else found.described()


@pytest.mark.parametrize("command", hostile())
def test_a_way_past_the_rules_asks(tmp_path: Path, command: str) -> None:
    assert asks(command, GENEROUS, make_place(tmp_path)), command


def test_there_are_enough_of_them() -> None:
    assert len(set(hostile())) > 400
    assert len(set(HARMLESS)) >= 100


LOG = Rule(("git", "log"), ("--oneline", "-n*", "--graph", "--format=*", "--stat", "-p", "--all", "-1", "-5", "-10"))
GIT = [
    LOG,
    *[
        Rule(("git", name), ("-*",))
        for name in [
            "status",
            "diff",
            "show",
            "blame",
            "branch",
            "rev-parse",
            "ls-files",
            "ls-tree",
            "stash",
            "remote",
            "describe",
            "config",
            "shortlog",
            "grep",
            "tag",
            "merge-base",
            "for-each-ref",
            "rev-list",
            "worktree",
            "reflog",
            "cat-file",
            "check-ignore",
            "add",
            "commit",
        ]
    ],
]
READING = [
    Rule((name,), ("-*",))
    for name in [
        "ls",
        "cat",
        "grep",
        "rg",
        "find",
        "sort",
        "uniq",
        "head",
        "tail",
        "wc",
        "echo",
        "printf",
        "sed",
        "tar",
        "date",
        "diff",
        "jq",
        "cut",
        "tr",
        "stat",
        "du",
        "basename",
        "dirname",
        "which",
        "pwd",
        "true",
        "false",
        "test",
        "[",
        "cd",
        "tree",
        "file",
        "sleep",
        "ps",
        "id",
        "uname",
        "readlink",
        "realpath",
        "column",
        "fd",
        "xxd",
        "md5sum",
        "nl",
        "tac",
        "comm",
        "seq",
        "type",
        "hostname",
    ]
]
HARMLESS = (
    r"""
git log
git log --oneline
git log --oneline -n 5
git log --oneline -n5 -- src/a.py
git log --graph --all --oneline | head -20
git log --format='%h %s' -10
git log --stat -1 HEAD~3
git log -p -- "a file.py"
git log --oneline main..HEAD
git log --oneline origin/main...HEAD
git status
git status --short
git status -sb
git status --porcelain=v1
git diff
git diff HEAD~1
git diff HEAD^ HEAD -- sub
git diff --cached --stat
git diff --name-only main...HEAD
git diff --word-diff
git show
git show HEAD:README.md
git show HEAD@{1}
git show stash@{0}
git show --stat abc123
git blame -L 10,20 a.py
git blame -w -C a.py
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feature/*'
git branch --sort=-committerdate
git branch --contains abc123
git rev-parse HEAD
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git rev-parse --git-dir
git ls-files
git ls-files '*.py' | wc -l
git ls-files --others --exclude-standard
git ls-tree -r HEAD --name-only
git stash list
git stash show -p
git remote -v
git remote get-url origin
git remote
git describe --tags --always
git config --get user.name
git config --list
git config user.email
git shortlog -sn
git grep -n TODO
git grep -n 'def main' -- '*.py'
git tag
git tag -l 'v*'
git merge-base main HEAD
git for-each-ref --sort=-creatordate --count=5
git rev-list --count HEAD
git worktree list
git reflog
git reflog -n 5
git cat-file -p HEAD
ls
ls -la
ls -la sub
ls ./*.py
ls sub/*.py
ls -lah ~/x
ls 2>/dev/null
ls >/dev/null 2>&1
ls; pwd
ls && pwd
ls || true
ls &
! grep -q x a.py
cat a.py
cat a.py b.py | head -n 50
cat "a file" 'b file'
cat a.py | grep -v '^#' | sort | uniq -c | sort -rn | head
grep -rn "TODO" sub
grep -rnE 'foo|bar$' --include='*.py' .
grep -c "a\$b" x
grep "end$" x
grep -A 3 -B 2 foo a.py
rg -n 'class \w+' sub
rg -l foo -g '*.ts'
rg --files | wc -l
find . -name '*.py'
find . -type f -name '*.py' -not -path './node_modules/*'
find sub -maxdepth 2 -type d
find . -newer a.py -print
find . \( -name a -o -name b \) -print
fd -e py
sort a.txt
sort -k2,2n -t: a.txt
sort -u a b
uniq -c a.txt
head -5 a.py
head -n 5 a.py
tail -n +10 a.py
tail -20 log.txt
wc -l a.py
wc -l sub/*.py
echo hello
echo "hello world"
echo done # with a comment
echo a=b
echo 'it'"'"'s'
echo --
echo {}
echo a{b}c
echo "ünï — ✓"
printf '%s\n' a b
sed -n '1,20p' a.py
sed -n 5p a.py
sed 's/a/b/' a.txt
sed -E 's/(a|b)/c/g' a.txt
sed -n '/start/,/end/p' a.txt
sed '/^$/d' a.txt
sed -n '$p' a.txt
sed -n '1p;5p' a.txt
tar tf x.tar
tar -tzf x.tgz
tar tvf x.tar
date
date +%F
date -u +%Y-%m-%dT%H:%M:%SZ
date -Iseconds
date -d yesterday +%F
diff a b
diff -u a b
diff -ru sub sub
jq . a.json
jq '.name' package.json
jq -r '.scripts | keys[]' package.json
jq '.env' a.json
cut -d, -f1 a.csv
tr a-z A-Z
stat a.py
du -sh sub
basename a/b.py
which git
test -f a.py
test -d sub && ls sub
[ -f a.py ] && cat a.py
[ "a" = "b" ] || echo no
cd sub
cd sub && ls
cd sub && git log --oneline
cd sub; ls
tree -L 2
file a.bin
ps aux
ps -ef | grep node
xxd a.bin | head
ls \
  -la \
  sub
uname -a
hostname
seq 1 10
type ls
ls |& head
""".strip("\n")
    .replace("ls \\\n  -la \\\n  sub", "ls -la sub/.")
    .split("\n")
)


@pytest.mark.parametrize("command", HARMLESS)
def test_an_everyday_command_that_is_covered_does_not_ask(tmp_path: Path, command: str) -> None:
    assert asks(command, [*GIT, *READING], make_place(tmp_path, contained=True)) is None


@pytest.mark.parametrize(
    "command", ["pytest -q", "npm test", "make -j4 all", "python3 x.py", "cargo test --all", "go test ./..."]
)
def test_project_code_is_covered_in_the_sandbox_only(tmp_path: Path, command: str) -> None:
    rules = [Rule((command.split(maxsplit=1)[0],), ("-*",))]
    assert asks(command, rules, make_place(tmp_path, contained=True)) is None
    outside = asks(command, rules, make_place(tmp_path))
    assert outside is not None
    assert "sandbox" in outside


@pytest.mark.parametrize(
    ("rule", "command", "passes"),
    [
        (Rule(("git", "log")), "git log", True),
        (Rule(("git", "log")), "git log --oneline", False),
        (Rule(("git", "log")), "git logout", False),
        (Rule(("git", "log")), "git", False),
        (Rule(("git", "log"), ("-n*",)), "git log -n10", True),
        (Rule(("git", "log"), ("-n*",)), "git log --name-only", False),
        (Rule(("git", "log"), (), "none"), "git log HEAD", False),
        (Rule(("git", "log"), (), "none"), "git log", True),
        (Rule(("ls",), ("-l",)), "ls -la", False),
        (Rule(("ls",), ("-l", "-a")), "ls -l -a sub", True),
        (Rule(("ls",), ("--sort=*",)), "ls --sort=size", True),
        (Rule(("ls",), ("--sort=*",)), "ls --sorted", False),
        (Rule(("ls",)), "ls -", True),
        (Rule(("ls",)), "ls -- -la", True),
        (Rule(("cat",), (), "paths"), "cat sub/a.py", True),
        (Rule(("cat",), (), "paths"), "cat ./sub/../a.py", True),
        (Rule(("cat",), (), "paths"), "cat /etc/passwd", False),
        (Rule(("cat",), (), "paths"), "cat ../x", False),
        (Rule(("cat",), (), "paths"), "cat sub/../../x", False),
        (Rule(("cat",), (), "paths"), "cat ~/x", False),
        (Rule(("cat",), (), "paths"), "cat *.py", False),
        (Rule(("cat",), (), "paths"), "cat link", False),
        (Rule(("cat",), (), "paths"), "cat link/x", False),
        (Rule(("cat",), (), "paths"), "cat a=/etc/passwd", False),
        (Rule(("grep",), ("-f*", "--file=*"), "paths"), "grep --file=/etc/passwd a", False),
        (Rule(("grep",), ("-f*", "--file=*"), "paths"), "grep -f/etc/passwd a", False),
        (Rule(("grep",), ("-f*", "--file=*"), "paths"), "grep -f../x a", False),
        (Rule(("grep",), ("-f*", "--file=*"), "paths"), "grep --file=sub/x a", True),
        (Rule(("mkdir",), ("-p",), "paths"), "mkdir -p sub/new", True),
        (Rule(("mkdir",), ("-p",), "paths"), "mkdir -p ../new", False),
        (Rule(("mkdir",), ("-p",), "paths"), "mkdir -p .git/hooks", False),
        (Rule(("cp",), (), "paths"), "cp a.py sub/b.py", True),
        (Rule(("cp",), (), "paths"), "cp a.py .github/workflows/x.yml", False),
        (Rule(("cp",), (), "paths"), "cp a.py .north/allowlist.json", False),
        (Rule(("cp",), (), "paths"), "cp -s a b", False),
        (Rule(("touch",)), "touch x", False),
        (Rule(("ls", "*")), "ls *", False),
    ],
)
def test_a_rule_means_what_it_says(tmp_path: Path, rule: Rule, command: str, passes: bool) -> None:
    root = tmp_path / "root"
    place = make_place(root, contained=True)
    (root / "link").symlink_to(tmp_path)
    assert (asks(command, [rule], place) is None) is passes


@pytest.mark.parametrize(
    "value",
    [
        None, 1, "git log", [], {}, {"words": []}, {"words": "git"}, {"words": [""]}, {"words": ["a", 1]},
        {"words": ["a"], "flags": "-x"}, {"words": ["a"], "args": "all"}, {"words": ["a"], "args": 1},
        {"words": ["a"], "other": 1},
    ],
)  # fmt: skip
def test_what_is_no_rule_allows_nothing(value: object) -> None:
    assert Rule.from_json(value) is None


def test_a_rule_survives_its_file() -> None:
    rule = Rule(("git", "log"), ("-n*",), "paths")
    assert Rule.from_json(rule.to_json()) == rule


def test_the_part_that_asks_is_named(tmp_path: Path) -> None:
    found = find_uncovered("git log && rm x", [LOG], lambda text: False, make_place(tmp_path))
    assert found is not None
    assert found.part == "rm x"


def test_exact_entries_cover_parts_of_a_line(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    assert find_uncovered("git log && make all", [LOG], lambda text: text == "make all", place) is None
    assert find_uncovered("make all && git log", [LOG], lambda text: text == "make all", place) is not None
    assert find_uncovered("cd sub && make all", [Rule(("cd",))], lambda text: text == "make all", place) is not None


@pytest.mark.parametrize(
    ("command", "is_covered"),
    [
        ("npm test 2>&1 | tail -20", True),
        ("npm test | grep -c FAIL | sort -n", True),
        ("cd sub && npm test; echo done", True),
        ("npm test | cat sub/a", False),
        ("npm test | grep x sub/a", False),
        ("npm test | sort -o x", False),
        ("npm test | tee x", False),
        ("npm test | xargs rm", False),
        ("npm test | python3", False),
        ("npm test | sed w", False),
        ("npm test && ls", False),
        ("npm test; cat", False),
        ("cd .. && npm test", False),
        ("cd /etc && npm test", False),
        ("npm test && cd sub", False),
        ("cd sub", False),
        ("echo a", False),
        ("echo a | cat", False),
        ("cd sub && echo a | cat", False),
        ("ls | cat", False),
    ],
)
def test_what_goes_along_with_an_allowed_command_needs_no_rule(tmp_path: Path, command: str, is_covered: bool) -> None:
    place = make_place(tmp_path, contained=True)
    assert (asks(command, [Rule(("npm", "test"))], place) is None) == is_covered


def test_git_asks_where_the_repository_names_programs(tmp_path: Path) -> None:
    found = asks("git status", GIT, make_place(tmp_path, git="the key `core.fsmonitor`"))
    assert found is not None
    assert "core.fsmonitor" in found
    assert asks("git status", GIT, make_place(tmp_path, contained=True, git="the key `core.fsmonitor`")) is None


def test_git_is_checked_in_every_folder_that_it_may_run_in(tmp_path: Path) -> None:
    seen: list[Path] = []

    def check(cwd: Path, writes: bool) -> str | None:
        seen.append(cwd)
        return None

    make_place(tmp_path)
    place = Place(tmp_path, Roots.of(tmp_path), False, {"PATH": "/usr/bin"}, check)
    assert asks("cd sub && git log; git log", [LOG, Rule(("cd",))], place) is None
    assert set(seen) == {tmp_path / "sub", tmp_path}
    seen.clear()
    assert asks("cd sub && git log && git log", [LOG, Rule(("cd",))], place) is None
    assert set(seen) == {tmp_path / "sub"}


def test_a_file_that_is_called_like_a_flag(tmp_path: Path) -> None:
    for contained in (True, False):
        place = make_place(tmp_path, contained=contained)
        assert asks("sort *", READING, place) is not None
        assert (asks("sort ./*", READING, place) is None) is contained


def test_a_program_inside_the_workspace_is_project_code(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    own = tmp_path / "sub/pytest"
    own.write_text("#!/bin/sh\n")
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    environ = {"PATH": f"{tmp_path}/sub:/usr/bin"}
    rules = [Rule(("pytest",)), Rule(("./sub/pytest",))]
    assert asks("pytest", rules, Place(tmp_path, place.roots, False, environ, place.git_check)) is not None
    assert asks("./sub/pytest", rules, place) is not None
    assert asks("pytest", rules, Place(tmp_path, place.roots, True, environ, place.git_check)) is None


def test_a_relative_entry_of_path_makes_every_name_uncertain(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert asks("ls", READING, Place(tmp_path, place.roots, False, {"PATH": "/usr/bin:."}, place.git_check)) is not None


class Allowed:
    def __init__(self, *commands: str, rules: tuple[Rule, ...] = (), auto: bool = False) -> None:
        self.commands, self.rules, self.auto = commands, rules, auto

    def command_allowed(self, command: str) -> bool:
        return trimmed(command) in self.commands

    def command_rules(self) -> list[dict[str, object]]:
        return [rule.to_json() for rule in self.rules]

    def distrusted(self) -> bool:
        return False

    def shell_auto_approved(self) -> bool:
        return self.auto


def test_what_earlier_commands_did_to_the_shell_asks_again(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    for approvals in (Allowed("ls"), Allowed(rules=(Rule(("ls",)),))):
        assert classify("ls", place=place, approvals=approvals).status == "always"
        verdict = classify("ls", place=place, approvals=approvals, changes=("changed PATH",))
        assert verdict.status is None
        assert "changed PATH" in verdict.reasons[0]
    contained = replace(place, contained=True)
    assert classify("ls", place=contained, approvals=Allowed(auto=True), changes=("changed PATH",)).status == "auto"


def test_an_exact_entry_runs_whatever_it_contains_but_not_what_always_asks(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    for command in ("make $(nproc)", "for i in 1 2; do echo $i; done > x", "FOO=1 make"):
        assert classify(command, place=place, approvals=Allowed(command)).status == "always"
        assert classify(f"{command} ", place=place, approvals=Allowed(command)).status == "always"
        assert classify(f"{command};", place=place, approvals=Allowed(command)).status is None
    for command in ("git push --force", "echo x > .git/hooks/pre-commit", "rm -rf ."):
        assert classify(command, place=place, approvals=Allowed(command)).status is None


def test_plain_commands_run_in_the_clean_shell_and_what_changes_the_shell_in_the_session_s(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert classify("ls", place=place, approvals=Allowed("ls")).shell == "clean"
    for command in ("export A=1", "x=1", "source venv/bin/activate", "make $(nproc)"):
        assert classify(command, place=place, approvals=Allowed(command)).shell == "session"


def test_outside_the_workspace_nothing_is_covered(tmp_path: Path) -> None:
    place = make_place(tmp_path / "root", cwd=tmp_path, contained=True)
    verdict = classify("ls", place=place, approvals=Allowed("ls", rules=(Rule(("ls",)),)))
    assert verdict.status is None
    assert verdict.reasons == ("the shell is outside the workspace",)


def test_settings_can_add_to_what_always_asks(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    assert classify("make deploy", place=place, approvals=Allowed(auto=True), always_ask=("deploy",)).status is None


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("git log --oneline -n5", Rule(("git", "log"), ("--oneline", "-n5"), "none")),
        ("git diff -- sub", Rule(("git", "diff"), (), "paths")),
        ("grep -rn --include=*.py x sub", Rule(("grep",), ("-rn", "--include=*"), "paths")),
        ("git log --since=yesterday", Rule(("git", "log"), ("--since=*",), "none")),
        ("pytest --cov=sub", Rule(("pytest",), ("--cov=sub",), "none")),
        ("ls -la sub", Rule(("ls",), ("-la",), "paths")),
        ("cat /etc/passwd", None),
        ("cat sub/* ./*.md", Rule(("cat",), (), "paths")),
        ("cat sub/* *.md", None),
        ("cat ../*", None),
        ("git log *.py", None),
        ("ls", Rule(("ls",), (), "none")),
        ("rm x", None),
        ("ls | wc", Rule(("ls",), (), "none")),
        ("ls $x", None),
        ("pytest -q", Rule(("pytest",), ("-q",), "none")),
        ("pipenv run tool", None),
        ("uv run pytest -q tests", Rule(("uv", "run", "pytest"), ("-q",), "paths")),
        ("npm run build", Rule(("npm", "run", "build"), (), "none")),
        ("git push", None),
        ("bash -c x", None),
    ],
)
def test_the_narrowest_rule_is_proposed_and_covers_the_command(tmp_path: Path, command: str, rule: Rule | None) -> None:
    place = make_place(tmp_path, contained=True)
    assert propose(command, place) == rule
    assert rule is None or asks(command, [rule], place) is None


def test_the_suite_s_generous_rules_do_cover_something(tmp_path: Path) -> None:
    assert asks("ls -la", GENEROUS, make_place(tmp_path)) is None
    assert os.path.isdir(tmp_path / "sub")


def test_patterns_are_paths_for_programs_that_only_read(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    (tmp_path / "sub/a.txt").write_text("a")
    rules = [Rule((program,), ("-l",), "paths") for program in ("wc", "cp", "mytool")]
    for command in ("wc -l ./*.txt", "wc sub/*", "wc sub/a.???", "wc ./[ab]*", "wc 'sub'/*", "wc -- *.txt"):
        assert asks(command, rules, place) is None, command
    for command in (
        "wc .*",
        "wc *.txt",
        "wc */*",
        "wc ../*",
        "wc /etc/*",
        "wc ~/*",
        "wc s*b/../../*",
        "wc sub/.*",
        "cp *.txt sub",
        "mytool *",
    ):
        assert asks(command, rules, place) is not None, command
    (tmp_path / "sub/link").symlink_to("/etc")
    assert asks("wc sub/*", rules, place) is not None
    assert asks("wc ./*.txt", rules, place) is None


def test_what_only_reads_may_read_the_folders_that_the_settings_open(tmp_path: Path) -> None:
    root, docs = tmp_path.resolve() / "root", tmp_path.resolve() / "docs"
    docs.mkdir()
    (docs / "out").symlink_to("/etc")
    place = make_place(root)
    opened = replace(place, roots=replace(place.roots, extra=(docs,)))
    rules = [
        Rule((program,), ("-*",), "paths") for program in ("cat", "cp", "grep", "mytool", "sort", "uniq", "xxd", "git")
    ]
    reading = (f"cat {docs}/a.md", f"grep -rn word {docs}", "cat ../docs/a.md", f"sort {docs}/a.md")
    for command in reading:
        assert asks(command, rules, opened) is None, command
        assert asks(command, rules, place) is not None, command
    for command in (
        f"cp a {docs}/b", f"mytool {docs}/a", f"uniq a {docs}/b", f"sort -o {docs}/a a", f"cat {docs}/out/passwd",
        f"cat {docs}/..", f"xxd a {docs}/b", f"cat {tmp_path}/docs-evil", f"git diff --output={docs}/x", f"cd {docs}",
        f"cat a > {docs}/b",
    ):  # fmt: skip
        assert asks(command, rules, opened) is not None, command
    assert propose(f"cat {docs}/a.md", opened) == Rule(("cat",), (), "paths")


def test_copying_trees_and_values_of_flags_write_no_protected_names(tmp_path: Path) -> None:
    place = make_place(tmp_path, contained=True)
    rules = [Rule((program,), ("-*",), "paths") for program in ("cp", "mv", "dos2unix")]
    (tmp_path / "plain/deep").mkdir(parents=True)
    (tmp_path / "evil/deep/.git/hooks").mkdir(parents=True)
    (tmp_path / "config/.vscode").mkdir(parents=True)
    for command in (
        "cp -r plain other",
        "cp -a plain/. sub",
        "mv plain other",
        "cp a sub",
        "cp -r plain/deep plain/x",
    ):
        assert asks(command, rules, place) is None, command
    for command in (
        "cp -r evil/. .", "cp -a evil/deep .", "mv evil other", "mv evil/deep .", "cp -r config/. .",
        "cp -r evil a sub",
        "cp --target-directory=.git a", "cp --target-dir=.git/hooks a", "cp -t.git a", "cp -vt.git a",
        "mv -t.git/hooks a",
        "cp a -bS.x b", "mv -S x a b", "dos2unix .git/config", "dos2unix /etc/passwd",
    ):  # fmt: skip
        assert asks(command, rules, place) is not None, command
