// Starts a long command, looks at it through windows of time as a model would, and ends it.
//   node examples/build-and-watch.mjs ws://127.0.0.1:39811
import { ExecServerClient } from 'exec-server/client';
import { webSocket } from 'exec-server/link';

const [url] = process.argv.slice(2);
if (url === undefined) {
  console.error('usage: node examples/build-and-watch.mjs ws://HOST:PORT');
  process.exit(2);
}
const client = await ExecServerClient.connect(webSocket(url));
try {
  const script = 'for i in 1 2 3; do echo "step $i"; sleep 0.2; done; exec sleep 60';
  const build = await client.start({ argv: ['/bin/sh', '-c', script], env: { PATH: '/usr/bin:/bin' } });

  let seen = '';
  while (!seen.includes('step 3')) {
    const { output } = await build.collect({ yieldMs: 250 });
    seen += new TextDecoder().decode(output);
  }
  process.stdout.write(seen);

  await build.terminate({ graceMs: 2000 });
  const { exitCode } = await build.wait();
  process.stdout.write(`ended with ${exitCode}\n`);
} finally {
  await client.close();
}
