// A harness: connects through a registry (REGISTRY, TOKEN), and sends one request for every line on stdin.
import { createInterface } from 'node:readline';
import { ExecServerClient } from '../../dist/client/index.js';
import { bearerToken, viaRegistry } from '../../dist/relay/remote/index.js';

const { REGISTRY: registryUrl, TOKEN } = process.env;
const route = viaRegistry({ registryUrl, environmentId: 'env', credentials: bearerToken(TOKEN) });
const client = await ExecServerClient.connect(route);
console.log('connected');
for await (const _ of createInterface({ input: process.stdin })) {
  await client.request('environment/status', {});
  console.log('answered');
}
