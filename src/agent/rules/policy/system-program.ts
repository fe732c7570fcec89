/**
 * Whether a path is that of a program of the system. A rule for a bare name such as `git` lets only these leave the sandbox: it
 * says nothing about `./git`, which a command or a repository can bring along.
 */
export const isSystemProgram = (path: string): boolean => /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$/.test(path);
