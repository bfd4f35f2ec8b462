// A program that receives webhooks, as a user of Atrium writes it with the public library of Standard Webhooks. Its
// argument is the folder in which that is installed. It prints its URL, reads the secret, and prints one line of JSON for
// each webhook: what it is, and the errors by which the library refuses it, also after somebody has changed it.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const { Webhook } = createRequire(process.argv[2] + '/')('standardwebhooks')

const secret = new Promise((resolve) => createInterface({ input: process.stdin }).once('line', resolve))

function refusal(key, body, headers) {
  try {
    new Webhook(key).verify(body, headers)
    return ''
  } catch (error) {
    return `${error.constructor.name}: ${error.message}`
  }
}

const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request.setEncoding('utf8')) body += part
  const key = await secret
  const id = request.headers['webhook-id']
  const past = new Date(Date.now() - 301_000) // the library accepts five minutes
  const old = {
    ...request.headers,
    'webhook-timestamp': String(Math.floor(past.getTime() / 1000)),
    'webhook-signature': new Webhook(key).sign(id, past, body),
  }
  console.log(JSON.stringify({
    type: JSON.parse(body).type,
    id,
    asSent: refusal(key, body, request.headers),
    otherSecret: refusal('whsec_' + Buffer.alloc(32, 7).toString('base64'), body, request.headers),
    old: refusal(key, body, old),
    altered: refusal(key, body.replace('"seq":', '"seq":1'), request.headers),
  }))
  response.writeHead(204).end()
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/hook`))
