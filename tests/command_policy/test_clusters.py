"""Options in one word, and options whose value is not where it seems to be: without a sandbox, nothing else
holds them."""

from dataclasses import replace
from pathlib import Path

from north_lsp.command_policy.rules import only_plain_reading
from tests.command_policy.test_known_programs import project

HOSTILE = r"""
git status | date -Rf/home/u/.ssh/id_rsa
date -Rs2020-01-01
date -Is2020-01-01
date -If/etc/passwd
date -uf/etc/passwd
date -u01020304
date -jRf/etc/passwd
date -d now -Rf/etc/passwd
date -r/etc/passwd
date --utcx
date --universal=1
date -- 01020304
ps e1234
ps 1e
ps e,1
ps uxe,1
ps -E
ps -axE
ps -e -E
ps -eux
ps -euxww
ps -xe
ps -lxe
ps -eT1
ps -et
ps -e -t
ps -ef -x
ps -j xe
ps -C x e1234
ps -N e
ps -aN e12
ps -xu e12
ps x -o pid e1
ps -eC -eo xe
ps -u -e -t
ps -eu -U root
ps -U root -eu
yq '$ENV.PATH' a
yq '$ENV' a
yq 'import "a" as a; .' a
yq 'include "a"; .' a
yq 'input_filename' a
yq '$__prog_args' a
yq 'eval("lo" + "ad(\"/etc/passwd\")")' a
yq 'LOAD("/etc/passwd")' a
jq 'get_search_list' a
od -w /etc/passwd
od -cw /etc/passwd
xxd -ps /etc/passwd
xxd -ps a b
xxd -plain a b
tree -Po x outfile
tree -Io x outfile
tree -To x a
tree -Lo 2 a
tree -HR . a
grep --context 1 /etc/passwd a
git diff -U /etc/passwd a
git diff --unified /etc/passwd a
git diff -M /etc/passwd a
"""
EVERYDAY = r"""
date
date -u
date -I
date -Iseconds
date -u +%Y-%m-%dT%H:%M:%SZ
date -d yesterday +%F
date -r a +%s
date --iso-8601=seconds
ps
ps aux
ps -aux
ps -ef | grep node
ps -eLf
ps -eo pid,etime,cmd --sort=-%mem
ps -o pid,etime -p 123
ps -C node
ps -fC node
ps -fu me
ps axo pid,cmd
xxd -l 16 a
xxd -ps a
tree -L 2
tree -L2 -I node_modules
grep --context=2 x a
git diff -U5
git diff --unified=5 -- a
od -An -tx1 -w8 a
yq '.a.b' a
jq '.environment' a
"""


def test_no_cluster_and_no_value_hides_another_option(tmp_path: Path) -> None:
    place = replace(project(tmp_path, contained=False), closed=lambda path: False)
    inside = replace(place, contained=True)
    for line in HOSTILE.strip().splitlines():
        assert only_plain_reading(line, place) is not None, line
        if not line.endswith(("/etc/passwd", "/etc/passwd a")):  # there the sandbox decides what can be read
            assert only_plain_reading(line, inside) is not None, line


def test_what_is_typed_every_day_is_plain_reading(tmp_path: Path) -> None:
    place = project(tmp_path, contained=False)
    (place.roots.main / ".northignore").unlink()
    asked = {line: only_plain_reading(line, place) for line in EVERYDAY.strip().splitlines()}
    assert {line: why for line, why in asked.items() if why is not None} == {}
