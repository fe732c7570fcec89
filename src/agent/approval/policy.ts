import { ExecError } from '../../protocol/index.ts';

const categories = ['sandbox_approval', 'rules', 'skill_approval', 'request_permissions', 'mcp_elicitations'] as const;
type Category = (typeof categories)[number];

/** Which kinds of question may be asked; the others become refusals. */
export type GranularApprovals = Readonly<Record<Category, boolean>>;

/** When the user is asked before a command runs. */
export type ApprovalPolicy = 'never' | 'on-request' | 'untrusted' | { readonly granular: GranularApprovals };

const names: Readonly<Record<string, ApprovalPolicy>> = {
  never: 'never',
  'on-request': 'on-request',
  'on-failure': 'on-request', // an older name of it
  untrusted: 'untrusted',
};

const expected = `expected never, on-request, untrusted or granular:LIST with any of ${categories.join(', ')}`;

/** Reads a policy as the command line spells it (`granular:rules,sandbox_approval`) or as configuration does (an object). */
export function parseApprovalPolicy(value: unknown): ApprovalPolicy {
  if (typeof value === 'string') return fromText(value);
  const granular = isRecord(value) && Object.keys(value).length === 1 ? value.granular : undefined;
  if (!isRecord(granular)) throw wrong(`invalid approval policy ${JSON.stringify(value)}: ${expected}`);
  return { granular: fromRecord(granular) };
}

/** Whether the policy permits this kind of question. */
export function mayAsk(policy: ApprovalPolicy, category: 'rules' | 'sandbox_approval'): boolean {
  return typeof policy === 'string' ? policy !== 'never' : policy.granular[category];
}

function fromText(text: string): ApprovalPolicy {
  if (Object.hasOwn(names, text)) return names[text]!;
  const list = /^granular:(.*)$/s.exec(text)?.[1];
  if (list === undefined) throw wrong(`invalid approval policy '${text}': ${expected}`);
  const wanted = list.split(',').filter((word) => word !== '');
  return { granular: fromRecord({ ...allOff, ...Object.fromEntries(wanted.map((word) => [word, true])) }) };
}

function fromRecord(given: Readonly<Record<string, unknown>>): GranularApprovals {
  for (const [key, value] of Object.entries(given)) {
    if (!categories.some((category) => category === key)) {
      throw wrong(`unknown kind of approval '${key}'; known are ${categories.join(', ')}`);
    }
    if (typeof value !== 'boolean') throw wrong(`granular.${key} must be true or false, not ${JSON.stringify(value)}`);
  }
  const missing = required.find((category) => !(category in given));
  if (missing) throw wrong(`granular.${missing} is missing: set it to true or false`);
  return { ...allOff, ...given };
}

/** The kinds that must be named; the two that came later are off by default. */
const required: readonly Category[] = ['sandbox_approval', 'rules', 'mcp_elicitations'];

const allOff: GranularApprovals = {
  sandbox_approval: false,
  rules: false,
  skill_approval: false,
  request_permissions: false,
  mcp_elicitations: false,
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wrong = (message: string): ExecError => new ExecError('invalidParams', message);
