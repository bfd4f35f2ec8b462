import type { Problem } from './api.gen.js'
import { AtriumConnectionError, AtriumError, NotModifiedError, unexpected } from './errors.js'
import type { Attempt, Logger, Options, Outcome, Page, ResponseInfo, ServerEvent, Settings } from './options.js'
import { readLines } from './lines.js'
import { checked } from './secret.js'
import { events } from './stream.js'

export type { Attempt, Logger, Options, Outcome, Page, ResponseInfo, ServerEvent, Settings } from './options.js'

export const version = '0.1.0'

/** @internal */
export interface Request {
  name: string
  method: string
  path: string
  body?: unknown
  query?: Record<string, unknown>
  keyed?: boolean
  merge?: boolean
  repeatable?: boolean
}

/** @internal */
export interface Caller {
  send<T>(request: Request, options?: Options): Promise<T>
  list<T, P>(request: Request, options?: Options): Page<T, P>
  stream<T>(request: Request, options?: Options): AsyncIterableIterator<ServerEvent<T>>
  lines<T>(request: Request, options?: Options): AsyncIterableIterator<T>
  archive(request: Request, options?: Options): Promise<Uint8Array<ArrayBuffer>>
}

/** The calls of a resource. */
export class Resource {
  /** @internal */
  protected readonly caller: Caller
  constructor(caller: Caller) {
    this.caller = caller
  }
}

/** A path with its parameters. @internal */
export function path(texts: TemplateStringsArray, ...parameters: string[]): string {
  return texts.reduce((all, text, i) => {
    const p = parameters[i - 1] as string
    if (p === '' || p === '.' || p === '..' || typeof p !== 'string') {
      throw new TypeError('A parameter of the path is empty, . or ..')
    }
    return all + encodeURIComponent(p) + text
  })
}

const responses = new WeakMap<object, ResponseInfo>()

/** What the response said besides the body that a call returned. */
export function responseOf(result: object): ResponseInfo | undefined {
  return responses.get(result)
}

/** The longest time that a call waits because the server asks for it, in milliseconds. */
const maxRetryAfter = 60_000

/** A random key or id. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('')
}

/** Waits, or throws the reason of the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      signal?.aborted ? reject(signal.reason) : resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}

function retryAfterOf(headers: Headers): number | undefined {
  const value = headers.get('Retry-After')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000)
}

/** Settings with which each attempt of a call is logged. @internal */
export function logged(settings: Settings, logger: Logger): Settings {
  const observe = (attempt: Attempt) => {
    const done = settings.observe?.(attempt)
    return (outcome: Outcome) => {
      const { call, method, path, number } = attempt
      const result = outcome.status || outcome.error
      logger.debug(`Atrium: ${call}, ${method} ${path}, attempt ${number}: ${result} after ${Math.round(outcome.duration)} ms`)
      done?.(outcome)
    }
  }
  return { ...settings, observe }
}

/** @internal */
export class Core implements Caller {
  readonly #settings: Settings // private, so that no inspection prints the credential
  readonly #base: string

  constructor(settings: Settings) {
    const { token } = settings
    this.#settings = typeof token === 'string' ? { ...settings, token: checked('credential', token) } : settings
    const here = (globalThis as { document?: { baseURI: string } }).document?.baseURI
    if (settings.baseURL === undefined && !here) throw new TypeError('baseURL is missing')
    const base = parsed(settings.baseURL ?? new URL('/', here))
    if (!base || !/^https?:$/.test(base.protocol)) { // localhost:8080 is a URL with the scheme localhost
      throw new TypeError('baseURL must be an http or https URL, such as https://atrium.example.com')
    }
    if (base.username || base.password || base.search || base.hash) {
      throw new TypeError('baseURL must have no user, query or fragment')
    }
    this.#base = base.href.replace(/\/$/, '')
  }

  async send<T>(request: Request, options: Options = {}): Promise<T> {
    const prepared = this.#prepare(request, options)
    let body: unknown
    const response = await this.#attempts(request, options, prepared, async (r) => {
      const text = await r.text()
      if (r.status === 204 || text === '') return
      try {
        body = JSON.parse(text)
      } catch {
        throw unexpected(request.name, r)
      }
    })
    if (typeof body === 'object' && body !== null) {
      responses.set(body, {
        status: response.status,
        etag: response.headers.get('ETag') ?? undefined,
        requestId: response.headers.get('Request-Id') ?? '',
        replayed: response.headers.get('Idempotency-Replayed') === 'true',
        headers: response.headers,
      })
    }
    return body as T
  }

  list<T, P>(request: Request, options?: Options): Page<T, P> {
    type Body = P & { data: T[]; next_cursor: string | null; has_more?: boolean }
    const read = (cursor?: string) =>
      this.send<Body>({ ...request, query: cursor ? { ...request.query, cursor } : request.query }, options)
    async function* pages(): AsyncIterableIterator<Body> {
      for (let cursor: string | undefined; ; ) {
        const page = await read(cursor)
        yield page
        // No unique field of a table says where a next page would begin.
        if (!page.next_cursor && page.has_more) throw new Error('there are more items, and no next page: stream them')
        if (!page.next_cursor) return
        cursor = page.next_cursor
      }
    }
    return {
      // biome-ignore lint/suspicious/noThenProperty: a list is awaited for its first page
      then: (fulfilled, rejected) => read().then(fulfilled, rejected),
      catch: (rejected) => read().catch(rejected),
      finally: (settled) => read().finally(settled),
      [Symbol.toStringTag]: 'Page',
      pages,
      async *[Symbol.asyncIterator]() {
        for await (const page of pages()) yield* page.data
      },
    }
  }

  stream<T>(request: Request, options: Options = {}): AsyncIterableIterator<ServerEvent<T>> {
    return events<T>(async (lastId, number, signal) => {
      const prepared = this.#prepare(request, options)
      prepared.headers.Accept = 'text/event-stream'
      if (lastId) prepared.headers['Last-Event-ID'] = lastId
      return this.#attempt(request, { ...options, timeout: 0, signal }, prepared, number, async () => {})
    }, options.signal)
  }

  async *lines<T>(request: Request, options: Options = {}): AsyncIterableIterator<T> {
    const prepared = this.#prepare(request, options)
    prepared.headers.Accept = 'application/x-ndjson'
    const response = await this.#attempts(request, { ...options, timeout: 0 }, prepared, async () => {})
    try {
      yield* readLines<T>(request.name, response)
    } catch (e) {
      if (options.signal?.aborted) throw options.signal.reason
      throw e instanceof AtriumError ? e : new AtriumConnectionError(request.name, reasonOf(e), e)
    }
  }

  async archive(request: Request, options: Options = {}): Promise<Uint8Array<ArrayBuffer>> {
    const prepared = this.#prepare(request, options)
    prepared.headers.Accept = 'application/zip'
    let archive = new Uint8Array()
    await this.#attempts(request, options, prepared, async (r) => {
      archive = new Uint8Array(await r.arrayBuffer())
      if (archive[0] !== 0x50 || archive[1] !== 0x4b) { // PK
        throw unexpected(request.name, r)
      }
      // fetch of Node.js can miss that the connection was closed too early. An archive ends with a record of 22 bytes.
      if (archive.at(-22) !== 0x50 || archive.at(-20) !== 5) throw new Error('the response is incomplete')
    })
    return archive
  }

  #prepare(request: Request, options: Options): Prepared {
    const s = this.#settings
    const headers: Record<string, string> = { Accept: 'application/json' }
    if (!('document' in globalThis)) headers['User-Agent'] = `atrium-typescript/${version}${runtime()}`
    const workspace = options.workspace ?? s.workspace
    if (workspace) headers['Workspace-Id'] = workspace
    const { ifMatch } = options
    const etag = typeof ifMatch === 'object' ? responses.get(ifMatch)?.etag : ifMatch
    if (ifMatch !== undefined && etag === undefined) throw new TypeError('ifMatch: this object has no ETag')
    if (etag !== undefined) headers['If-Match'] = etag
    if (options.ifNoneMatch !== undefined) headers['If-None-Match'] = options.ifNoneMatch
    if (request.keyed) headers['Idempotency-Key'] = options.idempotencyKey ?? randomKey() // one for all attempts
    let body: string | undefined
    if (request.body !== undefined) {
      body = JSON.stringify(request.body)
      headers['Content-Type'] = request.merge ? 'application/merge-patch+json' : 'application/json'
    }
    const url = new URL(this.#base + request.path)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (typeof value === 'object' && value?.constructor === Object) {
        for (const [member, v] of Object.entries(value)) { // amount[gte] is filter[amount][gte]
          url.searchParams.append(`${name}[${member.replace(/(\[.*)?$/s, ']$1')}`, String(v))
        }
        continue
      }
      for (const v of Array.isArray(value) ? value : [value]) {
        if (v !== undefined && v !== null) url.searchParams.append(name, v instanceof Date ? v.toISOString() : String(v))
      }
    }
    return { url, headers, body }
  }

  /** Repeats an attempt as long as it can help. */
  async #attempts(request: Request, options: Options, prepared: Prepared, read: Read): Promise<Response> {
    const most = options.maxRetries ?? this.#settings.maxRetries ?? 2
    let lost = false // whether an attempt may have taken effect
    for (let number = 1; ; number++) {
      let again: number | undefined
      try {
        return await this.#attempt(request, options, prepared, number, read, (error) => {
          again = number > most || options.signal?.aborted ? undefined : retryIn(request, error, number)
          return again
        })
      } catch (error) {
        // An earlier attempt has deleted it, and its response was lost.
        if (lost && request.method === 'DELETE' && isGone(error)) return new Response(null, { status: 204 })
        if (again === undefined) throw error
        lost ||= !(error instanceof AtriumError) || error.status >= 500
        await sleep(again, options.signal)
      }
    }
  }

  async #attempt(
    request: Request,
    options: Options,
    { url, headers, body }: Prepared,
    number: number,
    read: Read,
    decide: (error: unknown) => number | undefined = () => undefined,
  ): Promise<Response> {
    const s = this.#settings
    const credential = await this.#credential(options)
    const attempt: Attempt = { call: request.name, method: request.method, path: url.pathname, number, headers: {} }
    const done = s.observe?.(attempt)
    const started = performance.now()
    let response: Response | undefined
    const end = (error: unknown, retryIn: number | undefined) =>
      done?.({
        status: response?.status ?? 0,
        requestId: response?.headers.get('Request-Id') ?? '',
        error,
        duration: performance.now() - started,
        retryIn,
      })
    const limit = options.timeout ?? s.timeout ?? 30_000
    const aborter = new AbortController()
    const cancel = () => aborter.abort(options.signal?.reason)
    let late = false
    const timer = limit > 0 ? setTimeout(() => ((late = true), aborter.abort()), limit) : undefined
    options.signal?.addEventListener('abort', cancel)
    try {
      options.signal?.throwIfAborted()
      const init: RequestInit = {
        method: request.method,
        headers: { ...headers, ...attempt.headers, ...credential },
        body,
        signal: aborter.signal,
        redirect: 'manual', // the API has none, and they would show the credential to others; workerd refuses 'error'
      }
      response = await (s.fetch ?? fetch)(url, init)
      await examine(request, response)
      await read(response)
    } catch (e) {
      let error = e
      if (options.signal?.aborted) error = options.signal.reason
      else if (late) error = new AtriumConnectionError(request.name, `no response within ${limit} ms`, e)
      else if (!(e instanceof AtriumError || e instanceof NotModifiedError)) {
        error = new AtriumConnectionError(request.name, reasonOf(e), e)
      }
      end(error, decide(error))
      throw error
    } finally {
      clearTimeout(timer)
      if (limit > 0) options.signal?.removeEventListener('abort', cancel)
    }
    end(undefined, undefined)
    return response
  }

  async #credential(options: Options): Promise<Record<string, string>> {
    const { token, proof } = this.#settings
    const bearer = options.token ?? (typeof token === 'function' ? await token() : token)
    if (bearer) return { Authorization: `Bearer ${checked('credential', bearer)}` }
    const console = typeof proof === 'function' ? proof() : proof
    return console ? { 'Atrium-Console': checked('proof', console) } : {}
  }
}

interface Prepared {
  url: URL
  headers: Record<string, string>
  body: string | undefined
}

type Read = (response: Response) => Promise<void>

function runtime(): string {
  const node = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node
  return node ? ` (node ${node})` : ''
}

/** The reason of an error of fetch, whose causes say more than its message. */
function reasonOf(e: unknown): string {
  const cause = e instanceof Error ? (e.cause as { code?: string; message?: string } | undefined) : undefined
  return cause?.code ?? cause?.message ?? (e instanceof Error ? e.message : String(e))
}

const isGone = (e: unknown) => e instanceof AtriumError && e.status === 404 && e.code.endsWith('_not_found')

/** Throws if a response is no success. */
async function examine(request: Request, response: Response): Promise<void> {
  if (response.ok) return
  if (response.status === 304) throw new NotModifiedError(request.name)
  const text = await response.text().catch(() => '')
  const after = retryAfterOf(response.headers)
  let problem: Problem | undefined
  try {
    problem = JSON.parse(text)
  } catch {} // a proxy's page
  if (typeof problem?.code !== 'string') problem = unexpected(request.name, response).problem
  throw new AtriumError(request.name, problem, after)
}

/** Milliseconds until another attempt; undefined if it cannot help. */
function retryIn(request: Request, error: unknown, number: number): number | undefined {
  const backoff = Math.min(8000, 500 * 2 ** (number - 1)) * (0.5 + Math.random() / 2)
  const safe = request.keyed || request.repeatable || (request.method !== 'POST' && request.method !== 'PATCH')
  if (error instanceof AtriumConnectionError) return safe ? backoff : undefined
  if (!(error instanceof AtriumError)) return undefined
  const { status, code } = error
  const again =
    status === 429 || status === 503 // refused before it began
      ? true
      : status === 408 || status === 502 || status === 504
        ? safe
        : (status === 500 || code === 'idempotency_in_flight') && request.keyed
  const after = (error.retryAfter ?? 0) * 1000
  return again && after <= maxRetryAfter ? Math.max(backoff, after) : undefined
}

/** The URL, or undefined if the text is none. */
function parsed(url: string | URL): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}
