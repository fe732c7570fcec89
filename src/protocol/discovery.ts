import * as z from 'zod/mini';
import { type Sandbox, sandbox } from './sandbox.ts';
import { method, optional, pathUri } from './schema.ts';

const family = 'capability discovery';
const scope = 'files';
const file = z.object({ path: pathUri, contents: z.string() });

const anything = z.record(z.string(), z.unknown());

/** The sandbox of `capabilities/discoverV2` must have a working directory. */
const withCwd = z.refine<Sandbox>(({ cwd }) => cwd != null, 'missing field `cwd`');

/** Requests that list plugins and skills. */
export const discoveryMethods = {
  'capabilityRoots/discoverV1': method({
    family,
    scope,
    repeatable: true,
    params: z.object({ roots: z.array(z.object({ id: z.string(), path: pathUri, sandbox: optional(sandbox) })) }),
    result: z.object({
      roots: z.array(
        z.object({
          id: z.string(),
          path: pathUri,
          plugin: z.nullable(z.object({ manifest: file, mcpConfig: z.nullable(file), appsConfig: z.nullable(file) })),
          skills: z.array(z.object({ instructions: file, metadata: z.nullable(file) })),
          namespaceManifests: z.array(file),
          warnings: z.array(z.string()),
          error: z.nullable(z.string()),
        }),
      ),
    }),
  }),
  'capabilities/discoverV2': method({
    family,
    scope,
    repeatable: true,
    params: z.object({ cwd: pathUri, sandbox: optional(sandbox.check(withCwd)) }),
    result: z.object({ plugins: z.array(anything), skills: z.array(anything), warnings: z.array(z.string()) }),
  }),
};
