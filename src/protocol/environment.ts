import * as z from 'zod/mini';
import { method, noParams, optional, pathUri } from './schema.ts';

const shell = z.object({ name: z.string(), path: z.string() });

/** Facts about the machine that executes; only `shell` is certain to be there. */
export const environmentInfo = z.object({
  shell,
  executorVersion: optional(z.string()),
  providerId: optional(z.string()),
  cwd: optional(pathUri),
  userHomeDir: optional(pathUri),
  platformOs: optional(z.string()),
  prependPathDirs: optional(z.array(pathUri)),
  temporaryDirectories: optional(z.array(pathUri)),
  tempDir: optional(pathUri),
  capabilities: optional(z.record(z.string(), z.boolean())),
});
export type EnvironmentInfo = z.output<typeof environmentInfo>;

const layers = z.object({
  layers: z.array(z.object({ source: z.string(), baseDir: pathUri, toml: z.string() })),
  cloudInsertionIndex: z.number(),
});

/** Requests about the machine that executes. */
export const environmentMethods = {
  'environment/info': method({
    family: 'environment info',
    scope: 'any',
    repeatable: true,
    params: noParams,
    result: environmentInfo,
  }),
  'environment/status': method({
    family: 'environment status',
    scope: 'any',
    repeatable: true,
    params: noParams,
    result: z.object({ status: z.string() }),
  }),
  'environmentConfig/read': method({
    family: 'environment config',
    scope: 'files',
    repeatable: true,
    params: z.object({
      cwd: pathUri,
      configPaths: z.array(z.array(z.string())),
      requirementsPaths: z.array(z.array(z.string())),
    }),
    result: z.object({
      userHomeDir: optional(pathUri),
      codexHomeDir: pathUri,
      hostname: optional(z.string()),
      config: layers,
      requirements: layers,
    }),
  }),
};
