"""Small repositories of different ecosystems, as their files; each has something to measure and something wrong."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

PYTEST = {
    "pyproject.toml": """\
[project]
name = "shop"
version = "1"

[tool.pytest.ini_options]
testpaths = ["tests"]

[tool.ruff]

[tool.mypy]
""",
    "src/shop/__init__.py": "",
    "src/shop/prices.py": """\
import os


def total(prices):
    return sum(prices)


def vat(price):
    return price
""",
    "tests/test_prices.py": """\
from shop.prices import total, vat


def test_total():
    assert total([1, 2]) == 3


def test_vat():
    assert vat(100) == 119
""",
}
UNITTEST = {
    "shapes.py": """\
def area(side):
    return side + side
""",
    "tests/__init__.py": "",
    "tests/test_shapes.py": """\
import unittest

from shapes import area


class Area(unittest.TestCase):
    def test_two(self):
        self.assertEqual(area(2), 4)

    def test_three(self):
        self.assertEqual(area(3), 9)
""",
    "bench.py": "print(sum(range(200_000)))\n",
}
TRAINING = {
    "train.py": """\
for step in range(3):
    print(f"step {step} train_loss {1 / (step + 1):.3f} val_loss={2 / (step + 1):.3f}")
""",
    "model.py": "WIDTH = 3\n",
}
NODE = {
    "package.json": """\
{"name": "greet", "type": "module", "main": "dist/index.js",
 "scripts": {"test": "node --test", "build": "mkdir -p dist && cp index.js dist/index.js", "bench": "node bench.js"}}
""",
    "index.js": """\
export const greet = (name) => `hello ${name}`;
export const bye = (name) => `hello ${name}`;
""",
    "bench.js": """\
let sum = 0;
for (let i = 0; i < 1e5; i++) sum += i;
""",
    "test/greet.test.js": """\
import test from "node:test";
import assert from "node:assert";
import { bye, greet } from "../index.js";
test("greet", () => assert.equal(greet("you"), "hello you"));
test("bye", () => assert.equal(bye("you"), "bye you"));
""",
    ".gitignore": """\
dist/
node_modules/
""",
}
RUST = {
    "Cargo.toml": """\
[package]
name = "adder"
version = "0.1.0"
edition = "2021"
""",
    "src/main.rs": """\
fn main() {
    println!("{}", adder::add(1, 2));
}
""",
    "src/lib.rs": """\
pub fn add(a: i32, b: i32) -> i32 {
    return a + b;
}

pub fn twice(a: i32) -> i32 {
    a
}
""",
    "tests/add.rs": """\
#[test]
fn adds() {
    assert_eq!(adder::add(1, 2), 3);
}

#[test]
fn doubles() {
    assert_eq!(adder::twice(2), 4);
}
""",
    ".gitignore": "target/\n",
}
GO = {
    "go.mod": """\
module example.com/adder

go 1.21
""",
    "main.go": """\
package main

func main() {}
""",
    "add.go": """\
package main

func Add(a, b int) int { return a + b }
""",
    "add_test.go": """\
package main

import "testing"

func TestAdd(t *testing.T) {}

func BenchmarkAdd(b *testing.B) {}
""",
    ".golangci.yml": """\
run:
  timeout: 5m
""",
}
CMAKE = {
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.16)
project(sum C)
enable_testing()
add_executable(sum sum.c)
add_test(NAME right COMMAND sum 1 2)
add_test(NAME wrong COMMAND sum)
""",
    "sum.c": """\
#include <stdlib.h>

int main(int count, char **words) {
    int unused;
    return count == 3 && atoi(words[1]) + atoi(words[2]) == 3 ? 0 : 1;
}
""",
}
MAKE = {
    "Makefile": """\
TARGET = greet

greet: greet.c
	$(CC) -Wall -o greet greet.c

test: greet
	./greet | grep -q hello

bench: greet
	./greet
""",
    "greet.c": """\
#include <stdio.h>

int main(void) {
    int unused;
    puts("hello");
    return 0;
}
""",
    ".gitignore": "greet\n",
}
MAVEN = {
    "pom.xml": """\
<project><modelVersion>4.0.0</modelVersion><groupId>e</groupId><artifactId>adder</artifactId><version>1</version>
<build><plugins><plugin><artifactId>maven-checkstyle-plugin</artifactId></plugin>
<plugin><artifactId>jacoco-maven-plugin</artifactId></plugin></plugins></build></project>
""",
    "src/main/java/Adder.java": "class Adder { static int add(int a, int b) { return a + b; } }\n",
    "src/test/java/AdderTest.java": "class AdderTest {}\n",
    ".gitignore": "target/\n",
}
NUMBERS = {
    "value.txt": "1\n",
    "number.py": 'print("the number is", open("value.txt").read())\n',
    "score.py": 'import json\nprint(json.dumps({"pass": True, "score": float(open("value.txt").read())}))\n',
}

SAMPLES: dict[str, Mapping[str, str]] = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "training": TRAINING,
    "node": NODE,
    "rust": RUST,
    "go": GO,
    "cmake": CMAKE,
    "make": MAKE,
    "maven": MAVEN,
}


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write ``files`` below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def make_repository(root: Path, files: Mapping[str, str]) -> Path:
    """A git repository at ``root`` with one commit that holds ``files``."""
    root.mkdir(parents=True, exist_ok=True)
    write_files(root, files)
    identity = ("-c", "user.name=sample", "-c", "user.email=sample@localhost", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return root
