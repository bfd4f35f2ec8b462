// What is special about this client. test/clients compares all clients, on a server.
import assert from 'node:assert/strict'
import { test } from 'node:test'

const { Atrium, AtriumConnectionError, keepPresence, responseOf, verifyWebhook } = await import(process.env.ATRIUM_CLIENT ?? '../dist/index.js')

const json = (body, headers = {}, status = 200) => new Response(JSON.stringify(body), { status, headers })

/** A client whose requests are answered by respond. */
function clientOf(respond, settings = {}) {
  const requests = []
  const fetch = async (url, init) => {
    requests.push({ url: String(url), ...init })
    return respond(requests.length, url, init)
  }
  return { requests, atrium: new Atrium({ baseURL: 'https://example.com/base/', token: 'atk_secret', fetch, ...settings }) }
}

test('a base path is kept, and parameters are escaped', async () => {
  const { atrium, requests } = clientOf(() => json({}))
  await atrium.promptTemplates.get('a/b c?')
  assert.equal(requests[0].url, 'https://example.com/base/api/prompt-templates/a%2Fb%20c%3F')
})

test('an address without a scheme is told what to write', () => {
  for (const baseURL of ['atrium.example.com', 'localhost:8080', '//atrium.example.com', 'ftp://atrium.example.com', '']) {
    assert.throws(() => new Atrium({ baseURL }), /baseURL must be .* such as https:\/\/atrium\.example\.com/, baseURL)
  }
  for (const baseURL of ['https://ann:secret@example.com', 'https://example.com/?a=b', 'https://example.com/#a']) {
    assert.throws(() => new Atrium({ baseURL }), /^TypeError: baseURL must have no user, query or fragment$/, baseURL)
  }
})

test('a redirect is refused, also where fetch knows no other mode than follow and manual', async () => {
  const { atrium, requests } = clientOf((n, url, { redirect }) => {
    if (redirect !== 'follow' && redirect !== 'manual') throw new TypeError('Invalid redirect value')
    return new Response(null, { status: 302, headers: { Location: 'https://example.org' } })
  })
  await assert.rejects(atrium.me.get(), /^AtriumError: me.get: unexpected_response/)
  assert.deepEqual([requests.length, requests[0].redirect], [1, 'manual'])
})

test('an error names the fields', async () => {
  const problem = { code: 'invalid_fields', detail: 'Some fields are not valid.', status: 422, request_id: 'req_1' }
  const errors = [{ pointer: '/name', code: 'too_short', detail: 'Must have at least 1 character.' }]
  const { atrium } = clientOf(() => json({ ...problem, errors }, {}, 422))
  await assert.rejects(
    atrium.promptTemplates.create({ name: '' }),
    /: Some fields are not valid\. \/name: Must have at least 1 character\. \(request req_1\)$/,
  )
})

test('a list is a promise of its first page', async () => {
  const { atrium } = clientOf(() => json({ code: 'forbidden', detail: 'No.', status: 403 }, {}, 403))
  assert.equal(await atrium.events.list().catch((e) => e.code), 'forbidden')
  let settled = false
  await assert.rejects(atrium.events.list().finally(() => (settled = true)))
  assert.ok(settled)
})

test('a webhook whose body was parsed, or without a secret, is told what to pass', async () => {
  await assert.rejects(verifyWebhook({ type: 'x' }, {}, 'whsec_eA=='), /^TypeError: pass the raw body/)
  await assert.rejects(verifyWebhook('{}', {}, undefined), /^TypeError: the secret of the webhook is missing/)
})

test('after an abort, a stream delivers nothing that it has read', async () => {
  const text = 'id: 1\ndata: {}\n\n'.repeat(9)
  const { atrium } = clientOf(() => new Response(text, { headers: { 'Content-Type': 'text/event-stream' } }))
  const aborter = new AbortController()
  let events = 0
  for await (const event of atrium.presence.stream({}, { signal: aborter.signal })) {
    events++
    if (event) aborter.abort()
  }
  assert.equal(events, 1)
})

test('a signal cancels a call, also while it waits for its next attempt', async () => {
  const aborter = new AbortController()
  const { atrium, requests } = clientOf(() => {
    setTimeout(() => aborter.abort(new Error('enough')), 10)
    return json({}, { 'Retry-After': '60' }, 503)
  })
  await assert.rejects(atrium.me.get({ signal: aborter.signal }), /enough/)
  await assert.rejects(atrium.me.get({ signal: aborter.signal }), /enough/)
  assert.equal(requests.length, 1)
})

test('a token can be fetched for each attempt', async () => {
  let n = 0
  const { atrium, requests } = clientOf(() => json({}), { token: async () => `token-${++n}` })
  await atrium.me.get()
  await atrium.me.get()
  assert.equal(requests[1].headers.Authorization, 'Bearer token-2')
})

test('in a page with a session, the proof is sent, and no Authorization', async () => {
  const { atrium, requests } = clientOf(() => json({}), { token: undefined, proof: () => 'atf_proof' })
  await atrium.me.get()
  assert.equal(requests[0].headers['Atrium-Console'], 'atf_proof')
  assert.equal(requests[0].headers.Authorization, undefined)
})

test('a resource carries its ETag', async () => {
  const { atrium, requests } = clientOf(() => json({ id: 'x' }, { ETag: '"1-a"', 'Request-Id': 'req_1' }))
  const template = await atrium.promptTemplates.get('x')
  assert.equal(responseOf(template).etag, '"1-a"')
  await atrium.promptTemplates.update('x', { description: null }, { ifMatch: template })
  assert.equal(requests[1].headers['If-Match'], '"1-a"')
  assert.equal(requests[1].body, '{"description":null}')
  await assert.rejects(atrium.promptTemplates.update('x', {}, { ifMatch: {} }), TypeError)
})

test('a loop over a list reads no page that it does not need', async () => {
  const { atrium, requests } = clientOf(() => json({ data: [{ id: 1 }, { id: 2 }], next_cursor: 'more' }))
  for await (const item of atrium.events.list()) if (item.id === 2) break
  assert.equal(requests.length, 1)
  let pages = 0
  for await (const page of atrium.events.list({ limit: 2 }).pages()) if (++pages === 2 && page) break
  assert.match(requests[2].url, /limit=2&cursor=more/)
})

test('a loop over rows without a next page ends with an error', async () => {
  const { atrium } = clientOf(() => json({ data: [{ id: 1 }], next_cursor: null, has_more: true }))
  let items = 0
  const loop = async () => {
    for await (const item of atrium.events.list()) items += item.id
  }
  await assert.rejects(loop(), /no next page/)
  assert.equal(items, 1)
})

test('events are read from any chunks, and the stream resumes', async () => {
  const text = ': comment\n\nid: 1\nevent: snapshot\ndata: {"more":\ndata: true}\n\nid: 2\r\nevent: reset\r\n\r\nid: 3\nevent: lost\n'
  const chunks = (n) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let i = 0; i < text.length; i += n) controller.enqueue(new TextEncoder().encode(text.slice(i, i + n)))
          controller.close()
        },
      }),
    )
  const { atrium, requests } = clientOf((n) => chunks(n === 1 ? 1 : 1000))
  const got = []
  for await (const { id, name, data } of atrium.presence.stream()) {
    got.push([id, name, data])
    if (got.length === 3) break
  }
  assert.deepEqual(got, [['1', 'snapshot', { more: true }], ['2', 'reset', undefined], ['1', 'snapshot', { more: true }]])
  assert.equal(requests[1].headers['Last-Event-ID'], '3')
})

test('no error tells the query, which can hold a ticket', async () => {
  const { atrium } = clientOf(() => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })), { maxRetries: 0 })
  await assert.rejects(atrium.presence.list({ user_id: 'secret' }).then(), (e) => {
    assert.ok(e instanceof AtriumConnectionError)
    assert.equal(e.message, 'presence.list: ECONNREFUSED')
    return true
  })
})

test('heartbeats pause with the page', async () => {
  const listeners = new Set()
  globalThis.document = {
    visibilityState: 'visible',
    baseURI: 'https://example.com/',
    addEventListener: (_, f) => listeners.add(f),
    removeEventListener: (_, f) => listeners.delete(f),
  }
  const sent = []
  let arrived
  const { atrium } = clientOf((_, __, init) => {
    sent.push(JSON.parse(init.body).activity)
    arrived?.()
    return json({ heartbeat_after_seconds: 3600 })
  })
  const next = (act) => new Promise((resolve) => ((arrived = resolve), act()))
  let beats
  const seen = (count) =>
    new Promise((resolve) => {
      const look = () => (sent.length >= count ? setTimeout(resolve, 5) : setTimeout(look, 5))
      look()
    })
  await next(() => (beats = keepPresence(atrium.presence, { device_id: 'tab' })))
  await seen(1)
  for (const state of ['hidden', 'visible']) {
    globalThis.document.visibilityState = state
    for (const f of listeners) f()
    await seen(state === 'hidden' ? 2 : 3)
  }
  beats.stop()
  await beats.ended
  delete globalThis.document
  assert.deepEqual(sent, ['active', 'idle', 'active'])
  assert.equal(listeners.size, 0)
})
