// A browser hides from a page the answers that the page may not read. So this asks whether the server can be reached.
const unreadable = (home) => fetch(new URL('embed.js', home), { method: 'HEAD', mode: 'no-cors', cache: 'no-store' })
  .then(() => 'origin_not_allowed', () => 'unreachable')

const request = async (home, path, body, session, signal) => {
  const headers = { ...session && { Authorization: 'Bearer ' + session }, ...body && { 'Content-Type': 'application/json' } }
  const answer = await fetch(new URL('api/embed/' + path, home), {
    method: 'POST', credentials: 'omit', headers, body: body && JSON.stringify(body), signal,
  }).catch(async () => { throw new Error(signal?.aborted ? 'stopped' : await unreadable(home)) })
  if (answer.ok) return answer
  throw new Error((await answer.json().catch(() => ({}))).code || 'unreachable')
}
const post = async (...about) => (await request(...about)).json()

// Goes on with the session of an earlier page of this tab, or opens one. own reports whether the chat is still there.
const enter = async (home, place, open, own) => {
  const earlier = place.read()
  const session = earlier && await post(home, 'sessions/renew', undefined, earlier).catch(() => {}) || await open()
  if (own()) place.write(session.session)
  return session
}

// Keeps a session alive from now on, and returns what sends with it. open gets another one if it has ended, as after
// a sleep of the computer.
const keep = (home, session, open, tell, place) => {
  let pause = 5
  let timer
  let ended
  const later = (seconds) => { timer = ended || setTimeout(renew, seconds * 1000) }
  const replaced = (next) => {
    session = next
    if (ended) return
    place.write(session.session)
    tell('renewed', session)
  }
  const renew = () => post(home, 'sessions/renew', undefined, session.session)
    .catch((e) => e.message === 'embed_session_invalid' && !ended ? open() : Promise.reject(e))
    .then((next) => {
      pause = 5
      replaced(next)
      later(due())
    }, (e) => {
      // Without a network, or beyond a limit, it tries again.
      if (['unreachable', 'rate_limited', 'internal', 'unavailable'].includes(e.message)) later(pause = Math.min(2 * pause, 60))
      else if (!ended) tell('refused', e.message)
    })
  const due = () => Math.max(session.expires_in_seconds * 0.8, 5)
  later(due())
  const say = (body, signal) => request(home, 'messages', body, session.session, signal)
  const send = (body, signal) => say(body, signal).catch(async (e) => {
    if (e.message !== 'embed_session_invalid' || ended) throw e
    replaced(await open())
    return say(body, signal)
  })
  send.rate = (body) => request(home, 'feedback', body, session.session)
  send.end = () => {
    ended = true
    clearTimeout(timer)
  }
  return send
}

async function * events (answer) {
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  for (let rest = ''; ;) {
    const { value, done } = await reader.read()
    if (done) return
    rest += decoder.decode(value, { stream: true })
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const [, type, data] = /^event: (.*)\ndata: (.*)$/.exec(rest.slice(0, end)) || []
      if (type) yield [type, JSON.parse(data)]
    }
  }
}
