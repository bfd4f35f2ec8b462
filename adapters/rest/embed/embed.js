// Shows a chat in this page. It reads its settings from its own tag:
//   data-token    the embed token that the owner of the chat gave you
//   data-mode     "frame" shows it in a frame; otherwise it becomes a part of the page
//   data-target   a selector: where to show it, if not right behind this tag
//   data-visitor  the visitor, as a text of your choice
// The element that shows the chat sends events: atrium:ready, with the session; atrium:renewed, with the session that
// replaces it; atrium:starter, with the text that a visitor picked; atrium:refused, with the code of the reason.
(() => {
  'use strict'
  const make = (name, about, ...children) => {
    const node = Object.assign(document.createElement(name), about)
    node.append(...children)
    return node
  }

  const refusal = () => make('p', { role: 'status', textContent: 'This chat is not available.' })

  // A browser hides from a page the answers that the page may not read. So this asks whether the server can be reached.
  const unreadable = (home) => fetch(new URL('embed.js', home), { method: 'HEAD', mode: 'no-cors', cache: 'no-store' })
    .then(() => 'origin_not_allowed', () => 'unreachable')

  const post = async (home, path, body, session) => {
    const headers = session ? { Authorization: 'Bearer ' + session } : { 'Content-Type': 'application/json' }
    const answer = await fetch(new URL('api/embed/' + path, home), {
      method: 'POST', credentials: 'omit', headers, body: body && JSON.stringify(body),
    }).catch(async () => { throw new Error(await unreadable(home)) })
    const read = await answer.json().catch(() => ({ code: 'unreachable' }))
    if (!answer.ok || read.code) throw new Error(read.code)
    return read
  }

  // Keeps a session alive from now on. open gets another one if it has ended, as after a sleep of the computer.
  const keep = (home, session, open, tell) => {
    let pause = 5
    const later = (seconds) => setTimeout(renew, seconds * 1000)
    const renew = () => post(home, 'sessions/renew', undefined, session.session)
      .catch((e) => e.message === 'embed_session_invalid' ? open() : Promise.reject(e))
      .then((next) => {
        session = next
        pause = 5
        tell('renewed', session)
        later(due())
      }, (e) => {
        // Without a network, or beyond a limit, it tries again.
        if (['unreachable', 'rate_limited', 'internal', 'unavailable'].includes(e.message)) later(pause = Math.min(2 * pause, 60))
        else tell('refused', e.message)
      })
    const due = () => Math.max(session.expires_in_seconds * 0.8, 5)
    later(due())
  }

  // What a page says of light and dark. One that says nothing is light, whatever the visitor's system prefers.
  const schemeOf = (node) => getComputedStyle(node).colorScheme
    .replace('normal', document.querySelector('meta[name=color-scheme]')?.content || 'light')

  const run = (tag) => {
    const { token, mode, target, ticket, site, code } = tag.dataset
    const home = new URL('.', tag.src)

    // In our own page, within a frame: what it shows is there already, and the site hears of it.
    if (site !== undefined) {
      const { visitor, scheme } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
      if (scheme) document.documentElement.style.colorScheme = scheme
      const main = document.querySelector('main')
      const tell = (type, detail) => parent !== self && site && parent.postMessage({ type: 'atrium:' + type, detail }, site)
      const refuse = (why) => {
        main.replaceChildren(refusal())
        main.removeAttribute('aria-busy')
        tell('refused', why)
      }
      tell('loaded')
      new ResizeObserver(() => tell('size', document.documentElement.offsetHeight)).observe(document.body)
      if (code) return tell('refused', code)
      post(home, 'sessions', { token, visitor, ticket }).then((session) => {
        main.removeAttribute('aria-busy')
        for (const b of main.querySelectorAll('button')) {
          b.disabled = false
          b.onclick = () => tell('starter', b.textContent)
        }
        tell('ready', session)
        // The ticket has expired long before the session: only another load of this page opens another one.
        keep(home, session, () => { location.reload(); return new Promise(() => {}) },
          (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail))
      }, (e) => refuse(e.message))
      return
    }

    const visitor = tag.dataset.visitor || undefined
    const show = (node) => {
      const place = target && document.querySelector(target)
      if (place) place.append(node)
      else if (document.body.contains(tag)) tag.after(node)
      else document.body.append(node)
    }

    if (mode === 'frame') {
      const frame = make('iframe', {
        title: 'Chat',
        referrerPolicy: 'origin',
        style: 'border:0;width:100%;max-width:28rem;height:24rem;display:none',
      })
      const tell = (type, detail) => frame.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }))
      let loaded
      addEventListener('message', ({ source, origin, data }) => {
        if (source !== frame.contentWindow || origin !== home.origin) return
        if (data.type === 'atrium:loaded') {
          loaded = true
          frame.style.display = 'block'
        } else if (data.type === 'atrium:size') frame.style.height = data.detail + 'px'
        else tell(data.type, data.detail)
      })
      // A page that this site may not have in a frame says nothing, and stays hidden.
      frame.onload = () => setTimeout(async () => loaded || tell('atrium:refused', await unreadable(home)), 1000)
      show(frame)
      // Without this, a visitor's dark scheme would paint the frame black on a page that names no scheme.
      const scheme = frame.style.colorScheme = schemeOf(frame)
      frame.src = new URL('embed/' + token + '#' + new URLSearchParams({ scheme, ...visitor && { visitor } }), home)
      return
    }

    const host = make('div')
    const root = host.attachShadow({ mode: 'open' })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`/*style*/`)
    root.adoptedStyleSheets = [sheet]
    const tell = (type, detail) => host.dispatchEvent(new CustomEvent('atrium:' + type, { detail, bubbles: true }))
    const card = make('section', { className: 'atrium', ariaBusy: 'true', ariaLabel: 'Chat' }, make('p', { role: 'status', textContent: 'Loading…' }))
    root.append(card)
    show(host)
    card.style.colorScheme = schemeOf(host)
    const open = () => post(home, 'sessions', { token, visitor })
    const refuse = (why) => {
      card.replaceChildren(refusal())
      card.ariaBusy = 'false'
      tell('refused', why)
    }
    open().then((session) => {
      const { name, avatar_url: avatar, greeting, conversation_starters: starters } = session.template
      const face = avatar
        ? make('img', { className: 'face', src: avatar, alt: '', referrerPolicy: 'no-referrer' })
        : make('span', { className: 'face', ariaHidden: 'true', textContent: [...name][0].toUpperCase() })
      card.replaceChildren(make('header', {}, face, make('h2', { textContent: name })))
      if (greeting) card.append(make('p', { textContent: greeting }))
      if (starters.length) {
        card.append(make('ul', { ariaLabel: 'Ways to begin' }, ...starters.map((text) =>
          make('li', {}, make('button', { type: 'button', textContent: text, onclick: () => tell('starter', text) })))))
      }
      card.ariaLabel = name
      card.ariaBusy = 'false'
      tell('ready', session)
      keep(home, session, open, (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail))
    }, (e) => refuse(e.message))
  }

  // A module does not know its own tag, and runs once for all tags of its address.
  const own = document.currentScript
  const tags = () => own ? [own]
    : [...document.querySelectorAll('script[type=module][data-token]')].filter((s) => s.src.split(/[?#]/)[0].endsWith('/embed.js'))
  const start = () => tags().forEach(run)
  if (own && document.body && (!own.dataset.target || document.querySelector(own.dataset.target)) && document.body.contains(own)) start()
  else if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start)
  else start()
})()
