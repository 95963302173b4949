"""What is easily got wrong in each language: groups, prototypes, annotations, several things on one line."""

CORNERS: dict[str, str] = {}
CORNERS["go"] = """package main

type (
	// A is
	A struct {
		x int
	}
	B interface {
		Do()
	}
	C int
)

type D[T any] struct{}
type E func(int) error

const X = 1
var handler = func(w int) {
}

func (s *Server[T]) Start() error {
	type local struct{}
	return nil
}
"""
CORNERS["c"] = """#ifndef A_H
#define A_H
#ifdef __cplusplus
extern "C" {
#endif
typedef struct {
  int x;
} Point;
typedef struct node {
  int y;
} Node;
typedef int (*callback)(int, void *);
int add(int a, int b);
extern char *dup(const char *s);
void (*signal(int sig, void (*func)(int)))(int);
struct fwd;
union u { int a; };
static inline int
twice(int a)
{
  return a * 2;
}
#define LIMIT 10
#define SQ(x) ((x) * \\
   (x))
enum { ANON };
int table[] = { 1, 2 };
#ifdef __cplusplus
}
#endif
#endif
"""
CORNERS["cpp"] = """#include <a>
using namespace std;
namespace a::b {
class Foo : public Bar {
public:
  Foo();
  explicit Foo(int x) : x_(x) {}
  ~Foo();
  virtual void go() = 0;
  Foo& operator=(const Foo& o);
  bool operator==(const Foo& o) const { return true; }
  operator bool() const;
  static int *make(int);
  friend void swap(Foo& a, Foo& b);
  enum class Kind { A };
  struct Inner { int a; };
private:
  int x_;
};
template <typename T> T max(T a, T b) { return a; }
template <> struct hash<Foo> { };
auto lambda = [](int x) { return x; };
void free_decl(int a);
int value(3);
}
Foo::~Foo() {}
void Foo::go() {}
auto f() -> int { return 1; }
std::vector<int> list_of() { return {}; }
constexpr int K = 3;
"""
CORNERS["java"] = """package a.b;

import static java.util.List.*;

/** doc */
@RestController
@RequestMapping(value = "/api", produces = "x")
public class App<T> extends Base implements X {
    private static final int A = 1;
    static { init(); }
    @Deprecated
    public App(int a) { }
    @GetMapping(path = "/very/long/path/that/goes/on/and/on/and/on/and/on", consumes = "a/json", produces = "b")
    public List<String> items(@PathVariable String id) throws IOException {
        Runnable r = new Runnable() { public void run() {} };
        return null;
    }
    sealed interface Shape permits Circle {}
    @interface Ann { int value(); }
    enum E { A { void x() {} }, B; void y() {} }
    record P(int a) { P { } }
}
"""
CORNERS["csharp"] = """using System;
global using static System.Math;
namespace App;

[ApiController]
[Route("x")]
public partial class C<T> : Base where T : class
{
    private readonly int _x = 1;
    [HttpGet("very/long/attribute/argument/that/goes/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on/x")]
    public async Task<IActionResult> Get(int id) => Ok();
    public int this[int i] => i;
    public static C<T> operator +(C<T> a, C<T> b) => a;
    public event EventHandler Changed;
    ~C() {}
    public string Name => "x";
    record struct P(int X);
    delegate void D(int a);
}
"""
CORNERS["php"] = """<?php
declare(strict_types=1);
namespace A;

use B\\{C, D};

#[Attribute]
abstract class X extends Y implements Z
{
    use T;
    const A = 1;
    private ?string $name = null;
    public function __construct(private int $a) {}
    #[Route("/x")]
    abstract protected static function make(): static;
}
enum Suit: string { case A = 'a'; public function label(): string { return ''; } }
$f = function () { };
$g = fn($x) => $x;
function &ref() {}
?>
<html><body><?php function late() {} ?></body></html>
"""
CORNERS["ruby"] = """module A::B
  class C < D
    attr_reader :x
    CONST = 1
    class << self
      def build(a, b: 1) = new
    end
    private def secret; end
    def ==(other)
      true
    end
    def value=(v); end
  end
  Point = Struct.new(:x)
end
require_relative "x"
"""
CORNERS["rust"] = """//! doc
use std::{
    io,
    fs,
};

/// doc
#[derive(Debug)]
#[serde(rename = "x")]
pub struct P<T> where T: X {
    x: T,
}
pub struct Unit;
pub(crate) enum E { A(i32), B { x: i32 } }
impl<T> Iterator for P<T> where T: X {
    type Item = T;
    const N: usize = 1;
    fn next(&mut self) -> Option<T> { None }
}
pub trait T2: Send {
    type X;
    fn a(&self) -> i32 { 1 }
}
mod tests;
#[cfg(test)]
mod tests2 {
    use super::*;
    #[test]
    fn it() { fn inner() {} }
}
extern "C" { fn c_fun(x: i32); }
pub static mut S: i32 = 1;
unsafe fn u() {}
"""
CORNERS["tsx"] = """"use client";
import React, { memo } from "react";
import * as x from "x";

export const Card = memo(function Card(props: Props) {
  return <div onClick={() => { const inner = () => 1; }} />;
});
const Fwd = React.forwardRef<HTMLDivElement, Props>((props, ref) => {
  return <div ref={ref} />;
});
export default function App() { return <Card />; }
export const useThing = () => {
  function helper() {}
  return useCallback(() => 1, []);
};
@Component({ selector: "x" })
export class Foo<T> extends React.Component<Props> implements A {
  @Input() name = "x";
  static #priv = 1;
  get value(): number { return 1; }
  set value(v) {}
  async *gen() {}
  overload(a: string): void;
  overload(a: number): void;
  overload(a: any) {}
  constructor(private a: string) { super(a); }
}
export type { T } from "t";
export * from "y";
export default Foo;
export const enum Dir { Up }
declare module "foo" { export function g(): void; }
declare global { interface Window { a: 1 } }
const obj = { method() {}, prop: () => 1, get x() { return 1 } };
abstract class Q { abstract get z(): number; protected abstract w(): void }
type Fn = (a: number) => void;
let v = 1, w = () => 2, u = () => 3;
"""
CORNERS["javascript"] = """const a = require("a");
exports.x = function () {};
Foo.prototype.bar = function bar() {};
class A { static async #p() {} static { } "quoted"() {} [computed]() {} }
(function () { function iife() {} })();
export default class {}
export default () => 1;
let { b } = a;
async function* g() {}
module.exports = { a, b };
describe("x", () => { it("y", async () => {}); });
"""
CORNERS["python"] = """from __future__ import annotations
import a, b as c
from . import (
    x,
    y,
)
if True:
    def cond(): pass
else:
    class Cond2: x = 1
try:
    import json
except ImportError:
    json = None
@a
@b(
  1
)
async def deco(x: int = (1,
   2)) -> int:
    '''doc'''
    match x:
        case 1:
            def in_match(): ...
    with x as y:
        for z in y:
            while 1:
                class Deep:
                    def m(self): return lambda: 1
class G[T](Base[T], metaclass=M):
    x: int = 1
    y = property(lambda s: 1)
    @property
    def p(self): ...
    @p.setter
    def p(self, v): ...
def f[T](x: T) -> T: return x
type X[T] = list[T]
type = 3
"""
CORNERS["css"] = """@charset "utf-8";
:root { --a: 1 }
a:hover,
b > c::before { x: y }
@media screen and (min-width: 1px) {
  .a { b: c; &:hover { d: e } }
}
@font-face { font-family: x }
@supports (display: grid) { .g { a: b } }
@layer base { h1 { a: b } }
@container (min-width: 1px) { .z { a: b } }
@keyframes x { from { a: b } }
@-webkit-keyframes x { from { a: b } }
"""
CORNERS["html"] = """<!-- <section id="no"> -->
<div id=unquoted><ul><li id='x'>a<li>b</ul></div>
<nav class="a
 b">
<form action="/x"><input id="i"></form>
</nav>
<style lang="scss">.a { .b { c: d } }</style>
<script lang="ts">interface A { b: number }
class C { m() {} }</script>
<script src="x.js"></script>
<style></style>
<script>
  const f = () => { if (a < b) { return "</div>"; } };
</script>
<footer></footer>
<article><section><p>deep</p></section></article>
"""
