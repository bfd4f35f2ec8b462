// What a page says of light and dark. One that says nothing is light, whatever the visitor's system prefers.
const schemeOf = (node) => getComputedStyle(node).colorScheme
  .replace('normal', document.querySelector('meta[name=color-scheme]')?.content || 'light')

// The address of the page for the program that answers, without its fragment.
const pageAddress = () => /^https?:$/.test(location.protocol) ? (location.origin + location.pathname + location.search).slice(0, 2000) : undefined

// A part of the page that the page's own style does not change.
const enclose = () => {
  const host = make('div')
  const root = host.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(`/*style*/`)
  root.adoptedStyleSheets = [sheet]
  return { host, root }
}

// How long a page that names no visitor may still name one, in milliseconds. After that, the visitor has signed out.
const grace = 5000

// The chat of one visitor: it fills card, and keeps what it needs in the places under key. isFinal says that a page which
// names no visitor will not do so soon. open opens a session, and reopen one after it.
const attend = ({ card, home, words, key, who: { visitor, signature, isFinal }, open, reopen = open, page, tell, refuse, dressed }) => {
  const place = slot('localStorage', key, JSON.stringify([visitor || '', !!signature]))
  // Another signature needs another session: the earlier one may have expired.
  const hold = slot('sessionStorage', key, JSON.stringify([visitor || '', signature || '']))
  let ended
  let say
  let chat
  const early = []
  const claim = () => {
    place.claim()
    hold.claim()
  }
  forgetEarlier(key)
  const timer = visitor || isFinal ? claim() : setTimeout(claim, grace)
  const hear = (type, detail) => ended || (type === 'refused' ? refuse(detail) : tell(type, detail))
  enter(home, hold, open, () => !ended).then((session) => {
    if (ended) return
    say = keep(home, session, reopen, hear, hold)
    dressed(session.template.theme)
    chat = converse(card, session.template, words, remember(place), page, say, hear)
    tell('ready', session)
    early.forEach(chat.send)
  }, (e) => ended || refuse(e.message))
  return {
    send: (text) => chat ? chat.send(text) : early.push(text),
    end: () => {
      clearTimeout(timer)
      chat?.end()
      say?.end()
      ended = true
    },
    // Removes all that the browser keeps of the visitor.
    forget: () => {
      place.clear()
      hold.clear()
    },
  }
}

// In our own page, within a frame: the site hears of what happens.
const runFramed = (tag, home, keyOf) => {
  const { token, ticket, site, code, preview } = tag.dataset
  const hash = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
  const { id, visitor, signature, attributes, scheme, lang, history, final: isFinal } = hash
  const words = wordsFor(lang)
  const page = document.documentElement
  if (scheme) page.style.colorScheme = scheme
  const card = document.querySelector('main')
  const tell = (type, detail) => parent !== self && site && parent.postMessage({ id, type: 'atrium:' + type, detail }, site)
  const refuse = (why) => {
    card.replaceChildren(refusal(words))
    card.removeAttribute('aria-busy')
    tell('refused', why)
  }
  const dressed = (theme) => {
    card.removeAttribute('aria-labelledby')
    dress(page, theme, scheme || '')
  }
  if (preview !== undefined) {
    const headers = { Authorization: 'Bearer ' + hash.session }
    let unsaved
    fetch(new URL('api/embed/template', home), { headers, credentials: 'omit' }).then(async (answer) => {
      const found = await answer.json()
      if (!answer.ok) return refuse(found.code)
      dressed(unsaved ?? found.template.theme)
      converse(card, { ...found.template, theme: unsaved ?? found.template.theme }, words, remember(slot('', '')), () => undefined,
        (body, signal) => request(home, 'messages', body, hash.session, signal), tell)
    }).catch(() => refuse('unreachable'))
    // The console shows a theme before it is saved, and can send it before the template has arrived.
    addEventListener('message', ({ source, origin, data }) => {
      if (source === parent && origin === location.origin && data.type === 'atrium:theme') dress(page, unsaved = data.theme, scheme || '')
    })
    return
  }
  let chat
  let address
  tell('loaded')
  addEventListener('keydown', (e) => { if (e.key === 'Escape') tell('escape') })
  addEventListener('message', ({ source, origin, data }) => {
    if (source !== parent || origin !== site) return
    if (data === 'atrium:open') card.querySelector('textarea')?.focus()
    else if (data.type === 'atrium:page') address = data.address
    else if (data.type === 'atrium:send') chat?.send(data.text)
  })
  // The frame is hidden, and 0 pixels wide, until it has loaded: each letter has a line of its own then.
  new ResizeObserver(() => innerWidth && tell('size', page.offsetHeight)).observe(document.body)
  if (code) return tell('refused', code)
  const open = () => post(home, 'sessions', { token, visitor, visitor_signature: signature, visitor_attributes: attributes, ticket })
  // The ticket has expired long before the session: only another load of this page opens another one.
  const reopen = () => {
    location.reload()
    return new Promise(() => {})
  }
  const who = { visitor, signature, isFinal }
  chat = attend({ card, home, words, key: keyOf(history), who, open, reopen, page: () => address, tell, refuse, dressed })
}

// A frame of the page.
const runFrame = (tag, home, words, show, keyOf) => {
  const { token, launcher, history } = tag.dataset
  let { visitor, visitorSignature: signature, visitorAttributes: attributes } = tag.dataset
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
    launched = launch(root, card, words, slot('sessionStorage', keyOf(history, 'open')), () => {
      frame.focus()
      post('atrium:open')
    })
  }
  shown.style.display = 'none'
  const tell = (type, detail) => shown.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }))
  let early = [] // undefined once the chat can send
  let loaded
  let scheme
  let id
  let isFinal
  const hear = ({ source, origin, data }) => {
    // Messages of the former visitor's page can still be on their way.
    if (source !== frame.contentWindow || origin !== home.origin || data.id !== id) return
    if (data.type === 'atrium:loaded') {
      loaded = true
      tellAddress()
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
        early?.forEach(send)
        early = undefined
      }
      tell(data.type, data.detail)
    }
  }
  // The address can change without another page. A visitor who writes in the frame takes the focus from the page.
  const tellAddress = () => post({ type: 'atrium:page', address: pageAddress() })
  addEventListener('message', hear)
  addEventListener('blur', tellAddress)
  // A page that this site may not have in a frame says nothing, and stays hidden. The frame begins with an empty page.
  frame.onload = () => frame.contentDocument?.URL === 'about:blank' ||
    setTimeout(async () => loaded || tell('atrium:refused', await unreadable(home)), 1000)
  const post = (message) => frame.contentWindow?.postMessage(message, home.origin)
  const send = (text) => {
    tellAddress()
    post({ type: 'atrium:send', text: String(text) })
  }
  offer(shown, {
    open: () => launched?.open(),
    close: () => launched?.close(),
    send: (text) => early ? early.push(text) : send(text),
    // Another session needs another ticket, which only another load of the page has.
    setVisitor: (name, by, what) => {
      [visitor, signature, attributes, early, isFinal] = [name, by, what, [], true]
      id = undefined
      frame.addEventListener('load', load, { once: true })
      frame.src = 'about:blank'
    },
  }, () => {
    removeEventListener('message', hear)
    removeEventListener('blur', tellAddress)
  })
  const load = () => {
    id = randomName()
    frame.src = new URL('embed/' + token + '#' + new URLSearchParams({
      id, scheme, lang: words.wanted, ...history && { history }, ...visitor && { visitor }, ...signature && { signature },
      ...attributes && { attributes }, ...isFinal && { final: true },
    }), home)
  }
  show(shown)
  // Without this, a visitor's dark scheme would paint the frame black on a page that names no scheme.
  scheme = frame.style.colorScheme = schemeOf(frame)
  load()
}

// A part of the page.
const runWithin = (tag, home, words, show, keyOf) => {
  const { token, launcher, history } = tag.dataset
  const { visitor, visitorSignature: signature, visitorAttributes: attributes } = tag.dataset
  let who = { visitor, signature, attributes }
  const { host, root } = enclose()
  let launched
  let scheme
  const tell = (type, detail) => {
    if (type === 'reply') launched?.notice()
    host.dispatchEvent(new CustomEvent('atrium:' + type, { detail, bubbles: true }))
  }
  const card = make('section', { className: 'atrium', part: 'card', dir: words.dir, lang: words.lang })
  root.append(card)
  if (launcher === 'bubble') {
    launched = launch(root, card, words, slot('sessionStorage', keyOf(history, 'open')), () => card.querySelector('textarea')?.focus())
  }
  const refuse = (why) => {
    card.replaceChildren(refusal(words))
    card.ariaBusy = 'false'
    tell('refused', why)
  }
  const dressed = (theme) => {
    dress(host, theme, scheme)
    launched?.place(theme.position)
  }
  let chat
  const begin = () => {
    const { visitor, signature, attributes } = who
    card.ariaBusy = 'true'
    card.ariaLabel = 'Chat'
    card.replaceChildren(make('p', { role: 'status', textContent: words.loading }))
    const open = () => post(home, 'sessions', {
      token, visitor: visitor || undefined, visitor_signature: signature || undefined, visitor_attributes: attributes || undefined,
    })
    chat = attend({ card, home, words, key: keyOf(history), who, open, page: pageAddress, tell, refuse, dressed })
  }
  show(host)
  scheme = host.style.colorScheme = schemeOf(host)
  offer(host, {
    open: () => launched?.open(),
    close: () => launched?.close(),
    send: (text) => chat.send(text),
    // What the browser keeps of a visitor ends with the visitor.
    setVisitor: (visitor, signature, attributes) => {
      if (!host.isConnected) return
      chat.end()
      if ((visitor || '') !== (who.visitor || '') || !signature !== !who.signature) chat.forget()
      who = { visitor, signature, attributes, isFinal: true }
      begin()
    },
  }, () => chat.end())
  begin()
}

const run = (tag) => {
  const { token, mode, target, site } = tag.dataset
  const home = new URL('.', tag.src)
  // The name of what a browser keeps. Some share the storage of a frame between sites.
  const keyOf = (history, ...more) => history === 'off' ? '' : ['atrium-chat', home.host, token, ...site ? [site] : [], ...more].join(' ')
  if (site !== undefined) return runFramed(tag, home, keyOf)
  const words = wordsFor(tag.dataset.lang)
  const show = (node) => {
    const place = target && document.querySelector(target)
    if (place) place.append(node)
    else if (document.body.contains(tag)) tag.after(node)
    else document.body.append(node)
  }
  if (mode === 'frame') runFrame(tag, home, words, show, keyOf)
  else runWithin(tag, home, words, show, keyOf)
}

// A module does not know its own tag, and runs once for all tags of its address.
const own = document.currentScript
const tags = () => own ? [own]
  : [...document.querySelectorAll('script[type=module][data-token]')].filter((s) => s.src.split(/[?#]/)[0].endsWith('/embed.js'))
// A tag that has left the page again, as when React mounts a component twice, shows nothing.
const start = () => tags().filter((tag) => tag.isConnected).forEach(run)
if (own && document.body && (!own.dataset.target || document.querySelector(own.dataset.target)) && document.body.contains(own)) start()
else if (document.readyState === 'loading') addEventListener('DOMContentLoaded', start)
else start()
