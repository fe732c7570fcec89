import { Client } from '../client.ts';
import { higher, inFlight, lower, status, timeEach, type Workload } from '../workload.ts';

export const rpc: Workload = {
  about: '`environment/status` one at a time, and 64 in flight',
  async run({ server, scale }) {
    using client = await Client.open(server.url);
    const call = () => status(client);
    const cold = await timeEach(200, call);
    await timeEach(3000, call);
    const steady = await timeEach(scale.rpcCalls, call);
    const calls = scale.rpcCalls * 5;
    const cpuBefore = server.use.cpuSeconds().own;
    const seconds = await inFlight(calls, 64, call);
    const cpu = server.use.cpuSeconds().own - cpuBefore;
    return {
      samples: { 'first 200 calls': cold, 'round trip': steady },
      figures: {
        'pipelined x64': higher(calls / seconds, 'req/s'),
        'server cpu': lower((cpu / calls) * 1e6, 'us/req'),
      },
    };
  },
};
