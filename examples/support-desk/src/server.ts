// A support desk beside Atrium: the shop's page with a chat, the program that answers it, and the desk of colleagues.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { Atrium, keepPresence, signVisitor, verifyWebhook, type WebhookPayload } from '@atrium-hq/client'
import { answerPrompt, answerText, load, setUp } from './setup.js'

const url = process.env.ATRIUM_URL ?? 'http://127.0.0.1:8080'
const token = process.env.ATRIUM_KEY
if (!token) throw new Error('Set ATRIUM_KEY to an API key of an admin. make run prints one.')
const port = Number(process.env.PORT ?? 3000)
const site = `http://localhost:${port}`
const atrium = new Atrium({ baseURL: url, token })

const articles = [
  { about: /order|parcel|deliver/i, text: 'Orders leave us within a day. The link in your mail shows where yours is.' },
  { about: /back|return|refund/i, text: 'Send it back within 30 days. The label is in the parcel.' },
]
const unknown = 'I do not know that. I passed your question on.'

// The pages of colleagues that are open. Each gets what happens as server-sent events.
const desks = new Set<ServerResponse>()
const tell = (what: object) => desks.forEach((desk) => desk.write(`data: ${JSON.stringify(what)}\n\n`))
let presence: ReturnType<typeof keepPresence> | undefined

/** Who opens the desk is online in Atrium until the last page is closed. */
function open(response: ServerResponse) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  desks.add(response)
  presence ??= keepPresence(atrium.presence, {
    device_id: 'support-desk',
    onPresence: ({ status }) => tell({ kind: 'presence', text: status }),
    onError: (e) => tell({ kind: 'presence', text: `unknown: ${e}` }),
  })
  response.on('close', () => {
    desks.delete(response)
    if (desks.size > 0) return
    presence?.stop()
    presence = undefined
  })
}

interface ChatMessage {
  type: 'ping' | 'chat.message'
  visitor?: string
  visitor_signed?: boolean
  messages: { role: 'user' | 'assistant'; content: string }[]
}

/** Answers a visitor. Atrium has signed the request, and streams the answer to the page. */
async function reply(request: IncomingMessage, response: ServerResponse, secret: string) {
  const message = await verifyWebhook<ChatMessage>(await body(request), request.headers, secret)
  if (message.type === 'ping') return response.end()
  const question = message.messages.at(-1)?.content ?? ''
  tell({ kind: 'question', text: `${message.visitor_signed ? message.visitor : 'Somebody'}: ${question}` })
  // A product asks its model here, with the instructions and messages of the request.
  const prompt = await atrium.prompts.get(answerPrompt, { fallback: answerText }) // from memory
  const article = articles.find((a) => a.about.test(question))?.text ?? unknown
  const { text = '' } = prompt.render({ question, article, at_desk: desks.size > 0 })
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const word of text.split(/(?<=\s)/)) {
    response.write(`data: ${JSON.stringify({ text: word })}\n\n`)
    await sleep(15)
  }
  response.end('data: [DONE]\n\n')
}

/** Shows an event of the workspace at the desk. A version that went live is used by the next answers. */
async function hook(request: IncomingMessage, response: ServerResponse, secret = '') {
  const event = await verifyWebhook<WebhookPayload>(await body(request), request.headers, secret)
  if (event.type === 'prompt_template.activated') await atrium.prompts.get(answerPrompt, { ttl: 0 })
  tell({ kind: 'event', text: `${event.type} ${event.data.subject.id}` })
  response.writeHead(204).end()
}

async function body(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request) {
    size += part.length
    if (size > 1 << 20) throw new Error('the body is larger than 1 MiB')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

async function page(response: ServerResponse, name: string, type: string, fill: Record<string, string> = {}) {
  const text = await readFile(new URL(`../${name}`, import.meta.url), 'utf8')
  response.writeHead(200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Security-Policy':
      `default-src 'self'; script-src 'self' ${url}; connect-src 'self' ${url}; img-src * data:`,
  })
  response.end(text.replace(/\{\{(\w+)\}\}/g, (_, key) => fill[key] ?? ''))
}

/** The shop. Its visitors have no names here: a product signs the id of the person who is signed in. */
async function shop(response: ServerResponse) {
  const [visitor, signature] = ['customer-42', await signVisitor(desk.visitorSecret ?? '', 'customer-42')]
  await page(response, 'public/shop.html', 'text/html', { url, token: desk.embedToken ?? '', visitor, signature })
}

const file = fileURLToPath(new URL('../.support-desk.json', import.meta.url))
const desk = await load(file)

const server = createServer(async (request, response) => {
  try {
    switch (`${request.method} ${request.url}`) {
      case 'GET /': return await shop(response)
      case 'GET /desk': return await page(response, 'public/desk.html', 'text/html')
      case 'GET /desk.js': return await page(response, 'dist/desk.js', 'text/javascript')
      case 'GET /style.css': return await page(response, 'public/style.css', 'text/css')
      case 'GET /feed': return open(response)
      case 'POST /reply': return await reply(request, response, desk.replySecret)
      case 'POST /hook': return await hook(request, response, desk.hookSecret)
      default: response.writeHead(404).end()
    }
  } catch (e) {
    console.error(`${request.method} ${request.url}: ${e}`)
    if (!response.headersSent) response.writeHead(400)
    response.end()
  }
})
await once(server.listen(port, '127.0.0.1'), 'listening')
await setUp(atrium, desk, site, file)
console.log(`The shop: ${site}/\nThe desk: ${site}/desk`)
