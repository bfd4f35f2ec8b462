// How long a message stays in the browser, in milliseconds: 30 days.
const kept = 30 * 86400e3

// What a browser keeps of a chat under a key, for one visitor (owner): nobody else's chat can read it, and to write
// replaces what another visitor left. Without a key, or if the browser stores nothing, it lasts as long as the page.
const slot = (area, key, owner) => {
  let store
  let memory
  try { store = key && window[area] } catch {}
  const stored = () => { try { return JSON.parse(store.getItem(key)) || {} } catch { return {} } }
  const read = () => store ? stored().owner === owner ? stored().value : undefined : memory
  const remove = () => { try { store?.removeItem(key) } catch {} }
  return {
    key,
    read,
    write: (value) => {
      memory = value
      try { store && store.setItem(key, JSON.stringify({ owner, value })) } catch { store = undefined }
    },
    clear: () => {
      memory = undefined
      if (stored().owner === owner) remove()
    },
    // Removes what another visitor left.
    claim: () => { if (stored().owner !== owner) remove() },
  }
}

// Removes what earlier releases kept under key, of every visitor.
const forgetEarlier = (key) => ['localStorage', 'sessionStorage'].forEach((area) => {
  const earlier = 'atrium ' + key.split(' ').slice(1, 3).join(' ')
  try { Object.keys(window[area]).forEach((k) => key && k.startsWith(earlier) && window[area].removeItem(k)) } catch {}
})

// A random name of 32 hexadecimal digits. Pages without TLS have no crypto.randomUUID.
const randomName = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('')

// The turns of a conversation, which all tabs of a browser share. A turn has an id, the visitor's text and the moment
// at which it was sent. live is the latest moment at which a page was getting its answer; why is the reason why the
// answer is not whole.
const remember = (place) => {
  const load = () => {
    const { name, turns = [] } = place.read() || {}
    return { name, turns: turns.filter((turn) => turn.at > Date.now() - kept) }
  }
  const add = (turn) => {
    const { name = randomName(), turns } = load()
    place.write({ name, turns: [...turns, turn].slice(-50) })
  }
  if (!load().turns.length) place.clear() // it has expired
  return {
    key: place.key,
    turns: () => load().turns,
    conversation: () => load().name,
    add,
    // Replaces a turn, unless it was cleared.
    update: (turn) => {
      const { name, turns } = load()
      const i = turns.findIndex(({ id }) => id === turn.id)
      if (i >= 0) place.write({ name, turns: turns.with(i, turn) })
    },
    clear: place.clear,
    // What is sent with a turn: the turns before it that the visitor has an answer to, within the limits of the server.
    before: (turn) => {
      const turns = load().turns
      const end = turns.findIndex(({ id }) => id === turn.id)
      const out = []
      for (const { text, answer } of turns.slice(0, end).filter(answered).slice(-20).reverse()) {
        out.unshift({ text, answer: answer.slice(0, 16000) })
        if (JSON.stringify(out).length > 50000) return out.slice(1)
      }
      return out
    },
  }
}
const answered = ({ answer, why, live }) => answer && !live && (!why || why === 'stopped')
