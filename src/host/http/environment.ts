/** Environment variables, where proxies and certificates are named. */
export type Environment = Readonly<Record<string, string | undefined>>;
