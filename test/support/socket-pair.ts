import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Both ends of a connection, of which the near one is not read until a test reads it. */
export async function socketPair(): Promise<{ near: Socket; far: Socket } & Disposable> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[near]] = (await Promise.all([once(server, 'connection'), once(far, 'connect')])) as [[Socket], unknown];
  return {
    near,
    far,
    [Symbol.dispose]: () => {
      for (const socket of [near, far]) socket.destroy();
      server.close();
    },
  };
}
