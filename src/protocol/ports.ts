import * as z from 'zod/mini';
import { bytes, method, optional, unsigned } from './schema.ts';

const family = 'net';
const scope = 'forward';
const capability = 'netStreams';

const streamId = z.string().check(z.minLength(1, 'must not be empty'));
const port = z
  .number()
  .check(z.refine((value) => Number.isInteger(value) && value >= 1 && value <= 65_535, 'must be between 1 and 65535'));

const chunk = z.object({ seq: unsigned, chunk: bytes });
export type StreamChunk = z.output<typeof chunk>;

/** What a stream leads to. */
const target = {
  /** A name or an address; `localhost` unless given. */
  host: optional(z.string()),
  port: optional(port),
  /** The absolute path of a Unix socket, instead of host and port. */
  path: optional(z.string()),
  /** Connects inside the network of this process of the session. */
  processId: optional(z.string()),
};

/** Extension: requests about connections to ports of the machine that executes. */
export const portMethods = {
  'net/open': method({
    family,
    scope,
    capability,
    params: z
      .object({
        streamId,
        ...target,
        /**
         * Sends at most so many bytes that `net/ack` has not acknowledged, so that a stream that is not read delays no
         * other. Without it a stream is sent like the output of a process: as fast as the connection takes it.
         */
        windowBytes: optional(unsigned),
        /** Makes the request repeatable: the same id and request again get the first answer. */
        openId: optional(z.string().check(z.minLength(1, 'must not be empty'))),
      })
      .check(
        z.refine(
          ({ port: number, path }) => (number == null) !== (path == null),
          'exactly one of `port` and `path` must be given',
        ),
      ),
    result: z.object({}),
  }),
  'net/write': method({
    family,
    scope,
    capability,
    params: z.object({
      streamId,
      chunk: bytes,
      writeId: optional(z.string().check(z.minLength(1, 'must not be empty'))),
    }),
    /** `closed`: the stream was ended or closed, or the other end does not read any more. */
    result: z.object({ status: z.enum(['accepted', 'closed']) }),
  }),
  'net/end': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: z.object({ streamId }),
    result: z.object({}),
  }),
  'net/close': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: z.object({ streamId }),
    result: z.object({}),
  }),
  'net/read': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: z.object({
      streamId,
      /** Of a stream without `windowBytes`, this acknowledges everything up to the number. */
      afterSeq: optional(unsigned),
      maxBytes: optional(unsigned),
      waitMs: optional(unsigned),
    }),
    result: z.object({
      chunks: z.array(chunk),
      nextSeq: unsigned,
      /** The number of `net/ended`, once the other end has ended its side. */
      endedSeq: z.nullable(unsigned),
      closed: z.boolean(),
      error: z.nullable(z.string()),
      /** Bytes between `afterSeq` and the first chunk are no longer kept. */
      truncated: z.boolean(),
      /** Number of the oldest chunk that is still kept. */
      oldestSeq: unsigned,
    }),
  }),
  'net/ack': method({
    family,
    scope,
    capability,
    repeatable: true,
    /** The client has used everything up to this number. */
    params: z.object({ streamId, seq: unsigned }),
    result: z.object({}),
  }),
  'net/ports': method({
    family,
    scope,
    capability,
    repeatable: true,
    /** Of the network that `net/open` with the same `processId`, or without one, connects in. */
    params: optional(z.object({ processId: optional(z.string()) })),
    result: z.object({
      /** What accepts connections on loopback, or on every address. */
      ports: z.array(
        z.object({
          host: z.string(),
          port,
          /** The process of the session that it belongs to, with the number and the name of the program; absent for others. */
          processId: z.optional(z.string()),
          pid: z.optional(unsigned),
          program: z.optional(z.string()),
        }),
      ),
    }),
  }),
  'net/list': method({
    family,
    scope,
    capability,
    repeatable: true,
    params: optional(z.object({})),
    result: z.object({
      streams: z.array(
        z.object({
          streamId: z.string(),
          host: z.optional(z.string()),
          port: z.optional(port),
          path: z.optional(z.string()),
          processId: z.optional(z.string()),
          phase: z.enum(['open', 'closed']),
          openedAtMs: unsigned,
          nextSeq: unsigned,
        }),
      ),
    }),
  }),
};

export const portNotifications = {
  'net/data': z.object({ streamId: z.string(), seq: unsigned, chunk: bytes }),
  /** The other end sends no more; it may still read. */
  'net/ended': z.object({ streamId: z.string(), seq: unsigned }),
  /** Both directions are over. The error is a sentence about a connection that failed. */
  'net/closed': z.object({ streamId: z.string(), seq: unsigned, error: z.optional(z.string()) }),
};
