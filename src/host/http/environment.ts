/** Environment variables, which name proxies and certificates. */
export type Environment = Readonly<Record<string, string | undefined>>;
