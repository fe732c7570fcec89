// Gives a model two tools that run commands on another machine in a sandbox, and asks a user before a command leaves it.
// The model here is a script; any model that can call functions takes its place.
//   node examples/agent-loop.mjs ws://127.0.0.1:39811
import { callbackApprover, Orchestrator } from 'exec-server/approval';
import { webSocket } from 'exec-server/link';
import { RulesStore } from 'exec-server/rules';
import { Environments, permissionsOf, remoteBackend, UnifiedExec } from 'exec-server/unified-exec';

const [url] = process.argv.slice(2);
if (url === undefined) {
  console.error('usage: node examples/agent-loop.mjs ws://HOST:PORT');
  process.exit(2);
}
const environments = new Environments({ box: remoteBackend(webSocket(url)) });
await environments.select().info(); // connects, and says why where there is no server: the tools do not tell the model
const user = callbackApprover(({ reason }) => {
  console.log(`user:  "${reason}" Yes.`);
  return { decision: 'accept' };
});
const exec = new UnifiedExec({
  environments,
  settings: { box: { permissions: permissionsOf('read-only') } },
  orchestrator: new Orchestrator({ policy: 'on-request', approver: user, rules: await RulesStore.open({}) }),
  allowLoginShell: false,
});

/** Says what to call next, sees the text that comes back, and ends with an answer. */
function* scriptedModel(tools) {
  console.log(`model: I have ${tools.map(({ name }) => name).join(' and ')}.`);
  const cmd = 'folder=$(mktemp -d) && rmdir "$folder" && echo fine';
  const refused = yield ['exec_command', { cmd }];
  if (!refused.includes('Read-only file system')) return 'There is no sandbox here!';
  const escalation = { sandbox_permissions: 'require_escalated', justification: 'May I make a temporary folder?' };
  yield ['exec_command', { cmd, ...escalation }];

  const greeter = 'stty -echo; echo "Who are you?"; read name; echo "Hello, $name!"';
  const running = yield ['exec_command', { cmd: greeter, tty: true, yield_time_ms: 2000 }];
  const session_id = Number(/session ID (\d+)/.exec(running)[1]);
  const greeting = yield ['write_stdin', { session_id, chars: 'a model\n', yield_time_ms: 10_000 }];
  return `It said: ${greeting.split('Output:\n')[1].trim()}`;
}

try {
  const model = scriptedModel(exec.tools());
  let step = model.next();
  while (!step.done) {
    const [name, args] = step.value;
    const { text } = await exec.call(name, JSON.stringify(args));
    console.log(`${name}: ${/^Process .*/m.exec(text)?.[0].replace(/ID \d+/, 'ID …') ?? text}`);
    step = model.next(text);
  }
  console.log(`model: ${step.value}`);
} finally {
  await exec[Symbol.asyncDispose]();
  await environments[Symbol.asyncDispose]();
}
