// Makes the calls that a test asks for: one JSON command a line, one JSON result a line.
// node driver.mjs DIST
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'

const { Atrium, AtriumConnectionError, AtriumError, NotModifiedError, RenderError, SecretError, WebhookError, ...client } =
  await import(process.argv[2])
const print = (result) => process.stdout.write(`${JSON.stringify(result)}\n`)
let atrium
let attempts
const warnings = []

const described = (e) => ({
  kind:
    [
      [AtriumError, 'api'],
      [AtriumConnectionError, 'connection'],
      [NotModifiedError, 'not_modified'],
      [RenderError, 'render'],
      [WebhookError, 'webhook'],
      [SecretError, 'secret'],
    ].find(([type]) => e instanceof type)?.[1] ?? 'other',
  code: e.code ?? '',
  status: e.status ?? 0,
  retry_after: e.retryAfter ?? 0,
  request_id: e.requestId ?? '',
  text: inspect(e, { depth: 9, showHidden: true }),
})

const does = {
  new({ settings }) {
    const { base, token, refreshes, workspace, max_retries, timeout_ms } = settings
    atrium = new Atrium({
      baseURL: base,
      token: refreshes ? () => token : token,
      workspace,
      maxRetries: max_retries,
      timeout: timeout_ms,
      logger: { ...console, warn: (text) => warnings.push(text) },
      observe: (attempt) => {
        attempt.headers.traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
        return (o) => attempts.push({ number: attempt.number, status: o.status, again: o.retryIn !== undefined, name: attempt.call })
      },
    })
    return { text: inspect(atrium, { depth: 9, showHidden: true }) + JSON.stringify(atrium) }
  },
  async call({ name, args = [], body, query, has_body, has_query, options = {} }) {
    const [method, ...path] = name.split('.').reverse()
    const resource = path.reverse().reduce((r, p) => r[p], atrium)
    const all = [...args]
    if (has_body) all.push(body)
    if (has_query) all.push(query)
    all.push({
      ifMatch: options.if_match,
      ifNoneMatch: options.if_none_match,
      idempotencyKey: options.idempotency_key,
      workspace: options.workspace,
      token: options.token,
    })
    const called = resource[method](...all)
    if (options.count) {
      const events = []
      for await (const { name, data } of called) {
        print({ event: { name, data } })
        events.push(name)
        if (events.length >= options.count) break
      }
      return { value: events }
    }
    if (options.all || options.first) {
      const items = []
      for await (const item of called) {
        items.push(item)
        if (items.length === options.first) break
      }
      return { value: items }
    }
    const value = await called
    if (value instanceof Uint8Array) return { value: Buffer.from(value).toString('base64') }
    const response = value && client.responseOf(value)
    return { value, etag: response?.etag ?? '', replayed: response?.replayed ?? false }
  },
  render: ({ version, values, mode }) => ({ value: client.render(version, values, mode) }),
  inserted({ text }) {
    const history = JSON.parse(text)
    const { messages } = client.render({ messages: [{ placeholder: 'h' }] }, { h: history })
    return { value: JSON.stringify(messages) === JSON.stringify(history) }
  },
  async prompt({ name, prompt = {}, values }) {
    const p = await atrium.prompts.get(name, { ref: prompt.ref, key: prompt.key, ttl: prompt.ttl, maxStale: prompt.max_stale, fallback: prompt.fallback })
    return { value: { is_fallback: p.isFallback, text: p.render(values).text, failed: p.error !== undefined } }
  },
  async prompts({ name, prompt, count }) {
    const begin = performance.now()
    const options = { fallback: () => prompt.fallback ?? '', fallbackAfter: prompt.fallback_after && prompt.fallback_after * 1000 }
    const all = await Promise.all(Array.from({ length: count }, () => atrium.prompts.get(name, options)))
    const texts = all.map((p) => (p.isFallback ? `fallback ${p.render().text}` : p.render().text))
    return { value: { texts, milliseconds: performance.now() - begin, warnings: warnings.splice(0) } }
  },
  visitor: async ({ text, secrets, now, name }) => ({ value: await client.signVisitor(secrets[0], text, now, name) }),
  webhook: async ({ text, headers, secrets, now }) => ({
    value: await client.verifyWebhook(text, headers, secrets, new Date(now * 1000)),
  }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  attempts = []
  try {
    print({ ...(await does[command.do](command)), attempts })
  } catch (e) {
    print({ error: described(e), attempts })
  }
}
