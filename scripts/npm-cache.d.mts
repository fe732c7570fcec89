export function installIntoCache(folder: string, ...packages: readonly string[]): Promise<void>;
