// How long a page that gets an answer can be silent before another one takes it for gone, in milliseconds.
const silence = 6000
const isLive = (turn) => turn.live > Date.now() - silence

// Fills a card with a chat. send sends a message as if the visitor had written it, after the answers to earlier ones;
// end ends the chat. page returns the address of the page, if it has one.
const converse = (card, template, words, history, page, say, tell) => {
  const { name, replies } = template
  const { lang, greeting, starters } = translated(template, words.wanted)
  const avatar = template.theme.avatar_url || template.avatar_url
  const face = avatar
    ? make('img', { className: 'face', src: avatar, alt: '', referrerPolicy: 'no-referrer' })
    : make('span', { className: 'face', ariaHidden: 'true', textContent: [...name][0].toUpperCase() })
  const header = make('header', { part: 'header' }, face, make('h2', { textContent: name, dir: 'auto' }))
  const list = make('ul', { className: 'starters', lang, ariaLabel: words.starters }, ...starters.map((text) =>
    make('li', {}, make('button', { type: 'button', part: 'starter', textContent: text, dir: 'auto', onclick: () => {
      tell('starter', text)
      if (replies) send(text)
    } }))))
  card.ariaLabel = name
  card.ariaBusy = 'false'
  card.lang = words.lang
  card.dir = words.dir
  card.replaceChildren(header)
  if (greeting) card.append(make('p', { lang, textContent: greeting, dir: 'auto' }))
  if (!replies) {
    if (starters.length) card.append(list)
    return { send: () => {}, end: () => {} }
  }

  const log = make('div', { className: 'log', part: 'log', role: 'log', tabIndex: 0, ariaLabel: words.log })
  const field = make('textarea', { part: 'input', rows: 1, maxLength: 4000, placeholder: words.write, ariaLabel: words.write, dir: words.dir, enterKeyHint: 'send' })
  const button = make('button', { type: 'submit', className: 'send', part: 'send', textContent: words.send })
  const status = make('p', { role: 'status', className: 'hidden' })
  const form = make('form', {}, field, button)
  const clear = make('button', { type: 'button', className: 'plain', textContent: words.clear, onclick: () => {
    waiting.length = 0
    history.clear()
    refresh()
    field.focus()
  } })
  header.append(clear)
  card.append(log, status, form)
  if (template.transcripts) card.append(make('p', { className: 'note', part: 'note', textContent: words.recorded }))

  const shown = new Map() // the elements of each turn, by its id
  const waiting = [] // messages that are sent after the present answer
  let current // the turn whose answer this page is getting, and what stops it
  let ended
  let left // the page, which the browser may show again
  let check

  const said = (who, label) => {
    const body = make('div', { className: 'text', part: who === 'me' ? 'message visitor' : 'message answer', dir: 'auto' })
    const box = make('div', { className: 'said ' + who }, make('span', { className: 'hidden', textContent: label }), body)
    return { box, body }
  }
  const copier = (text) => make('button', { type: 'button', className: 'plain', textContent: words.copy, onclick: async (e) => {
    try {
      await navigator.clipboard.writeText(text)
      e.target.textContent = status.textContent = words.copied
    } catch {}
  } })
  // What scripts of the page get of a turn.
  const about = ({ text, answer, page_url = page(), prompt }) => ({ text, answer, conversation_id: history.conversation(), page_url, prompt })
  // A picture, because many systems have no font with this sign.
  const thumb = (isUp) => {
    const [icon, path] = ['svg', 'path'].map((name) => document.createElementNS('http://www.w3.org/2000/svg', name))
    icon.setAttribute('viewBox', '0 0 24 24')
    path.setAttribute('d', 'M7 11l4-8c1.7 0 3 1.2 2.6 3L13 9h5.5a2 2 0 0 1 2 2.4l-1.4 7A2 2 0 0 1 17 20H7zH4v9h3')
    if (!isUp) path.setAttribute('transform', 'rotate(180 12 12)')
    icon.append(path)
    return icon
  }
  // Two buttons, of which the visitor can press one.
  const thumbs = (turn) => [[true, words.helpful], [false, words.unhelpful]].map(([helpful, label]) => make('button', {
    type: 'button', className: 'plain', part: 'thumb', ariaLabel: label, title: label,
    ariaPressed: String(turn.helpful === helpful), disabled: turn.helpful !== undefined, onclick: () => {
      const rated = (value) => {
        history.update({ ...history.turns().find(({ id }) => id === turn.id), helpful: value })
        refresh()
      }
      rated(helpful)
      status.textContent = label
      tell('feedback', { helpful, ...about(turn) })
      if (turn.receipt) {
        say.rate({ answer: turn.receipt, helpful }).catch(({ message }) => {
          if (['unreachable', 'rate_limited', 'unavailable', 'internal'].includes(message)) rated() // it can be pressed again
        })
      }
    },
  }, thumb(helpful)))
  const because = (why) => words[reasons[why] || 'failed']
  // Shows a turn, or what has changed in it.
  const draw = (turn) => {
    const isHere = current?.turn.id === turn.id
    const isWriting = isHere || isLive(turn)
    const why = turn.live && !isWriting ? 'interrupted' : turn.why
    const state = JSON.stringify([turn.answer, isWriting, why, turn.helpful])
    let parts = shown.get(turn.id)
    if (!parts) {
      const mine = said('me', words.you)
      mine.body.textContent = turn.text
      parts = { mine: mine.box, ...said('them', name) }
      shown.set(turn.id, parts)
      log.append(parts.mine, parts.box)
      log.scrollTop = log.scrollHeight
    }
    const { box, body } = parts
    if (parts.state === state) return parts
    parts.state = state
    const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40
    const dots = () => make('span', { className: 'dots', ariaHidden: 'true' }, make('i'), make('i'), make('i'))
    body.replaceChildren(...turn.answer ? blocks(turn.answer) : isWriting ? [dots()] : [])
    body.hidden = !body.firstChild
    parts.end?.forEach((node) => node.remove())
    parts.end = []
    if (!isWriting) {
      const actions = make('div', { className: 'actions' })
      if (turn.answer) actions.append(copier(turn.answer))
      if (turn.answer && !why && template.feedback) actions.append(...thumbs(turn))
      if (why) {
        parts.end.push(make('p', { className: 'why', textContent: because(why) }))
        actions.append(make('button', { type: 'button', className: 'plain', textContent: words.retry, onclick: () => {
          if (current) return
          field.focus()
          answer(turn)
        } }))
      }
      parts.end.push(actions)
      box.append(...parts.end)
    }
    if (follows) log.scrollTop = log.scrollHeight
    return parts
  }
  // Shows what the storage has, which other tabs change too.
  const refresh = () => {
    const turns = history.turns()
    for (const [id, { mine, box }] of shown) {
      if (turns.some((turn) => turn.id === id)) continue
      mine.remove()
      box.remove()
      shown.delete(id)
      if (current?.turn.id === id) current.stop.abort()
    }
    turns.forEach((turn) => current?.turn.id === turn.id || draw(turn))
    clear.hidden = !turns.length
    if (turns.length) list.remove()
    else if (starters.length && !list.isConnected) log.before(list)
    clearTimeout(check)
    if (turns.some(isLive)) check = setTimeout(refresh, silence)
  }
  const fit = () => {
    field.dir = field.value ? 'auto' : words.dir // an empty field has no direction of its own
    field.style.height = 'auto'
    field.style.height = Math.min(field.scrollHeight + 2, 120) + 'px'
  }

  const send = (text) => {
    if (ended || !text.trim()) return
    waiting.push(text)
    next()
  }
  const next = () => {
    if (current || !waiting.length) return
    const turn = { id: randomName(), at: Date.now(), text: waiting.shift(), answer: '', live: Date.now() }
    history.add(turn)
    tell('message', turn.text)
    answer(turn)
  }
  // Gets the answer to a turn of the history, in place of what it may have.
  const answer = async ({ id, at, text }) => {
    const turn = { id, at, text, answer: '', live: Date.now() }
    const own = current = { turn, stop: new AbortController() }
    const store = () => history.update({ ...turn, live: Date.now() })
    store()
    shown.get(id)?.thought?.remove()
    const parts = draw(turn)
    refresh()
    const beat = setInterval(store, 1000)
    status.textContent = words.typing
    log.ariaBusy = 'true'
    button.textContent = words.stop
    let refused
    let thought
    let why = 'interrupted' // unless the stream says how it ended
    let drawing
    const show = () => {
      drawing = undefined
      if (shown.has(id)) draw(turn)
    }
    try {
      Object.defineProperty(turn, 'page_url', { value: page(), configurable: true }) // not kept: it can name a visitor
      const body = { text, history: history.before(turn), conversation_id: history.conversation(), page_url: turn.page_url }
      for await (const [type, data] of events(await say(body, own.stop.signal))) {
        if (type === 'delta' || type === 'refusal') {
          refused ||= type === 'refusal'
          turn.answer += data.text
          drawing ??= setTimeout(show, 40)
        } else if (type === 'reasoning') {
          if (!thought) {
            thought = make('div', { dir: 'auto' })
            parts.thought = make('details', { className: 'thought', part: 'reasoning' }, make('summary', { textContent: words.reasoning }), thought)
            parts.body.before(parts.thought)
          }
          thought.append(data.text)
        } else if (type === 'done') {
          why = ''
          turn.receipt = data.answer
          turn.prompt = data.prompt
        } else if (type === 'error') why = data.code
      }
    } catch (e) {
      why = own.stop.signal.aborted ? 'stopped' : /^[a-z_]+$/.test(e.message) ? e.message : why
    }
    clearTimeout(drawing)
    clearInterval(beat)
    if (ended || left) return
    turn.live = 0
    turn.why = why
    current = undefined
    history.update(turn)
    if (shown.has(id)) draw(turn)
    status.textContent = why ? because(why) : ''
    log.ariaBusy = 'false'
    button.textContent = words.send
    if (!why) {
      if (refused) tell('refusal', turn.answer)
      tell('reply', turn.answer)
      tell('turn', about(turn))
    } else if (why !== 'stopped') tell('failed', why)
    next()
  }
  field.oninput = fit
  const sendField = () => {
    if (current || !field.value.trim()) return
    const text = field.value
    field.value = ''
    fit()
    send(text)
  }
  field.onkeydown = (e) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault()
      sendField()
    }
  }
  form.onsubmit = (e) => {
    e.preventDefault()
    if (current) current.stop.abort()
    else sendField()
    field.focus()
  }
  // What the page has of an answer when it ends is there for the next one.
  const leave = () => {
    left = true
    if (current) history.update({ ...current.turn, live: 0, why: 'interrupted' })
  }
  const come = () => {
    left = false
    refresh()
  }
  const hear = ({ key }) => { if (key === history.key || key === null) refresh() }
  addEventListener('pagehide', leave)
  addEventListener('storage', hear)
  addEventListener('pageshow', come)
  refresh()
  log.scrollTop = log.scrollHeight
  return {
    send: (text) => send(String(text).slice(0, 4000)),
    end: () => {
      leave()
      ended = true
      waiting.length = 0
      current?.stop.abort()
      clearTimeout(check)
      removeEventListener('pagehide', leave)
      removeEventListener('storage', hear)
      removeEventListener('pageshow', come)
    },
  }
}
