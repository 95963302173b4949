"""More ways past rules that are as generous as rules can be, and more commands of every day that must not ask."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies

from north_lsp.command_policy.allowed import Rule
from north_lsp.command_policy.parsing import Word
from north_lsp.command_policy.scripts import CHECKS
from tests.command_policy.test_rules import GENEROUS, GIT, READING, asks, make_place

PROGRAMS = (
    "diff3 sdiff nm objdump readelf ldd hg svn jj mlr doxygen protoc pandoc pdflatex latexmk gs convert "
    "chronic ifne pee hyperfine watchexec mise pyenv asdf ctags cloc zless zmore xterm hy raku rga "
    "pyright setterm coreutils find printf sed jq git od strings localedef pkg-config bison flex envsubst "
    "vimdiff xmllint xsltproc column fmt pr stty tput locate gofmt rustfmt shfmt id groups ranlib "
    "dbus-send busctl gdbus wine qemu-x86_64 mono gosu tini winpty concurrently cross-env npm-run-all "
    "sudoedit visudo su-exec eatmydata trickle ltrace git-shell sops gawk-5 lex yacc rg fd sort tree file "
    "uniq date tar xxd hostname cut tail head cat csvsql csvpy duckdb units cal expr dig host ping "
    "nslookup traceroute whois getent tracepath mtr arp ss netstat lsof look hexdump top glow gum "
    "rpm2cpio shuf yq actionlint yarn cargo command markdownlint msgfmt xgettext gettext ngettext infocmp tic ul col "
)
RULES = [*GENEROUS, *(Rule((program,), ("-*",)) for program in PROGRAMS.split())]
HOSTILE = r"""
sed 's/[/]X/g;/e;/p;/p' a
sed 's/[/e/;s/]/w x/' a
sed -n '/[/]p;e id/d' a
sed '/[/]/p;w out/d' a
sort --o=x a
sort --c=id a
shuf -o x a
shuf --output=x a
shuf --o=x a
git log --pretty='%+GS'
git log --format='%-G?'
git log --format='% GK'
tar tf a -g x
tar tf a --listed-incremental=x
tar tf a --listed=x
ps aeux
ps xe
ps eax
ps -o environ
ps -eo pid,env
ps -p 1 e
yq 'load("/etc/passwd")' a
yq 'env(HOME)' -n
yq -n 'strenv(X)'
xmllint --schema http://x a
xmllint --dtdvalid http://x a
xmllint --loaddtd a
xmllint --xinclude a
actionlint -shellcheck=./x
command -p ls
command ls
command -v
command -vp ls
git --version log
git --version --exec-path=x
python3 --version x.py
yarn --version
cargo --version
"""
HOSTILE += r"""
sed 's/x/id/e;s/y/z/' a
sed 's/a/b/w out/g' a
sed 's|a|b|w out|' a
sed -n 's/a/b/w out/p' a
sed 's/a/b/;w x/' a
sed 's,a,id,e;s,b,c,' a
sed '1s/.*/id/e;s/a/b/' a
sed 's/a/b/w/tmp/x/g' a
sed 's/a/b/gw x/' a
sed -n '1,2p;w x' a
sed -n '/a/p;e id' a
sed -e 's/a/b/' -e 'w out' a
sed -n -e p -e 'r /etc/passwd' a
sed '/x/,/y/s/a/b/w out/g' a
sed 's/[/]x/y/w out/' a
sed 's/a\/b/id/e;s/c/d/' a
sed --expression='s/x/id/e;s/y/z/' a
sed s:a:b:w\ out: a
sed 's#a#b#e;s#c#d#' a
sed 'y/a/b/;w out' a
printf 'xxxxxxx%n' PATH
printf '%n' 'a[$(id)]'
printf '%5n' PATH
printf '%*n' 3 PATH
printf -v PATH x
printf -vPATH x
printf '%s%n' x IFS
jq -n '$ ENV'
jq -n '$ENV.PATH'
jq -n 'env.X'
jq -n '[env][0]'
jq 'import "a" as a; .' x
jq -n '$__prog_args'
jq -n "\$ENV"
jq -n '$ENV|keys'
git config edit
git config set a b
git config unset a
git config rename-section a b
git config --edit
git config core.pager x
git config --global --add a b
git config --unset a
git config remove-section a
git branch -v newbranch
git branch newbranch
git branch -f main HEAD~3
git branch --force main HEAD~3
git branch -D x
git branch -M x
git branch --delet x
git branch -u origin/x
git branch -c a b
git branch --set-up origin/x
git branch -vf main HEAD~2
git branch -vD x
git tag v1
git tag -d v1
git tag -n -d v1
git tag -fl x
git grep -Oless x
git grep --open=less x
git grep --open-files-in-page=./x x
git grep -nO./x x
git log --output=x
dig data.example.com
ping -c1 data.example.com
nslookup data.example.com
host data.example.com
getent hosts data.example.com
whois -h x data
traceroute data.example.com
git log --outp=x
git diff --ext-diff
git diff --ext
git show --textconv x
git log --format=%G?
git log --pretty=%GG
git log --format='%<(20)%G?'
git for-each-ref --format='%(signature:grade)'
git log --show-sig
git stash
git stash push
git stash list --output=x
git stash show -p --output x
git stash -p
git remote add x y
git remote -v update
git remote show origin
git remote prune origin
git reflog expire --all
git reflog delete HEAD@{0}
git reflog --expire=now expire
git notes add -m x
git notes
git worktree add x
git worktree -v add x
git diff --no-index a /etc/passwd
git -c core.pager=x log
git --exec-path=. log
git --paginate log
git -p log
git --git-dir=x status
git --work-tree=/ status
git rev-parse --git-dir --exec x
git lo
git archive --exec=x HEAD
git ls-remote ext::sh
git bisect run x
git fetch --upload-pack=x
git submodule foreach id
git rebase -x id HEAD~1
git filter-branch x
git difftool -x id
git mergetool
git help log
git log --help
git daemon
git hook run x
git maintenance run
git fsmonitor--daemon start
git instaweb
git send-email x
git svn x
git web--browse x
git update-index --refresh
git sparse-checkout set x
git replace a b
git bundle create x HEAD
git format-patch -1
git apply x
git am x
git cherry-pick x
git merge x
git pull
git push
git gc
git clone ext::id x
git init x
git submodule status
git verify-commit HEAD
diff3 --diff-program=./x a b c
sdiff --diff-program=./x a b
sdiff -o out a b
nm --plugin ./x.so a
nm --plug=./x.so a
ldd ./a
hg status
hg --config alias.x='!id' x
svn diff --diff-cmd ./x
jj log
mlr -n put 'end{system("id")}'
doxygen
protoc --plugin=x a
pandoc --filter ./x a
pdflatex -shell-escape a
latexmk
gs -c '(%pipe%id) (r) file'
convert a b
chronic id
ifne id
pee id
hyperfine id
watchexec id
mise exec -- id
pyenv exec id
asdf exec id
ctags -R
cloc --extract-with=./x a
zless a
zmore a
xterm -e id
hy -c x
raku -e x
rga x
pyright
setterm --dump --file x
coreutils --coreutils-prog=env id
vimdiff a b
bison a.y
flex a.l
yacc a.y
lex a.l
localedef x
xmllint --shell a
xmllint --output x a
xsltproc a b
pkg-config --define-variable=x a
dbus-send x
busctl call x
gdbus call x
wine a
qemu-x86_64 a
mono a.exe
gosu root id
tini id
winpty id
concurrently id
cross-env X=1 id
npm-run-all x
sudoedit a
su-exec root id
eatmydata id
trickle id
git-shell -c id
sops exec-env a id
csvsql --db x
csvpy a
duckdb -c x
glow a
gum spin -- id
msgfmt -o x a
xgettext -o x a
tic a
find . -ex"ec" id ;
find . -fprintf x y
find . -exec id +
find -L . -delete
find . '-delete'
find . -okdir id \;
find . -fls x
rg --pre=./x a
rg --pre ./x a
rg -z a
rg --hostname-bin=./x a
fd -Hx id
fd --exec id
fd --exec-ba id
sort --compress-program=./x a
sort --compress-prog ./x a
sort -uoout a
sort -o out a
sort a -oout
sort --output=x
sort -T . a
tree -o x
tree -ao x
file -C -m x
file -zm x a
uniq a b
uniq -c a b
date -s x
date 010100002030
date -us x
tar -tf a --to-command=id
tar tfI a ./x
tar --list --use-compress=./x -f a
tar -xf a
tar -tf host:x
tar -tPF ./x -f a
tar tf a --checkpoint=1 --checkpoint-action=exec=id
xxd -r a b
xxd a b
hostname x
cat <(id)
cat a >b
cat a >| b
cat a 1<>b
cat ${x}
cat $x
cat "$x"
cat $((a[$(id)]))
cat $'a'
cat $"a"
cat {a,b}
cat {a..b}
cat `id`
cat "`id`"
cat "$(id)"
c""at a
'cat' a
\cat a
c\at a
X=1 cat a
X+=1 cat a
X[0]=1 cat a
cat a | sh
cat a |& sh
cat a; . ./x
cat a && source x
( cat a )
{ cat a; }
if true; then cat a; fi
for i in a; do cat $i; done
while cat a; do :; done
cat() { id; }
function cat { id; }
alias cat=id
coproc cat a
time cat a
! eval cat
[[ -v a[$(id)] ]]
[ -v 'a[$(id)]' ]
test -v 'a[$(id)]'
(( a[$(id)] ))
let 'a[$(id)]'
cat a <<< x
cat <<E
cat a 2>&1 >x
cat a &>x
cat a >&x
cat a {fd}>x
exec 3>x
cat a 3>x
cat !(a)
cat a;;
cat a ;&
case x in x) cat a;; esac
select x in a; do cat a; done
!cat
!!
^a^b
%1
nohup cat a
command cat a
builtin cat a
env cat a
/usr/bin/env cat
/bin/sh -c id
../cat a
./cat a
sub/cat a
~/cat a
$HOME/cat a
*/cat a
c?t a
[c]at a
cat$IFS$9a
cat${IFS}a
cd / && cat etc/passwd
cd .. && cat a
cd -
cd ~ && cat a
cd sub && cd ../..
cd $HOME
cd "$OLDPWD"
cd sub/../.. && ls
cd -P /
cd sub || cd /
pushd / && ls
CDPATH=/ cd etc
export A=b; ls
unset PATH; ls
set -x; ls
ulimit -c 0; ls
trap id EXIT; ls
hash -p ./x ls; ls
enable -f ./x.so y; ls
bind -x '"a":id'; ls
complete -C id ls
mapfile -C id -c 1 a
read -p x y
getopts a b; ls
wait; ls
exit; ls
return 0
umask 0; ls
shopt -s expand_aliases; ls
history -s id; fc -s
fc -e id
kill -9 1
jobs -x id
disown -a; ls
times; ls
logout
suspend
caller; ls
compgen -C id
compgen -F f
"""
SEVERAL_LINES = [
    "jq -n '$\nENV'",
    "sed '/a/{w out\n}' a",
    "cat a\\\n; nothing-known",
    '"cat\na"',
    "cat 'a\nb'; nothing-known",
    "sed 's/a/b/\nw out' a",
]
HARMLESS = r"""
sed 's/[[:space:]]*$//' a.txt
sed -n '/[a-z]/p' a.txt
sed 's|[^/]*$||' a.txt
sort -k2,2n -t, a.txt
shuf -n 5 a.txt
ps -ef
ps aux
ps -C node -o pid,args
ps -o pid,ppid,cmd
ps -p 1 -o etime
yq '.a.b' a.txt
tar --list -f a.txt
command -v node
command -V ls
git --version
node --version
python3 --version
xmllint --noout a.txt
sed 's/foo/bar/;s/baz/qux/' a.txt
sed -n '10,20p;20q' a.txt
sed -e 's/a/b/' -e 's/c/d/g' a.txt
sed ':a;N;$!ba;s/\n/ /g' a.txt
sed '/^#/d;/^$/d' a.txt
sed -E 's#https?://##' a.txt
sed '$d' a.txt
sed -n '$=' a.txt
sed 'y/abc/ABC/' a.txt
sed -n '/start/,/end/p' a.txt
sed '1~2d' a.txt
sed 's/\/usr\/lib/x/' a.txt
sed '1!G;h;$!d' a.txt
sed 's/[0-9]\+/N/g' a.txt
sed "s/it's/its/" a.txt
printf '%s\n' a b c
printf '100%%\n'
printf '%5.2f\n' 3.14159
printf '%-10s|%03d\n' x 7
printf 'name: %s\nno newline'
jq . package.json
jq -r '.scripts | keys[]' package.json
jq -C . a.json
jq -c '.[] | select(.env == "prod")' a.json
jq --arg x 1 '.a == $x' a.json
jq -r '.a.environment' a.json
jq '.[].env' a.json
jq 'length' a.json
tar tf a.tar
tar tzf a.tar.gz
tar -tvf a.tar
tar -tzvf a.tar.gz
tar --list -f a.tar
xxd -l 64 a.bin
xxd a.bin
xxd -s 16 -l 32 a.bin
xxd -g 1 a.bin | head
uniq -c
sort a.txt | uniq -c | sort -rn | head -20
uniq -f 1 a.txt
uniq -w 10 a.txt
sort -t, -k2,2n a.csv
sort -u a.txt
sort -k 2 a.txt
cut -d, -f1,3 a.csv
cut -c1-80 a.txt
tr -d '\r'
tr a-z A-Z
tr '[:upper:]' '[:lower:]'
diff -u a b
diff -r --brief a b
diff -y --width=100 a b
test -f a.txt && echo yes || echo no
[ -d sub ] && ls sub
[ -f a -a -f b ]
[ "a" = "b" ] || echo differ
test -n "x" -o -z "y"
file a.bin
file -b --mime-type a.bin
stat -c '%s %n' a.txt
du -sh .
du -sh -- *
du -h --max-depth=1
ls -la | grep '^d'
ls ./*.py
ls -t | head -5
ls -1 sub/*.txt
ls ~/
find . -name '*.py' -not -path './node_modules/*'
find . -type f -size +1M -newer a.txt
find . -maxdepth 2 -type d
find . -name '*.py' -print0
find . \( -name a -o -name b \) -print
find . -iname '*test*' | wc -l
find sub -empty
rg -n 'TODO|FIXME' src
rg -tpy 'def \w+'
rg --files | head
rg -l foo -g '!*.min.js'
rg -A3 -B3 pattern
rg -e a -e b --json
rg 'a{2,3}' src
rg -F '$HOME' src
rg "can't" src
grep -rn "foo(bar)" src
grep -E '^(a|b)$' a.txt
grep -c . a.txt
grep -v '^\s*$' a.txt
grep -rIl --include='*.py' foo .
grep -o '[0-9]*' a.txt
grep 'price: $5' a.txt
grep "^x$" a.txt
grep -P '\bfoo\b' a.txt
wc -l -- *.py
wc -c < /dev/null
head -n 5 a.txt 2>/dev/null
tail -n +2 a.csv
tail -5 a.log 2>&1
cat -A a.txt
cat a.txt b.txt | sort
nl -ba a.txt | sed -n '5,10p'
column -t -s, a.csv
comm -12 a b
seq 1 10
seq -s, 5
echo "done: 100%"
echo 'a $b `c`'
echo -e 'a\tb'
echo a{b
echo {}
echo "cost: 5$"
echo hello > /dev/null
echo err >&2
date +%Y-%m-%d
date -u +%s
date -d yesterday
date -I
id -un
uname -a
hostname
ps aux
ps -ef | grep python
which python3
type ls
pwd
true; false
cd sub && ls
cd sub && git status
sleep 1
tree -L 2
tree -I node_modules
readlink -f a.txt
realpath sub
basename a/b.txt .txt
dirname a/b.txt
md5sum a.txt
fd -e py
fd -t f -H pattern
tac a.log | head
git log --oneline -5 && git status -s
git diff --stat HEAD~3..HEAD -- '*.py'
git show HEAD~2:src/a.py | head
git show --name-only
git show v1.0^{}
git show HEAD^{tree}
git branch -vv
git branch -v
git branch -a --contains HEAD
git branch --merged main
git tag -l 'v1.*' --sort=-v:refname
git tag
git remote -v
git remote get-url origin
git stash list
git stash show -p stash@{0}
git config --get user.name
git config --list
git config -l
git config user.email
git config --get-regexp '^remote'
git rev-list --count HEAD
git ls-files -m
git blame -L 1,5 a.py
git describe --tags --always
git reflog -5
git reflog
git worktree list
git cat-file -p HEAD
git diff --check
git status --ignored
git grep -n foo
git shortlog -sn
"""


@pytest.mark.parametrize("command", [*HOSTILE.strip("\n").split("\n"), *SEVERAL_LINES])
def test_a_way_past_the_rules_asks(tmp_path: Path, command: str) -> None:
    assert asks(command, RULES, make_place(tmp_path)), command


TELLING = [
    *(Rule((program,), ("-*",)) for program in ("xxd", "shuf", "yq", "xmllint")),
    *(Rule((program, "--version"), (), "none") for program in ("git", "node", "python3")),
    Rule(("command", "-v")),
    Rule(("command", "-V")),
]


@pytest.mark.parametrize("command", HARMLESS.strip("\n").split("\n"))
def test_an_everyday_command_that_is_covered_does_not_ask(tmp_path: Path, command: str) -> None:
    assert asks(command, [*READING, *GIT, *TELLING], make_place(tmp_path, contained=True)) is None


FRAGMENTS = [
    *[
        "s/a/b/",
        "s|a|b|",
        "w out",
        "e",
        "e id",
        "r x",
        "g",
        "p",
        "I",
        ";",
        "\n",
        " ",
        "1",
        "$",
        "!",
        "/a/",
        "/[/]/",
        "\\",
    ],
    *["[", "]", "/", "|", "y/a/b/", "N", ":a", "ba", "{", "}", "~2", ",", "R x", "W x", "x", "&", "\\/", "#"],
]


@settings(max_examples=250)
@given(strategies.lists(strategies.sampled_from(FRAGMENTS), min_size=1, max_size=9).map("".join))
@example("s/x/id/e;s/y/z/")
@example("s/a/b/w out/g")
@example("s/[/]x/y/w out/")
@example("s/[/]X/g;/e;/p;/p")
@example("/a\\/b/s#x#y#g;$!N;ba")
def test_what_passes_as_a_harmless_script_is_one_to_sed_itself(script: str) -> None:
    if CHECKS["sed"]([Word(script, script)]) is None and not script.startswith("-"):
        ran = subprocess.run(["sed", "--sandbox", script], input="", capture_output=True, text=True, check=False)
        assert "disabled in sandbox mode" not in ran.stderr
