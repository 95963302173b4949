"""A file of each language, and the same with mistakes in it."""

PYTHON = '''"""Module."""
import os
from sys import path

@decorated
class A(Base):
    """A string with class NotReal:"""

    @property
    def x(self) -> int:
        return 1

    class Inner:
        pass

async def main(
    a, b
):
    def nested():
        pass

type Alias = int
'''
JAVASCRIPT = """import a from "a";
import { b } from "b";

export default class App extends Base {
  state = {};
  handle = () => { return 1 };
  constructor() { super(); }
  async load(x) {
    if (x) { return "function notReal() {" }
  }
}

function* gen() {}
const arrow = async (x) => {
  return x;
};
export const other = function () {};
module.exports.third = () => 1;
export { arrow };
"""
TYPESCRIPT = """import type { T } from "t";

export interface Shape { area(): number }
export type Id = string | number;
enum Color { Red }
declare namespace Space { function inside(): void; }
export abstract class Base<T> {
  abstract go(): void;
  private run = (x: number) => x;
  static make(): Base<number> { throw 1; }
}
export function f<T>(a: T): T { return a; }
"""
TSX = """export function View(props: { n: number }) {
  return <div>{props.n}</div>;
}
const Small = () => <b>x</b>;
"""
RUST = """use std::io;

#[derive(Debug)]
pub struct Point { x: i32 }

enum Kind { A }
trait Draw { fn draw(&self); }
impl Draw for Point {
    fn draw(&self) {}
}
mod inner { pub fn deep() {} }
macro_rules! mac { () => {} }
const N: usize = 1;
pub async fn run<T>(t: T) -> T { t }
"""
GO = """package main

import (
	"fmt"
)

type Server struct { x int }
type Reader interface { Read() }
type ID = string

func (s *Server) Start() error { return nil }
func main() { fmt.Println("func fake() {") }
"""
JAVA = """package com.example;
import java.util.List;

public class App {
    enum Mode { A }
    record Pair(int a, int b) {}
    App() {}
    @Override
    public <T> List<T> list(T t) { return null; }
}
interface Service { void go(); }
"""
C = """#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
typedef struct node { int x; } Node;
enum color { RED };
static int add(int a, int b) { return a + b; }
char *name(void) { return "int fake(void) {"; }
"""
CPP = """#include <vector>
namespace app {
template <typename T>
class Box {
 public:
  Box();
  T get() const { return x; }
 private:
  T x;
};
struct P { int a; };
using Id = int;
}
int app::Box<int>::size() { return 1; }
int &ref(int &a) { return a; }
"""
CSHARP = """using System;
namespace App.Core {
  public class Service {
    public string Name { get; set; }
    public Service() {}
    public async Task<int> RunAsync(int a) { return a; }
  }
  interface IThing { void Go(); }
  struct S {}
  enum E { A }
}
"""
PHP = """<?php
namespace App\\Models;
use App\\Base;
class User extends Base {
    public function name(): string { return "function fake() {"; }
}
interface HasName { public function name(); }
trait Loud { function shout() {} }
function helper($a) { return $a; }
"""
RUBY = """require "json"
module App
  class User < Base
    def name
      "def fake"
    end
    def self.make; end
  end
end
def top; end
"""
BASH = """#!/bin/bash
build() {
  echo "test() {"
}
function deploy { :; }
"""
CSS = """@import "a.css";
body { color: red }
@media (max-width: 1px) {
  .a, .b > c { x: y }
}
@keyframes spin { from { a: b } to { c: d } }
"""
SCSS = """$x: 1px;
.card {
  &:hover { color: red; } // { not real
  .title { a: b }
}
@mixin big($n) { c: d }
"""
KOTLIN = """class A(val x: Int) {
    fun go() { println("fun fake() {") }
}
interface B
fun top(): Int = 1
"""
HTML = """<!doctype html>
<html>
<head>
<style>
body { color: red }
@media print { .a { b: c } }
</style>
</head>
<body>
<header id="top"><h1>x</h1></header>
<main>
  <section class="s"><p id="p">text</p></section>
</main>
<script type="module">
import x from "x";
function run() { return 1 }
</script>
<script type="application/json">{"function": 1}</script>
</body>
</html>
"""

SAMPLES: dict[str, tuple[str, str]] = {
    "python": (PYTHON, PYTHON.replace("def x(self) -> int:", "def x(self -> int:").replace("a, b\n", "a, (b\n")),
    "javascript": (
        JAVASCRIPT,
        JAVASCRIPT.replace("async load(x) {", "async load(x {").replace("return x;", "return (x;"),
    ),
    "typescript": (
        TYPESCRIPT,
        TYPESCRIPT.replace("enum Color {", "enum Color {{ (").replace("abstract go", "abstract (go"),
    ),
    "tsx": (TSX, TSX.replace("</div>;", "</;")),
    "rust": (RUST, RUST.replace("enum Kind { A }", "enum Kind { A ").replace("use std::io;", "use std::;;(")),
    "go": (GO, GO.replace("{ x int }", "{ x int").replace("return nil", "return (nil")),
    "java": (JAVA, JAVA.replace("App() {}", "App( {}").replace("{ A }", "{ A ")),
    "c": (C, C.replace("return a + b;", "return (a + b;").replace("{ RED }", "{ RED ( }")),
    "cpp": (CPP, CPP.replace("Box();", "Box(;").replace("struct P {", "struct P {{")),
    "csharp": (
        CSHARP,
        CSHARP.replace("public Service() {}", "public Service( {}").replace("struct S {}", "struct S {"),
    ),
    "php": (PHP, PHP.replace("function name(): string {", "function name(: string {")),
    "ruby": (RUBY, RUBY.replace("def name\n", "def name(\n")),
    "bash": (BASH, BASH.replace("echo", "if (( echo")),
    "css": (CSS, CSS.replace("color: red }", "color red; }").replace("x: y", "x y (")),
    "scss": (SCSS, ""),
    "kotlin": (KOTLIN, ""),
    "html": (HTML, HTML.replace("</h1>", "").replace("<main>", "<main").replace("run() {", "run( {")),
}
