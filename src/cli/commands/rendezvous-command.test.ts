import { describe, expect, it } from 'vitest';
import { UsageError } from '../usage-error.ts';
import { rendezvousCommand } from './rendezvous-command.ts';

describe('the options of exec-server rendezvous', () => {
  it.each([
    [['--listen', 'ws://127.0.0.1:0'], "invalid value 'ws://127.0.0.1:0' for --listen: expected http://IP:PORT"],
    [['--listen', 'http://localhost:1'], "invalid value 'http://localhost:1' for --listen"],
    [['--public-url', 'relay.example'], "invalid value 'relay.example' for --public-url"],
    [['--node', 'a'], '--node needs --nats'],
    [['--nats', 'nats://127.0.0.1:1'], '--nats needs --node'],
    [['--nats', 'nats://127.0.0.1:1', '--node', 'a.b'], '--nats needs --node'],
    [['--nats', 'nats://127.0.0.1:1', '--node', 'a'], '--nats needs --secret-file'],
    [['--nats', 'nats://127.0.0.1:1', '--node', 'a', '--secret-file', 'x'], '--nats needs --tokens-file'],
    [['--nats', 'localhost', '--node', 'a'], 'invalid value for --nats: expected nats://HOST:PORT'],
    [['--nats', 'nats://u:p@localhost:1', '--node', 'a'], '--nats must not hold a password or token'],
    [['--nats', 'nats://token@localhost:1', '--node', 'a'], '--nats must not hold a password or token'],
    [['--nats-user', 'u'], '--nats-user needs --nats'],
    [['--jwt-issuer', 'x'], '--jwt-issuer and --jwt-audience need --jwt-keys-file'],
    [['--listen', 'http://0.0.0.0:0', '--allow-insecure'], '--listen on 0.0.0.0 needs --public-url'],
    [['more'], "unexpected argument 'more'"],
    [['--more'], "unexpected argument '--more'"],
  ])('calls %j wrong usage', async (args, reason) => {
    const refused = rendezvousCommand(args);

    await expect(refused).rejects.toThrow(UsageError);
    await expect(refused).rejects.toThrow(reason);
  });

  it('repeats no password that may be in an address', async () => {
    await expect(rendezvousCommand(['--nats', 'nats://u:secret@h', '--node', 'a'])).rejects.not.toThrow('secret');
  });

  it.each([
    [['--tokens-file', '/no/such'], 'cannot use /no/such: ENOENT'],
    [['--secret-file', '/no/such'], 'cannot use /no/such: ENOENT'],
    [['--jwt-keys-file', '/no/such'], 'cannot use /no/such: ENOENT'],
    [['--audit-log', '/no/such/file'], 'cannot write the audit log: ENOENT'],
    [['--listen', 'http://0.0.0.0:0'], 'refusing to listen on 0.0.0.0 without an https --public-url'],
    [
      ['--listen', 'http://0.0.0.0:0', '--public-url', 'https://relay.example'],
      'refusing to listen on 0.0.0.0 without --tokens-file or --jwt-keys-file; use --allow-insecure',
    ],
  ])('says why it cannot serve with %j', async (args, reason) => {
    const refused = rendezvousCommand(args);

    await expect(refused).rejects.not.toThrow(UsageError);
    await expect(refused).rejects.toThrow(reason);
  });
});
