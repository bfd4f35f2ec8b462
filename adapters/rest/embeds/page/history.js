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
