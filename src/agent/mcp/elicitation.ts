import { type ApprovalAnswer, type ApprovalDecision, type ApprovalRequest, changeLines } from '../approval/index.ts';
import { shownLines, shownText, shownWord, shownWords } from '../rules/index.ts';

/** The parameters of `elicitation/create`: a form with one choice. */
export interface ApprovalForm {
  readonly message: string;
  readonly requestedSchema: {
    readonly type: 'object';
    readonly properties: { readonly decision: DecisionChoice };
    readonly required: ['decision'];
  };
}

interface DecisionChoice {
  readonly type: 'string';
  readonly title: string;
  readonly enum: ApprovalDecision[];
  /** Titles of the values, in the only way that both older and newer clients know. */
  readonly enumNames: string[];
}

/** The form that asks the user. */
export function approvalForm(request: ApprovalRequest): ApprovalForm {
  const offered = [...request.availableDecisions];
  return {
    message: messageOf(request),
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          enum: offered,
          enumNames: offered.map((decision) => titleOf(decision, request)),
        },
      },
      required: ['decision'],
    },
  };
}

/** Parses the user's decision. A value that was not offered counts as declined. */
export function readAnswer(response: unknown, request: ApprovalRequest): ApprovalAnswer {
  const { action, content } = (response ?? {}) as { action?: unknown; content?: { decision?: unknown } };
  if (action === 'cancel') return { decision: 'cancel' };
  if (action !== 'accept') return { decision: 'decline' };
  const chosen = request.availableDecisions.find((decision) => decision === content?.decision);
  return { decision: chosen ?? 'decline' };
}

function messageOf(request: ApprovalRequest): string {
  const lines = [questionOf(request)];
  if (request.reason) lines.push(`Reason: ${shownText(request.reason)}`);
  if (request.environmentId !== 'local') lines.push(`Environment: ${shownText(request.environmentId)}`);
  return lines.join('\n');
}

function questionOf(request: ApprovalRequest): string {
  switch (request.kind) {
    case 'command':
      return `Allow this command?\n\n$ ${shownLines(request.argv)}\n\nIn ${shownWord(request.cwd)}${permissionsOf(request)}`;
    case 'writeStdin':
      return `Allow typing into a terminal outside the sandbox?\n\n${shownWord(request.input)}\n\nIn ${shownWord(request.cwd)}`;
    case 'fileChange': {
      const beyond = request.outside.length > 0 ? ', outside what the sandbox lets be written' : '';
      const lines = changeLines(request.changes).map((line) => `  ${line}`);
      return `Allow these changes to files${beyond}?\n\n${lines.join('\n')}\n`;
    }
    case 'network':
      return `Allow a connection to ${shownText(request.host)}:${request.port} (${request.protocol})?${
        request.argv === undefined ? '' : `\n\nFor: ${shownLines(request.argv)}`
      }`;
  }
}

function permissionsOf({ sandboxPermissions }: Extract<ApprovalRequest, { kind: 'command' }>): string {
  if (sandboxPermissions === 'require_escalated') return ', outside the sandbox';
  return sandboxPermissions === 'with_additional_permissions' ? ', with more permissions than usual' : '';
}

function titleOf(decision: ApprovalDecision, request: ApprovalRequest): string {
  switch (decision) {
    case 'accept':
      return 'Yes, this once';
    case 'acceptForSession':
      return `Yes, and do not ask again in this session${request.kind === 'fileChange' ? ' about these files' : ''}`;
    case 'acceptWithRule':
      return `Yes, and always from now on${ruleOf(request)}`;
    case 'denyWithRule':
      return `No, and never from now on${ruleOf(request)}`;
    case 'decline':
      return 'No, go on without it';
    case 'cancel':
      return 'No, and stop';
  }
}

function ruleOf(request: ApprovalRequest): string {
  if (request.kind === 'network') return `: ${shownText(request.host)}`;
  const rule = request.kind === 'command' ? request.proposedRule : undefined;
  return rule === undefined ? '' : `: commands that start with ${shownWords(rule)}`;
}
