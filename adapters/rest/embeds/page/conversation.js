// Fills a card with a chat. It returns what sends a message, as if the visitor had written it.
const converse = (card, template, words, history, say, tell) => {
  const { name, greeting, conversation_starters: starters, replies } = template
  const avatar = template.theme.avatar_url || template.avatar_url
  const face = avatar
    ? make('img', { className: 'face', src: avatar, alt: '', referrerPolicy: 'no-referrer' })
    : make('span', { className: 'face', ariaHidden: 'true', textContent: [...name][0].toUpperCase() })
  const header = make('header', { part: 'header' }, face, make('h2', { textContent: name, dir: 'auto' }))
  const list = make('ul', { className: 'starters', ariaLabel: words.starters }, ...starters.map((text) =>
    make('li', {}, make('button', { type: 'button', part: 'starter', textContent: text, dir: 'auto', onclick: () => {
      tell('starter', text)
      if (replies) send(text)
    } }))))
  card.ariaLabel = name
  card.ariaBusy = 'false'
  card.lang = words.lang
  card.dir = words.dir
  card.replaceChildren(header)
  if (greeting) card.append(make('p', { textContent: greeting, dir: 'auto' }))
  if (!replies) {
    if (starters.length) card.append(list)
    return () => {}
  }

  const log = make('div', { className: 'log', part: 'log', role: 'log', tabIndex: 0, ariaLabel: words.log })
  const field = make('textarea', { part: 'input', rows: 1, maxLength: 4000, placeholder: words.write, ariaLabel: words.write, dir: words.dir, enterKeyHint: 'send' })
  const button = make('button', { type: 'submit', className: 'send', part: 'send', textContent: words.send })
  const status = make('p', { role: 'status', className: 'hidden' })
  const form = make('form', {}, field, button)
  const clear = make('button', { type: 'button', className: 'plain', textContent: words.clear, hidden: true, onclick: () => {
    stopper?.abort()
    history.clear()
    log.replaceChildren()
    clear.hidden = true
    if (starters.length) log.before(list)
    field.focus()
  } })
  header.append(clear)
  card.append(log, status, form)
  if (starters.length && !history.turns.length) log.before(list)

  let stopper
  const show = (who, text) => {
    const body = make('div', { className: 'text', part: who === 'me' ? 'message visitor' : 'message answer', dir: 'auto' })
    const said = make('div', { className: 'said ' + who }, make('span', { className: 'hidden', textContent: who === 'me' ? words.you : name }), body)
    if (who === 'me') body.textContent = text
    else body.append(...blocks(text))
    log.append(said)
    clear.hidden = false
    log.scrollTop = log.scrollHeight
    return [said, body]
  }
  const copier = (text) => make('button', { type: 'button', className: 'plain', textContent: words.copy, onclick: async (e) => {
    try {
      await navigator.clipboard.writeText(text)
      e.target.textContent = status.textContent = words.copied
    } catch {}
  } })
  const fit = () => {
    field.dir = field.value ? 'auto' : words.dir // an empty field has no direction of its own
    field.style.height = 'auto'
    field.style.height = Math.min(field.scrollHeight + 2, 120) + 'px'
  }

  const send = async (text) => {
    if (stopper || !text.trim()) return
    list.remove()
    field.value = ''
    fit()
    show('me', text)
    tell('message', text)
    await answerTo(text)
  }
  const answerTo = async (text) => {
    const own = stopper = new AbortController()
    const [said, body] = show('them', '')
    const dots = make('span', { className: 'dots', ariaHidden: 'true' }, make('i'), make('i'), make('i'))
    body.append(dots)
    status.textContent = words.typing
    log.ariaBusy = 'true'
    button.textContent = words.stop
    let answer = ''
    let refused
    let thought
    let why = 'unreachable'
    let drawing
    const draw = () => {
      drawing = undefined
      const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40
      if (answer) body.replaceChildren(...blocks(answer))
      if (follows) log.scrollTop = log.scrollHeight
    }
    try {
      for await (const [type, data] of events(await say({ text, history: history.recent() }, own.signal))) {
        if (type === 'delta' || type === 'refusal') {
          refused ||= type === 'refusal'
          answer += data.text
          drawing ??= setTimeout(draw, 40)
        } else if (type === 'reasoning') {
          if (!thought) {
            thought = make('div', { dir: 'auto' })
            body.before(make('details', { className: 'thought', part: 'reasoning' }, make('summary', { textContent: words.reasoning }), thought))
          }
          thought.append(data.text)
        } else if (type === 'done') why = ''
        else if (type === 'error') why = data.code
      }
    } catch (e) {
      why = own.signal.aborted ? 'stopped' : /^[a-z_]+$/.test(e.message) ? e.message : 'unreachable'
    }
    clearTimeout(drawing)
    dots.remove()
    draw()
    body.hidden = !answer
    const actions = make('div', { className: 'actions' })
    if (answer) actions.append(copier(answer))
    if (why) {
      if (why !== 'stopped') tell('failed', why)
      said.append(make('p', { className: 'why', textContent: words[reasons[why] || 'failed'] }))
      actions.append(make('button', { type: 'button', className: 'plain', textContent: words.retry, onclick: () => {
        if (stopper) return
        said.remove()
        field.focus()
        answerTo(text)
      } }))
    } else {
      if (refused) tell('refusal', answer)
      tell('reply', answer)
    }
    said.append(actions)
    status.textContent = why ? words[reasons[why] || 'failed'] : ''
    log.ariaBusy = 'false'
    log.scrollTop = log.scrollHeight
    button.textContent = words.send
    stopper = undefined
    if (said.isConnected && answer && (!why || why === 'stopped')) history.add({ text, answer })
  }
  for (const { text, answer } of history.turns) {
    show('me', text)
    show('them', answer)[0].append(make('div', { className: 'actions' }, copier(answer)))
  }
  field.oninput = fit
  field.onkeydown = (e) => {
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) {
      e.preventDefault()
      if (!stopper) send(field.value)
    }
  }
  form.onsubmit = (e) => {
    e.preventDefault()
    if (stopper) stopper.abort()
    else send(field.value)
    field.focus()
  }
  return (text) => send(String(text).slice(0, 4000))
}
