import type { ServerEvent } from './core.js'
import { sleep } from './core.js'
import { AtriumConnectionError, AtriumError } from './errors.js'

/** How long a stream can be silent before it counts as broken. The server sends a comment every 15 seconds. */
const silence = 50_000

type Open = (lastId: string, number: number, signal: AbortSignal) => Promise<Response>

/**
 * The events of a stream. A stream that ends or breaks is opened again, with the id of the last event, until the signal
 * is aborted or the server refuses it. Aborting ends the loop without an error.
 */
export async function* events<T>(open: Open, signal?: AbortSignal): AsyncIterableIterator<ServerEvent<T>> {
  const state = { lastId: '', retry: 500 }
  for (let failures = 0; !signal?.aborted; failures++) {
    const aborter = new AbortController()
    const cancel = () => aborter.abort()
    signal?.addEventListener('abort', cancel)
    let asked = 0
    try {
      const response = await open(state.lastId, failures + 1, aborter.signal)
      for await (const event of read<T>(response, state, aborter)) {
        if (signal?.aborted) return
        failures = 0
        yield event
      }
    } catch (e) {
      if (signal?.aborted) return
      const passing = e instanceof AtriumConnectionError || (e instanceof AtriumError && (e.status >= 500 || e.status === 429))
      if (!passing && !aborter.signal.aborted) throw e
      asked = e instanceof AtriumError ? Math.min(60, e.retryAfter ?? 0) * 1000 : 0
    } finally {
      signal?.removeEventListener('abort', cancel)
      aborter.abort()
    }
    const pause = Math.min(15_000, state.retry * 2 ** Math.min(failures, 6)) * (0.5 + Math.random() / 2)
    await sleep(Math.max(pause, asked), signal).catch(() => {})
  }
}

/** Reads one response as the specification of server-sent events describes it. */
async function* read<T>(
  response: Response,
  state: { lastId: string; retry: number },
  aborter: AbortController,
): AsyncIterableIterator<ServerEvent<T>> {
  const reader = response.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  let name = ''
  let data: string[] = []
  for (;;) {
    const quiet = setTimeout(() => aborter.abort(), silence)
    const chunk = await reader.read().catch(() => ({ done: true, value: undefined })) // broken: an incomplete event is discarded
    clearTimeout(quiet)
    if (chunk.done || chunk.value === undefined) return
    const lines = (rest + chunk.value).split(/\r\n|\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (line === '' && (name !== '' || data.length > 0)) {
        const text = data.join('\n')
        yield { name: name || 'message', id: state.lastId, data: text ? (JSON.parse(text) as T) : undefined }
        name = ''
        data = []
      } else if (field === 'event') name = value
      else if (field === 'data') data.push(value)
      else if (field === 'id') state.lastId = value
      else if (field === 'retry' && /^\d+$/.test(value)) state.retry = Number(value)
    }
  }
}
