#!/usr/bin/env node
// Runs the bundled command line from compiled code. The cache fits the Node that built it; any other Node refuses it
// and compiles as usual.
'use strict';
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

const filename = join(__dirname, 'main.cjs');
const source = readFileSync(filename, 'utf8');
let cachedData;
try {
  cachedData = readFileSync(join(__dirname, 'main.cache'));
} catch {
  // Built without a cache: slower to start, otherwise the same.
}
const script = new Script(`(function (require, module, exports, __filename, __dirname) {${source}\n})`, {
  filename,
  cachedData,
});
script.runInThisContext()(require, module, exports, filename, __dirname);
module.exports = script;
