// What a page says of light and dark. One that says nothing is light, whatever the visitor's system prefers.
const schemeOf = (node) => getComputedStyle(node).colorScheme
  .replace('normal', document.querySelector('meta[name=color-scheme]')?.content || 'light')

// A part of the page that the page's own style does not change.
const enclose = () => {
  const host = make('div')
  const root = host.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(`/*style*/`)
  root.adoptedStyleSheets = [sheet]
  return { host, root }
}

// In our own page, within a frame: the site hears of what happens.
const runFramed = (tag, home, key) => {
  const { token, ticket, site, code, preview } = tag.dataset
  const hash = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  const { visitor, signature, scheme, lang, history } = hash
  const words = wordsFor(lang)
  const page = document.documentElement
  if (scheme) page.style.colorScheme = scheme
  const main = document.querySelector('main')
  const tell = (type, detail) => parent !== self && site && parent.postMessage({ type: 'atrium:' + type, detail }, site)
  const refuse = (why) => {
    main.replaceChildren(refusal(words))
    main.removeAttribute('aria-busy')
    tell('refused', why)
  }
  const show = (template, turns, say) => {
    main.removeAttribute('aria-labelledby')
    dress(page, template.theme, scheme || '')
    return converse(main, template, words, turns, say, tell)
  }
  if (preview !== undefined) {
    const headers = { Authorization: 'Bearer ' + hash.session }
    let unsaved
    fetch(new URL('api/embed/template', home), { headers, credentials: 'omit' }).then(async (answer) => {
      const found = await answer.json()
      if (!answer.ok) return refuse(found.code)
      show({ ...found.template, theme: unsaved ?? found.template.theme }, remember(''), (body, signal) => request(home, 'messages', body, hash.session, signal))
    }).catch(() => refuse('unreachable'))
    // The console shows a theme before it is saved, and can send it before the template has arrived.
    addEventListener('message', ({ source, origin, data }) => {
      if (source === parent && origin === location.origin && data.type === 'atrium:theme') dress(page, unsaved = data.theme, scheme || '')
    })
    return
  }
  let send = () => {}
  tell('loaded')
  addEventListener('keydown', (e) => { if (e.key === 'Escape') tell('escape') })
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== parent || origin !== site) return
    if (data === 'atrium:open') main.querySelector('textarea')?.focus()
    else if (data.type === 'atrium:send') send(data.text)
  })
  // The frame is hidden, and 0 pixels wide, until it has loaded: each letter has a line of its own then.
  new ResizeObserver(() => innerWidth && tell('size', page.offsetHeight)).observe(document.body)
  if (code) return tell('refused', code)
  const kept = key(history, visitor, signature)
  const hold = holder(kept && kept + ' ' + site) // some browsers share the storage of a frame between sites
  enter(home, hold, () => post(home, 'sessions', { token, visitor, visitor_signature: signature, ticket })).then((session) => {
    // The ticket has expired long before the session: only another load of this page opens another one.
    const say = keep(home, session, () => { location.reload(); return new Promise(() => {}) },
      (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail), hold)
    send = show(session.template, remember(key(history, visitor)), say)
    tell('ready', session)
  }, (e) => refuse(e.message))
}

// A frame of the page.
const runFrame = (tag, home, words, show) => {
  const { token, launcher } = tag.dataset
  let { visitor, visitorSignature: signature } = tag.dataset
  const frame = make('iframe', {
    title: 'Chat',
    referrerPolicy: 'origin',
    allow: 'clipboard-write',
    style: 'border:0;width:100%;max-width:28rem;height:24rem;display:block',
  })
  let shown = frame
  let launched
  if (launcher === 'bubble') {
    const { host, root } = enclose()
    const card = make('div', { dir: words.dir }, frame)
    root.append(card)
    shown = host
    launched = launch(root, card, words, () => {
      frame.focus()
      frame.contentWindow.postMessage('atrium:open', home.origin)
    })
  }
  shown.style.display = 'none'
  const tell = (type, detail) => shown.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }))
  let loaded
  let scheme
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== frame.contentWindow || origin !== home.origin) return
    if (data.type === 'atrium:loaded') {
      loaded = true
      shown.style.display = 'block'
    } else if (data.type === 'atrium:size') frame.style.height = data.detail + 'px'
    else if (data.type === 'atrium:escape') launched?.close()
    else {
      if (data.type === 'atrium:reply') launched?.notice()
      if (data.type === 'atrium:ready') {
        const { theme } = data.detail.template
        dress(shown, theme, scheme)
        frame.style.colorScheme = shown.style.colorScheme
        launched?.place(theme.position)
      }
      tell(data.type, data.detail)
    }
  })
  // A page that this site may not have in a frame says nothing, and stays hidden. The frame begins with an empty page.
  frame.onload = () => frame.contentDocument?.URL === 'about:blank' ||
    setTimeout(async () => loaded || tell('atrium:refused', await unreadable(home)), 1000)
  const post = (message) => frame.contentWindow?.postMessage(message, home.origin)
  offer(shown, {
    open: () => launched?.open(),
    close: () => launched?.close(),
    send: (text) => post({ type: 'atrium:send', text: String(text) }),
    // Another session needs another ticket, which only another load of the page has.
    setVisitor: (name, by) => {
      [visitor, signature] = [name, by]
      frame.addEventListener('load', load, { once: true })
      frame.src = 'about:blank'
    },
  })
  const load = () => {
    frame.src = new URL('embed/' + token + '#' + new URLSearchParams({
      scheme, lang: words.lang, ...tag.dataset.history && { history: tag.dataset.history }, ...visitor && { visitor }, ...signature && { signature },
    }), home)
  }
  show(shown)
  // Without this, a visitor's dark scheme would paint the frame black on a page that names no scheme.
  scheme = frame.style.colorScheme = schemeOf(frame)
  load()
}

// A part of the page.
const runWithin = (tag, home, words, show, key) => {
  const { token, launcher } = tag.dataset
  let { visitor, visitorSignature: signature } = tag.dataset
  const { host, root } = enclose()
  let launched
  let scheme
  const tell = (type, detail) => {
    if (type === 'reply') launched?.notice()
    host.dispatchEvent(new CustomEvent('atrium:' + type, { detail, bubbles: true }))
  }
  const card = make('section', { className: 'atrium', part: 'card', ariaBusy: 'true', ariaLabel: 'Chat', dir: words.dir, lang: words.lang }, make('p', { role: 'status', textContent: words.loading }))
  root.append(card)
  if (launcher === 'bubble') launched = launch(root, card, words, () => card.querySelector('textarea')?.focus())
  const refuse = (why) => {
    card.replaceChildren(refusal(words))
    card.ariaBusy = 'false'
    tell('refused', why)
  }
  let chat = { send: () => {}, end: () => {} }
  const begin = () => {
    chat.end()
    let ended
    const own = chat = { send: () => {}, end: () => { ended = true } }
    const open = () => post(home, 'sessions', { token, visitor: visitor || undefined, visitor_signature: signature || undefined })
    const hold = holder(key(tag.dataset.history, visitor, signature))
    enter(home, hold, open).then((session) => {
      if (ended) return
      const say = keep(home, session, open, (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail), hold)
      own.end = say.end
      dress(host, session.template.theme, scheme)
      launched?.place(session.template.theme.position)
      own.send = converse(card, session.template, words, remember(key(tag.dataset.history, visitor)), say, tell)
      tell('ready', session)
    }, (e) => ended || refuse(e.message))
  }
  offer(host, {
    open: () => launched?.open(),
    close: () => launched?.close(),
    send: (text) => chat.send(text),
    setVisitor: (name, by) => {
      [visitor, signature] = [name, by]
      begin()
    },
  })
  show(host)
  scheme = host.style.colorScheme = schemeOf(host)
  begin()
}

const run = (tag) => {
  const { token, mode, target, site } = tag.dataset
  const home = new URL('.', tag.src)
  // Visitors of one browser do not read each other's messages.
  const key = (off, visitor, signature) => off === 'off' ? ''
    : 'atrium ' + home.host + ' ' + token + (visitor ? ' ' + visitor : '') + (signature ? ' signed' : '')
  if (site !== undefined) return runFramed(tag, home, key)
  const words = wordsFor(tag.dataset.lang)
  const show = (node) => {
    const place = target && document.querySelector(target)
    if (place) place.append(node)
    else if (document.body.contains(tag)) tag.after(node)
    else document.body.append(node)
  }
  if (mode === 'frame') runFrame(tag, home, words, show)
  else runWithin(tag, home, words, show, key)
}

// A module does not know its own tag, and runs once for all tags of its address.
const own = document.currentScript
const tags = () => own ? [own]
  : [...document.querySelectorAll('script[type=module][data-token]')].filter((s) => s.src.split(/[?#]/)[0].endsWith('/embed.js'))
const start = () => tags().forEach(run)
if (own && document.body && (!own.dataset.target || document.querySelector(own.dataset.target)) && document.body.contains(own)) start()
else if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start)
else start()
