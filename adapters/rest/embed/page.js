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

const run = (tag) => {
  const { token, mode, target, ticket, site, code, launcher } = tag.dataset
  const home = new URL('.', tag.src)
  const key = (off) => off === 'off' ? '' : 'atrium ' + home.host + ' ' + token

  // In our own page, within a frame: the site hears of what happens.
  if (site !== undefined) {
    const { visitor, signature, scheme, lang, history } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
    const words = wordsFor(lang)
    if (scheme) document.documentElement.style.colorScheme = scheme
    const main = document.querySelector('main')
    const tell = (type, detail) => parent !== self && site && parent.postMessage({ type: 'atrium:' + type, detail }, site)
    const refuse = (why) => {
      main.replaceChildren(refusal(words))
      main.removeAttribute('aria-busy')
      tell('refused', why)
    }
    tell('loaded')
    addEventListener('keydown', (e) => { if (e.key === 'Escape') tell('escape') })
    addEventListener('message', ({ source, origin, data }) => {
      if (source === parent && origin === site && data === 'atrium:open') main.querySelector('textarea')?.focus()
    })
    new ResizeObserver(() => tell('size', document.documentElement.offsetHeight)).observe(document.body)
    if (code) return tell('refused', code)
    post(home, 'sessions', { token, visitor, visitor_signature: signature, ticket }).then((session) => {
      // The ticket has expired long before the session: only another load of this page opens another one.
      const say = keep(home, session, () => { location.reload(); return new Promise(() => {}) },
        (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail))
      main.removeAttribute('aria-labelledby')
      converse(main, session.template, words, remember(key(history)), say, tell)
      tell('ready', session)
    }, (e) => refuse(e.message))
    return
  }

  const visitor = tag.dataset.visitor || undefined
  const signature = tag.dataset.visitorSignature || undefined
  const words = wordsFor(tag.dataset.lang)
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
    addEventListener('message', ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== home.origin) return
      if (data.type === 'atrium:loaded') {
        loaded = true
        shown.style.display = 'block'
      } else if (data.type === 'atrium:size') frame.style.height = data.detail + 'px'
      else if (data.type === 'atrium:escape') launched?.close()
      else {
        if (data.type === 'atrium:reply') launched?.notice()
        tell(data.type, data.detail)
      }
    })
    // A page that this site may not have in a frame says nothing, and stays hidden.
    frame.onload = () => setTimeout(async () => loaded || tell('atrium:refused', await unreadable(home)), 1000)
    show(shown)
    // Without this, a visitor's dark scheme would paint the frame black on a page that names no scheme.
    const scheme = frame.style.colorScheme = schemeOf(frame)
    frame.src = new URL('embed/' + token + '#' + new URLSearchParams({
      scheme, lang: words.lang, ...tag.dataset.history && { history: tag.dataset.history }, ...visitor && { visitor }, ...signature && { signature },
    }), home)
    return
  }

  const { host, root } = enclose()
  let launched
  const tell = (type, detail) => {
    if (type === 'reply') launched?.notice()
    host.dispatchEvent(new CustomEvent('atrium:' + type, { detail, bubbles: true }))
  }
  const card = make('section', { className: 'atrium', ariaBusy: 'true', ariaLabel: 'Chat', dir: words.dir, lang: words.lang }, make('p', { role: 'status', textContent: words.loading }))
  root.append(card)
  if (launcher === 'bubble') launched = launch(root, card, words, () => card.querySelector('textarea')?.focus())
  show(host)
  host.style.colorScheme = schemeOf(host)
  const open = () => post(home, 'sessions', { token, visitor, visitor_signature: signature })
  const refuse = (why) => {
    card.replaceChildren(refusal(words))
    card.ariaBusy = 'false'
    tell('refused', why)
  }
  open().then((session) => {
    const say = keep(home, session, open, (type, detail) => type === 'refused' ? refuse(detail) : tell(type, detail))
    converse(card, session.template, words, remember(key(tag.dataset.history)), say, tell)
    tell('ready', session)
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
