// What callers give the client and get from it, besides the types of the API.

export interface Settings {
  /** The address of the server, such as https://atrium.example.com. In a page: its own origin by default. */
  baseURL?: string | URL
  /**
   * An API key or a token of an issuer, or a function that returns one before each attempt. Spaces and line breaks
   * around it are ignored. Throws SecretError if it cannot be one.
   */
  token?: string | (() => string | undefined | Promise<string | undefined>)
  /** In a page with a session: the `proof` of the session, or a function that returns it. The browser sends the cookie. */
  proof?: string | (() => string | null | undefined)
  /** Id or slug of the workspace, if the credential gives access to several. */
  workspace?: string
  /** How often a call is repeated: 2 times by default. */
  maxRetries?: number
  /** Milliseconds for each attempt of a call: 30000 by default. Streams have no limit. */
  timeout?: number
  /** Sends requests: the global fetch by default. */
  fetch?: typeof fetch
  /** Called before each attempt; the function that it returns is called after it. For logs, metrics and traces. */
  observe?: (attempt: Attempt) => ((outcome: Outcome) => void) | void
  /**
   * Gets a warning when a prompt is replaced by its fallback, once in an outage, and each attempt of a call if the
   * variable ATRIUM_CLIENT_LOG is debug: console by default.
   */
  logger?: Logger
}

export interface Logger {
  warn(text: string): void
  debug(text: string): void
}

/** One HTTP request of a call. It contains no credential. */
export interface Attempt {
  /** The name of the call: promptTemplates.create. */
  readonly call: string
  readonly method: string
  /** The path without the query, which can hold secrets. */
  readonly path: string
  /** 1 for the first attempt. */
  readonly number: number
  /** Further headers to send, such as traceparent. */
  readonly headers: Record<string, string>
}

/** How an attempt ended. */
export interface Outcome {
  /** 0 if there was no response. */
  status: number
  requestId: string
  error: unknown
  /** Milliseconds until the response was read; of a stream, until its headers were. */
  duration: number
  /** Milliseconds until the next attempt; undefined if this was the last one. */
  retryIn: number | undefined
}

export interface Options {
  /** Cancels the call. */
  signal?: AbortSignal
  workspace?: string
  /** The ETag that the resource must still have, or the resource as this client returned it. */
  ifMatch?: string | object
  /** Throws NotModifiedError if the resource still has this ETag. */
  ifNoneMatch?: string
  /** Replaces the random key of a call, so that a program can repeat it after a restart. */
  idempotencyKey?: string
  /** Replaces the credential. */
  token?: string
  maxRetries?: number
  /** Milliseconds for each attempt. */
  timeout?: number
}

/** What a response said besides its body. */
export interface ResponseInfo {
  readonly status: number
  /** For `ifMatch`. */
  readonly etag: string | undefined
  readonly requestId: string
  /** Whether this is the stored response of an earlier call with the same Idempotency-Key. */
  readonly replayed: boolean
  readonly headers: Headers
}

/** One server-sent event. */
export interface ServerEvent<T> {
  /** The kind of the event. */
  name: string
  id: string
  /** undefined for events without data. */
  data: T | undefined
}

/** A list: its first page when awaited, all items when iterated. */
export interface Page<T, P> extends Promise<P>, AsyncIterable<T> {
  /** All pages, one after another. */
  pages(): AsyncIterableIterator<P>
}
