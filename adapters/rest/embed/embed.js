// Shows a chat in this page. It reads its settings from its own tag:
//   data-token    the embed token that the owner of the chat gave you
//   data-mode     "frame" shows it in a frame; otherwise it becomes a part of the page
//   data-target   a selector: where to show it, if not right behind this tag
//   data-visitor  the visitor, as a text of your choice
// The element that shows the chat sends events: atrium:ready, with the session;
// atrium:starter, with the text that a visitor picked; atrium:refused, with the reason.
(() => {
  'use strict'
  const tag = document.currentScript
  const { token, mode, target, visitor, ticket, site } = tag.dataset
  const home = new URL('.', tag.src)

  const open = async () => {
    const answer = await fetch(new URL('api/embed/sessions', home), {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, visitor, ticket }),
    })
    const body = await answer.json()
    if (!answer.ok) throw new Error(body.code)
    return body
  }

  const make = (name, about, ...children) => {
    const node = Object.assign(document.createElement(name), about)
    node.append(...children)
    return node
  }

  const refusal = () => make('p', { role: 'status', textContent: 'This chat is not available.' })

  // In our own page, within a frame: what it shows is there already, and the site hears of it.
  if (ticket) {
    const main = document.querySelector('main')
    const tell = (type, detail) => parent !== self && parent.postMessage({ type: 'atrium:' + type, detail }, site)
    new ResizeObserver(() => tell('size', document.documentElement.offsetHeight)).observe(document.body)
    const buttons = main.querySelectorAll('button')
    open().then(() => {
      main.removeAttribute('aria-busy')
      for (const b of buttons) {
        b.disabled = false
        b.onclick = () => tell('starter', b.textContent)
      }
      tell('ready')
    }, (e) => {
      main.replaceChildren(refusal())
      tell('refused', e.message)
    })
    return
  }

  const show = (node) => {
    const place = target && document.querySelector(target)
    if (place) place.append(node)
    else tag.after(node)
  }

  if (mode === 'frame') {
    const frame = make('iframe', {
      src: new URL('embed/' + token, home),
      title: 'Chat',
      referrerPolicy: 'origin',
      style: 'border:0;width:100%;max-width:28rem;height:24rem',
    })
    addEventListener('message', ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== home.origin) return
      if (data.type === 'atrium:size') frame.style.height = data.detail + 'px'
      else frame.dispatchEvent(new CustomEvent(data.type, { detail: data.detail, bubbles: true }))
    })
    show(frame)
    // A site that names no scheme is a light one: without this, a visitor's dark one would paint the frame black.
    if (getComputedStyle(frame).colorScheme === 'normal') frame.style.colorScheme = 'light'
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
  }).catch((e) => {
    card.replaceChildren(refusal())
    card.ariaBusy = 'false'
    tell('refused', e.message)
  })
})()
