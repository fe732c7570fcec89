// Loaded before a program (`node --require`): tells whoever connects to the socket COVERAGE_SOCKET in which files functions
// have run since the last connection. The body of a module, which runs when it is loaded, does not count.
'use strict';
const { Session } = require('node:inspector');
const { createServer } = require('node:net');

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

createServer((socket) => {
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw new Error(error.message);
    const ran = coverage.result.filter(({ functions }) => functions.some(hasRun));
    socket.end(JSON.stringify(ran.map(({ url }) => url)));
  });
})
  .listen(process.env.COVERAGE_SOCKET)
  .unref();

const hasRun = ({ ranges: [{ count, startOffset }] }) => count > 0 && startOffset > 0;
