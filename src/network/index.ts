export { type BodyDelta, HttpClient, type HttpClientOptions } from './http-client.ts';
