#!/usr/bin/env node
// Starts the program of this platform, which npm has installed as an optional
// dependency, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@specum/${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "specum.exe" : "specum";

let path;
try {
  path = require.resolve(`${name}/bin/${program}`);
} catch {
  console.error(
    `error: the package ${name} is not installed. Either there is no build for this system, ` +
      "or npm was told to leave out optional dependencies: install specum again without " +
      "--omit=optional.",
  );
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C in a terminal reaches the program by itself; what is sent to us alone is
// passed on. It decides when it ends, and so do we.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`error: cannot start ${path}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
