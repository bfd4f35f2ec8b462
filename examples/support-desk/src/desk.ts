// The page of colleagues: shows what the server tells.
interface Told {
  kind: 'presence' | 'question' | 'event'
  text: string
}

const byId = (id: string) => document.getElementById(id)!

new EventSource('/feed').onmessage = (message) => {
  const told = JSON.parse(message.data) as Told
  if (told.kind === 'presence') {
    byId('presence').textContent = told.text
    return
  }
  const line = document.createElement('li')
  line.textContent = told.text
  byId(`${told.kind}s`).prepend(line)
}
