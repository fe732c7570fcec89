import { createHash, randomBytes } from 'node:crypto';

/** The reference's command line accepts these ids of environments. */
export const isEnvironmentId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

export const isStreamId = (text: string): boolean => /^[A-Za-z0-9-]{1,64}$/.test(text);

/** 128 random bits in hex: fits into URLs and into names on the bus. */
export const randomId = (): string => randomBytes(16).toString('hex');

/** The name of an environment on the bus and in the directory, where strings chosen by clients are not allowed. */
export const environmentToken = (environmentId: string): string =>
  sha256(environmentId).subarray(0, 16).toString('hex');

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Identifies a secret in logs without revealing it. */
export const shortHash = (secret: string): string => sha256(secret).subarray(0, 4).toString('hex');
