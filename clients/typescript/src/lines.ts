import type { Problem } from './api.gen.js'
import { unexpected } from './errors.js'

/**
 * The objects of a response that has one a line, as they come. It throws if the response ends too early. If the loop
 * ends before, the connection is closed.
 */
export async function* readLines<T>(call: string, response: Response): AsyncIterableIterator<T> {
  const reader = response.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const item = JSON.parse(line) as T & { $error?: Problem }
        if (item.$error) throw unexpected(call, response, item.$error.detail, item.$error.code)
        yield item as Awaited<T>
      }
    }
    if (rest !== '') throw new Error('the response is incomplete')
  } finally {
    await reader.cancel().catch(() => {}) // the response may be broken
  }
}
