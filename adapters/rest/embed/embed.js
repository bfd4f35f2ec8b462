// Shows a chat in this page. It reads its settings from its own tag:
//   data-token    the embed token that the owner of the chat gave you
//   data-mode     "frame" shows it in a frame; otherwise it becomes a part of the page
//   data-target   a selector: where to show it, if not right behind this tag
//   data-visitor  the visitor, as a text of your choice
//   data-visitor-signature  with which your backend vouches for the visitor
//   data-launcher "bubble" shows a button in the corner that opens the chat
//   data-history  "off" keeps no messages in the browser's storage
//   data-lang     the language of the buttons; otherwise that of the page, or of the visitor's browser
// The element that shows the chat sends events: atrium:ready, with the session; atrium:renewed, with the session that
// replaces it; atrium:starter, with the text that a visitor picked; atrium:message, with what a visitor sent;
// atrium:reply, with the answer; atrium:refused, with the code of the reason.
(() => {
  'use strict'
  const make = (name, about, ...children) => {
    const node = Object.assign(document.createElement(name), about)
    node.append(...children)
    return node
  }

  // In the order of the names below.
  const names = ['write', 'send', 'stop', 'retry', 'copy', 'copied', 'typing', 'you', 'open', 'close', 'clear', 'starters', 'loading', 'refused', 'log', 'fresh', 'failed', 'slow', 'long', 'many', 'daily', 'offline', 'stopped']
  const texts = {
    en: ['Write a message', 'Send', 'Stop', 'Try again', 'Copy', 'Copied', 'Writing…', 'You', 'Open chat', 'Close chat', 'Clear', 'Ways to begin', 'Loading…', 'This chat is not available.', 'Messages', 'New message', 'The chat cannot answer at the moment.', 'The answer took too long.', 'The answer is too long to show the rest of it.', 'Too many messages. Wait a moment.', 'This chat answers no more messages today.', 'There is no connection.', 'Stopped.'],
    de: ['Nachricht schreiben', 'Senden', 'Anhalten', 'Noch einmal', 'Kopieren', 'Kopiert', 'Schreibt …', 'Sie', 'Chat öffnen', 'Chat schließen', 'Leeren', 'Vorschläge', 'Lädt …', 'Dieser Chat ist nicht verfügbar.', 'Nachrichten', 'Neue Nachricht', 'Der Chat kann gerade nicht antworten.', 'Die Antwort hat zu lange gedauert.', 'Der Rest der Antwort ist zu lang.', 'Zu viele Nachrichten. Bitte warten Sie kurz.', 'Dieser Chat antwortet heute nicht mehr.', 'Keine Verbindung.', 'Angehalten.'],
    fr: ['Écrire un message', 'Envoyer', 'Arrêter', 'Réessayer', 'Copier', 'Copié', 'Écrit…', 'Vous', 'Ouvrir le chat', 'Fermer le chat', 'Effacer', 'Pour commencer', 'Chargement…', 'Ce chat n’est pas disponible.', 'Messages', 'Nouveau message', 'Le chat ne peut pas répondre pour le moment.', 'La réponse a pris trop de temps.', 'La suite de la réponse est trop longue.', 'Trop de messages. Attendez un instant.', 'Ce chat ne répond plus aujourd’hui.', 'Pas de connexion.', 'Arrêté.'],
    es: ['Escribe un mensaje', 'Enviar', 'Detener', 'Reintentar', 'Copiar', 'Copiado', 'Escribiendo…', 'Tú', 'Abrir el chat', 'Cerrar el chat', 'Borrar', 'Para empezar', 'Cargando…', 'Este chat no está disponible.', 'Mensajes', 'Mensaje nuevo', 'El chat no puede responder en este momento.', 'La respuesta tardó demasiado.', 'El resto de la respuesta es demasiado largo.', 'Demasiados mensajes. Espera un momento.', 'Este chat no responde más mensajes hoy.', 'No hay conexión.', 'Detenido.'],
    it: ['Scrivi un messaggio', 'Invia', 'Ferma', 'Riprova', 'Copia', 'Copiato', 'Sta scrivendo…', 'Tu', 'Apri la chat', 'Chiudi la chat', 'Cancella', 'Per iniziare', 'Caricamento…', 'Questa chat non è disponibile.', 'Messaggi', 'Nuovo messaggio', 'Al momento la chat non può rispondere.', 'La risposta ha richiesto troppo tempo.', 'Il resto della risposta è troppo lungo.', 'Troppi messaggi. Attendi un momento.', 'Oggi questa chat non risponde più.', 'Nessuna connessione.', 'Fermato.'],
    pt: ['Escreva uma mensagem', 'Enviar', 'Parar', 'Tentar de novo', 'Copiar', 'Copiado', 'Escrevendo…', 'Você', 'Abrir o chat', 'Fechar o chat', 'Limpar', 'Para começar', 'Carregando…', 'Este chat não está disponível.', 'Mensagens', 'Nova mensagem', 'O chat não pode responder agora.', 'A resposta demorou demais.', 'O resto da resposta é longo demais.', 'Mensagens demais. Aguarde um momento.', 'Este chat não responde mais hoje.', 'Sem conexão.', 'Parado.'],
    nl: ['Schrijf een bericht', 'Versturen', 'Stoppen', 'Opnieuw', 'Kopiëren', 'Gekopieerd', 'Schrijft…', 'U', 'Chat openen', 'Chat sluiten', 'Wissen', 'Om te beginnen', 'Laden…', 'Deze chat is niet beschikbaar.', 'Berichten', 'Nieuw bericht', 'De chat kan nu niet antwoorden.', 'Het antwoord duurde te lang.', 'De rest van het antwoord is te lang.', 'Te veel berichten. Wacht even.', 'Deze chat antwoordt vandaag niet meer.', 'Geen verbinding.', 'Gestopt.'],
    pl: ['Napisz wiadomość', 'Wyślij', 'Zatrzymaj', 'Ponów', 'Kopiuj', 'Skopiowano', 'Pisze…', 'Ty', 'Otwórz czat', 'Zamknij czat', 'Wyczyść', 'Na początek', 'Ładowanie…', 'Ten czat jest niedostępny.', 'Wiadomości', 'Nowa wiadomość', 'Czat nie może teraz odpowiedzieć.', 'Odpowiedź trwała zbyt długo.', 'Reszta odpowiedzi jest za długa.', 'Za dużo wiadomości. Poczekaj chwilę.', 'Ten czat dziś już nie odpowiada.', 'Brak połączenia.', 'Zatrzymano.'],
    ar: ['اكتب رسالة', 'إرسال', 'إيقاف', 'أعد المحاولة', 'نسخ', 'تم النسخ', 'يكتب…', 'أنت', 'فتح المحادثة', 'إغلاق المحادثة', 'مسح', 'اقتراحات للبدء', 'جارٍ التحميل…', 'هذه المحادثة غير متاحة.', 'الرسائل', 'رسالة جديدة', 'لا يمكن للمحادثة الرد الآن.', 'استغرق الرد وقتًا طويلاً.', 'بقية الرد أطول من أن تُعرض.', 'رسائل كثيرة جدًا. انتظر لحظة.', 'لن ترد هذه المحادثة على مزيد من الرسائل اليوم.', 'لا يوجد اتصال.', 'تم الإيقاف.'],
    ja: ['メッセージを入力', '送信', '停止', '再試行', 'コピー', 'コピーしました', '入力中…', 'あなた', 'チャットを開く', 'チャットを閉じる', '消去', '質問の例', '読み込み中…', 'このチャットは利用できません。', 'メッセージ', '新しいメッセージ', '現在、チャットは回答できません。', '回答に時間がかかりすぎました。', '回答が長すぎるため、残りを表示できません。', 'メッセージが多すぎます。少しお待ちください。', '本日はこれ以上回答できません。', '接続がありません。', '停止しました。'],
  }
  const rightToLeft = ['ar']
  const wordsFor = (wanted) => {
    const lang = [wanted, document.documentElement.lang, ...navigator.languages || []].map((l) => (l || '').toLowerCase().split('-')[0])
      .find((l) => texts[l]) || 'en'
    return { lang, dir: rightToLeft.includes(lang) ? 'rtl' : 'ltr', ...Object.fromEntries(names.map((n, i) => [n, texts[lang][i]])) }
  }

  // Why there is no answer, in words.
  const reasons = {
    reply_timeout: 'slow', reply_too_large: 'long', rate_limited: 'many', daily_replies_reached: 'daily',
    unreachable: 'offline', stopped: 'stopped',
  }

  const refusal = (words) => make('p', { role: 'status', textContent: words.refused })

  // Shows the Markdown that answers commonly have. Everything else, HTML too, stays text.
  const inline = (text) => {
    const out = []
    const mark = /`([^`\n]+)`|\*\*([^\n]+?)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\(((?:https?:\/\/|mailto:)[^\s)]+)\)|(https?:\/\/[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?])/
    for (let found; (found = mark.exec(text));) {
      const [all, code, bold, italic, label, to, bare] = found
      out.push(text.slice(0, found.index))
      text = text.slice(found.index + all.length)
      if (code) out.push(make('code', { textContent: code }))
      else if (bold) out.push(make('strong', {}, ...inline(bold)))
      else if (italic) out.push(make('em', {}, ...inline(italic)))
      else out.push(make('a', { href: to || bare, textContent: label || bare, target: '_blank', rel: 'noopener noreferrer nofollow' }))
    }
    return [...out, text].filter((part) => part !== '')
  }
  const blocks = (text) => {
    const out = []
    const lines = text.split('\n')
    for (let i = 0; i < lines.length;) {
      const line = lines[i++]
      const item = /^\s*(?:([-*+])|(\d{1,9})[.)])\s+(.*)$/.exec(line)
      if (/^\s*```/.test(line)) {
        const code = []
        while (i < lines.length && !/^\s*```/.test(lines[i])) code.push(lines[i++])
        i++
        out.push(make('pre', { tabIndex: 0 }, make('code', { textContent: code.join('\n') })))
      } else if (item) {
        const last = out.at(-1)
        const kind = item[1] ? 'UL' : 'OL'
        const list = last?.tagName === kind ? last : make(kind, item[2] ? { start: +item[2] } : {})
        list.append(make('li', {}, ...inline(item[3])))
        if (list !== last) out.push(list)
      } else if (/^#{1,6}\s/.test(line)) {
        out.push(make('p', {}, make('strong', {}, ...inline(line.replace(/^#+\s+/, '')))))
      } else if (line.trim()) {
        const part = [line]
        while (i < lines.length && lines[i].trim() && !/^\s*(```|[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s)/.test(lines[i])) part.push(lines[i++])
        out.push(make('p', {}, ...inline(part.join('\n'))))
      }
    }
    return out
  }

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

  // Keeps a session alive from now on, and returns what sends with it. open gets another one if it has ended, as after
  // a sleep of the computer.
  const keep = (home, session, open, tell) => {
    let pause = 5
    const later = (seconds) => setTimeout(renew, seconds * 1000)
    const replaced = (next) => {
      session = next
      tell('renewed', session)
    }
    const renew = () => post(home, 'sessions/renew', undefined, session.session)
      .catch((e) => e.message === 'embed_session_invalid' ? open() : Promise.reject(e))
      .then((next) => {
        pause = 5
        replaced(next)
        later(due())
      }, (e) => {
        // Without a network, or beyond a limit, it tries again.
        if (['unreachable', 'rate_limited', 'internal', 'unavailable'].includes(e.message)) later(pause = Math.min(2 * pause, 60))
        else tell('refused', e.message)
      })
    const due = () => Math.max(session.expires_in_seconds * 0.8, 5)
    later(due())
    const say = (body, signal) => request(home, 'messages', body, session.session, signal)
    return (body, signal) => say(body, signal).catch(async (e) => {
      if (e.message !== 'embed_session_invalid') throw e
      replaced(await open())
      return say(body, signal)
    })
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

  // The messages and answers of this page, in its storage unless that is off or not allowed.
  const remember = (key) => {
    let turns = []
    try { turns = JSON.parse(key && localStorage.getItem(key)) || [] } catch {}
    const save = () => { try { key && localStorage.setItem(key, JSON.stringify(turns)) } catch {} }
    return {
      turns,
      add: (turn) => {
        turns.push(turn)
        turns.splice(0, turns.length - 50)
        save()
      },
      clear: () => {
        turns.splice(0)
        save()
      },
      // What is sent with a message, within the limits of the server.
      recent: () => {
        const out = []
        for (const { text, answer } of turns.slice(-20).reverse()) {
          out.unshift({ text, answer: answer.slice(0, 16000) })
          if (JSON.stringify(out).length > 50000) return out.slice(1)
        }
        return out
      },
    }
  }

  // Fills a card with a chat.
  const converse = (card, template, words, history, say, tell) => {
    const { name, avatar_url: avatar, greeting, conversation_starters: starters, replies } = template
    const face = avatar
      ? make('img', { className: 'face', src: avatar, alt: '', referrerPolicy: 'no-referrer' })
      : make('span', { className: 'face', ariaHidden: 'true', textContent: [...name][0].toUpperCase() })
    const header = make('header', {}, face, make('h2', { textContent: name, dir: 'auto' }))
    const list = make('ul', { className: 'starters', ariaLabel: words.starters }, ...starters.map((text) =>
      make('li', {}, make('button', { type: 'button', textContent: text, dir: 'auto', onclick: () => {
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
      return
    }

    const log = make('div', { className: 'log', role: 'log', tabIndex: 0, ariaLabel: words.log })
    const field = make('textarea', { rows: 1, maxLength: 4000, placeholder: words.write, ariaLabel: words.write, dir: words.dir, enterKeyHint: 'send' })
    const button = make('button', { type: 'submit', className: 'send', textContent: words.send })
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
      const body = make('div', { className: 'text', dir: 'auto' })
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
          if (type === 'delta') {
            answer += data.text
            drawing ??= setTimeout(draw, 40)
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
        said.append(make('p', { className: 'why', textContent: words[reasons[why] || 'failed'] }))
        actions.append(make('button', { type: 'button', className: 'plain', textContent: words.retry, onclick: () => {
          if (stopper) return
          said.remove()
          field.focus()
          answerTo(text)
        } }))
      } else tell('reply', answer)
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
  }

  // Puts a card behind a button in the corner.
  const launch = (root, card, words) => {
    const dot = make('span', { className: 'dot', hidden: true }, make('span', { className: 'hidden', textContent: words.fresh }))
    const label = make('span', { className: 'hidden', textContent: words.open })
    const bubble = make('button', { type: 'button', className: 'bubble', ariaExpanded: 'false', lang: words.lang, dir: words.dir }, label, dot)
    card.classList.add('floating')
    card.hidden = true
    card.id = 'chat'
    bubble.setAttribute('aria-controls', 'chat')
    const toggle = (open) => {
      card.hidden = !open
      bubble.ariaExpanded = String(open)
      label.textContent = open ? words.close : words.open
      if (open) {
        dot.hidden = true
        card.querySelector('textarea')?.focus()
      } else bubble.focus()
    }
    bubble.onclick = () => toggle(card.hidden)
    card.onkeydown = (e) => { if (e.key === 'Escape') toggle(false) }
    root.append(bubble)
    return () => { dot.hidden = !card.hidden }
  }

  // What a page says of light and dark. One that says nothing is light, whatever the visitor's system prefers.
  const schemeOf = (node) => getComputedStyle(node).colorScheme
    .replace('normal', document.querySelector('meta[name=color-scheme]')?.content || 'light')

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
      frame.src = new URL('embed/' + token + '#' + new URLSearchParams({
        scheme, lang: words.lang, ...tag.dataset.history && { history: tag.dataset.history }, ...visitor && { visitor }, ...signature && { signature },
      }), home)
      return
    }

    const host = make('div')
    const root = host.attachShadow({ mode: 'open' })
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(`/*style*/`)
    root.adoptedStyleSheets = [sheet]
    let notice = () => {}
    const tell = (type, detail) => {
      if (type === 'reply') notice()
      host.dispatchEvent(new CustomEvent('atrium:' + type, { detail, bubbles: true }))
    }
    const card = make('section', { className: 'atrium', ariaBusy: 'true', ariaLabel: 'Chat', dir: words.dir, lang: words.lang }, make('p', { role: 'status', textContent: words.loading }))
    root.append(card)
    if (launcher === 'bubble') notice = launch(root, card, words)
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
})()
