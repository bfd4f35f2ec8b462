import { Atrium, type Attempt, AtriumError, type ProbeCheck, type SourceFile } from '@atrium-hq/client'
import { QueryClient, replaceEqualDeep } from '@tanstack/react-query'
import { forget, leave, person, proof } from './person'
import { t } from './text'
import { ShownError } from './ui/shown-error'

const RETURN = 'atrium_return'

/** A call that the page has made. */
export interface Made { name: string; method: string; path: string; status: number }

const listeners = new Set<() => void>()
const waiting = new Set<string>() // calls that the client repeats when the server allows it
let made: readonly Made[] = []
let ended = false

function tell() {
  for (const listener of listeners) listener()
}

function observe(attempt: Attempt) {
  const sent = proof()
  return ({ status, retryIn }: { status: number; retryIn: number | undefined }) => {
    const key = attempt.call + attempt.path
    if (status === 429 && retryIn !== undefined) waiting.add(key)
    else if (waiting.has(key)) setTimeout(() => waiting.delete(key) && tell()) // after a query has its own next attempt
    const call = { name: attempt.call, method: attempt.method, path: attempt.path, status }
    made = [...made.filter((m) => m.name !== call.name || m.path !== call.path), call].slice(-12)
    // If another window has signed in meanwhile, the call was of the session before.
    if (status === 401 && sent === proof()) ended = true
    tell()
  }
}

/** The state that the components share: the latest calls, whether one waits for the server, and whether the session has ended. */
export const calls = {
  subscribe(listener: () => void) {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  made: () => made,
  wait: () => waiting.size > 0,
  ended: () => ended,
  clear() {
    made = []
    tell()
  },
  /** Tries again after the session has ended. */
  resume() {
    ended = false
    tell()
  },
}

export const base = new URL('..', document.baseURI)

const kept = new Map<string, { tag: string; body: string }>()

/** Asks again for what it has read only whether it changed (If-None-Match): the 50 latest resources that have an ETag. */
const again: typeof fetch = async (url, init) => {
  if (init?.method !== 'GET') return fetch(url, init)
  const key = String(url) + ' ' + new Headers(init.headers).get('Workspace-Id')
  const before = kept.get(key)
  const response = await fetch(url, before ? { ...init, headers: { ...init.headers, 'If-None-Match': before.tag } } : init)
  if (before && response.status === 304) return new Response(before.body, { headers: response.headers })
  const tag = response.headers.get('ETag')
  kept.delete(key)
  if (!tag || response.status !== 200) return response
  const body = await response.text()
  kept.set(key, { tag, body })
  if (kept.size > 50) kept.delete([...kept.keys()][0]!)
  return new Response(body, { headers: response.headers })
}

const settings = { fetch: again, baseURL: base, proof, observe, maxRetries: 1 }

export const atrium = new Atrium(settings)

/** Returns a client whose probes tell the results of their steps while they run. */
export function watching(check: (c: ProbeCheck) => void) {
  return new Atrium({
    ...settings,
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers)
      headers.set('Accept', 'text/event-stream, application/json')
      const response = await fetch(url, { ...init, headers })
      if (response.headers.get('Content-Type') !== 'text/event-stream') return response
      for (let rest = '', reader = response.body!.pipeThrough(new TextDecoderStream()).getReader(); ;) {
        const { value, done } = await reader.read()
        if (done) throw new TypeError(t.probeWithoutResult)
        const events = (rest + value).split('\n\n')
        rest = events.pop()!
        for (const event of events) {
          const [name, data] = event.split('\ndata: ')
          if (name === 'event: check') check(JSON.parse(data!) as ProbeCheck)
          if (name !== 'event: result') continue
          const { status, body } = JSON.parse(data!) as { status: number; body: unknown }
          const media = status < 400 ? 'application/json' : 'application/problem+json'
          return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': media } })
        }
      }
    },
  })
}

/** Makes a call that the client does not make. */
async function request(path: string, workspace: string, init: { method?: string; body?: Blob; headers?: Record<string, string> } = {}) {
  const sent = proof()
  const response = await fetch(new URL(path, base), {
    ...init, headers: { 'Workspace-Id': workspace, ...(sent && { 'Atrium-Console': sent }), ...init.headers },
  })
  if (!response.ok) {
    const problem = await response.json().catch(() => ({})) as { detail?: string } // a proxy in between may answer otherwise
    throw problem.detail ? new ShownError(problem.detail) : new TypeError(String(response.status))
  }
  return response
}

/** Reads a text that the client does not read: CSV. */
export const download = async (path: string, workspace: string) => (await request(path, workspace)).text()

const PART = 8 << 20 // bytes that one request can have
const ATTEMPTS = 4 // of a part, while the network fails

/** Uploads a file, a large one in parts, and tells how many bytes have arrived. Returns the file at the server. */
export async function upload(file: File, workspace: string, arrived: (bytes: number) => void) {
  const send = async (method: string, path: string, body: Blob, headers?: Record<string, string>) =>
    (await request(path, workspace, { method, body, headers: { 'Content-Type': 'application/octet-stream', ...headers } })).json() as Promise<SourceFile>
  if (file.size <= PART) return send('POST', `api/datasources/files?name=${encodeURIComponent(file.name)}`, file)
  let state = await atrium.dataSources.files.create({ name: file.name, size: file.size }, {}, { workspace })
  for (let failures = 0; state.upload;) {
    const first = state.upload.received
    const body = file.slice(first, first + PART)
    arrived(first)
    try {
      state = await send('PUT', `api/datasources/files/${state.id}/content`, body, { 'Content-Range': `bytes ${first}-${first + body.size - 1}/${file.size}` })
      failures = 0
    } catch (error) {
      if (error instanceof ShownError || ++failures === ATTEMPTS) throw error
      await new Promise((done) => setTimeout(done, 1000 * failures))
      state = await atrium.dataSources.files.get(state.id, { workspace }) // what arrived nevertheless
    }
  }
  return state
}

/** Whether the server has refused a call only for now, and has said when the next one can succeed, within two minutes. */
export const isLimited = (e: unknown): e is AtriumError => AtriumError.is(e) && e.status === 429 && (e.retryAfter ?? Infinity) <= 120

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (_, e) => isLimited(e),
      // Those that were refused together are not repeated together.
      retryDelay: (failures, e) => ((isLimited(e) ? e.retryAfter! : 0) + Math.random() * Math.min(failures + 1, 10)) * 1000,
      staleTime: 5000, refetchOnWindowFocus: true,
      // A response that is merged with the one before is an object without an ETag, which ifMatch needs.
      structuralSharing: (before, now) => (replaceEqualDeep(before, now) === before ? before : now),
    },
  },
})

/** Leads to the page where people sign in, which leads the same person back. */
export function signIn() {
  sessionStorage.setItem(RETURN, JSON.stringify({ person: proof() && person, href: location.href }))
  location.assign(new URL('sign-in', document.baseURI))
}

/** Leads to the page where people sign in again although they have a session, which leads them back. */
export function signInAgain() {
  sessionStorage.setItem(RETURN, JSON.stringify({ person: proof() && person, href: location.href }))
  location.assign(new URL('sign-in#again', document.baseURI))
}

export async function signOut() {
  try {
    await atrium.auth.endSession()
  } catch (e) {
    if (!AtriumError.is(e, 'unauthenticated')) throw e
  }
  forget()
  leave()
}

// A new version of the server has other files: the page loads them.
addEventListener('vite:preloadError', () => {
  const last = Number(sessionStorage.getItem('atrium_reloaded') ?? 0)
  if (Date.now() - last < 10_000) return // loading it again did not help
  sessionStorage.setItem('atrium_reloaded', String(Date.now()))
  location.reload()
})
