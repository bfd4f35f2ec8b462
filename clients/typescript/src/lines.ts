/**
 * The objects of a response that has one a line, as they come, after a check of each. It throws if the response ends too
 * early. If the loop ends before, the connection is closed.
 */
export async function* readLines<T>(response: Response, check: (item: unknown) => void): AsyncIterableIterator<T> {
  const reader = response.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const item: unknown = JSON.parse(line)
        check(item)
        yield item as T
      }
    }
    if (rest !== '') throw new Error('the response ended within a line')
  } finally {
    await reader.cancel().catch(() => {}) // the response may be broken
  }
}
