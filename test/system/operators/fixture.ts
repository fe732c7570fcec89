import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** A directory for the files of one test. */
export class TestFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'exec-server-operators-'));

  file(name: string): string {
    return join(this.path, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

export type AuditRecord = Readonly<Record<string, unknown>> & { readonly event: string };

/** The complete lines of an audit log. */
export function recordsIn(path: string): AuditRecord[] {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as AuditRecord);
}

export interface HttpAnswer {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
}

/** Asks a listener, also one on a Unix socket. */
export function ask(url: string, path: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  const where = url.startsWith('unix:') ? { socketPath: url.slice('unix:'.length) } : new URL(url);
  const { hostname, port } = where instanceof URL ? where : { hostname: undefined, port: undefined };
  const place = 'socketPath' in where ? where : { hostname, port };
  return new Promise((resolve, reject) => {
    const request = get({ ...place, path, headers, agent: false }, async (response) => {
      const { statusCode = 0, headers: received } = response;
      resolve({ status: statusCode, type: received['content-type'], body: await text(response) });
    });
    request.on('error', reject);
  });
}

export interface MetricFamily {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly (readonly [name: string, labels: Readonly<Record<string, string>>, value: number])[];
}

const PARSER = `
import json, sys
from prometheus_client.parser import text_string_to_metric_families as parse
families = [[f.name, f.type, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] for f in parse(sys.stdin.read())]
print(json.dumps(families))`;

/** Reads metrics by the parser of the Prometheus project. */
export function parseMetrics(text: string): readonly MetricFamily[] {
  const printed = execFileSync('/usr/bin/python3', ['-c', PARSER], { input: text, encoding: 'utf8' });
  const families = JSON.parse(printed) as [string, string, string, MetricFamily['samples']][];
  return families.map(([name, type, help, samples]) => ({ name, type, help, samples }));
}

/** The value of one sample. */
export function sampleOf(families: readonly MetricFamily[], name: string, labels: Record<string, string> = {}): number {
  const samples = families.flatMap((family) => family.samples);
  const found = samples.find(
    ([sample, own]) => sample === name && Object.entries(labels).every(([label, value]) => own[label] === value),
  );
  if (!found) throw new Error(`there is no ${name} ${JSON.stringify(labels)}`);
  return found[2];
}
