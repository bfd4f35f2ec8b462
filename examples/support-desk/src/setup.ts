import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { type Atrium, AtriumError, type Connection } from '@atrium-hq/client'

/** The prompt that answers are written with. Activate another version of it, and the next answers use that. */
export const answerPrompt = 'support-desk/answer'
export const answerText = 'You asked: “{{question}}”\n\n{{article}}\n\n' +
  '{{#at_desk}}A colleague is here too, and reads along.{{/at_desk}}' +
  '{{^at_desk}}Our colleagues are back at nine.{{/at_desk}}'

/** What is kept between two starts: what the desk made in the workspace, and the secrets that it shares with Atrium. */
export interface Desk {
  replySecret: string
  chat?: string
  embedToken?: string
  visitorSecret?: string
  hookSecret?: string
}

/** Reads what an earlier start kept. */
export async function load(file: string): Promise<Desk> {
  const fresh = { replySecret: `whsec_${randomBytes(32).toString('base64')}` } // as Standard Webhooks describes
  return readFile(file, 'utf8').then(JSON.parse, () => fresh)
}

/**
 * Makes what the desk needs, unless an earlier start did: a prompt, a connection to this server, a chat, an embed token
 * and a webhook. Atrium tries the connection, so the server must listen.
 */
export async function setUp(atrium: Atrium, desk: Desk, site: string, file: string): Promise<void> {
  if (desk.chat && (await exists(atrium, desk.chat))) return
  try {
    await atrium.promptTemplates.create({
      name: answerPrompt,
      description: 'How the support desk answers the visitors of its shop.',
      version: { text: answerText, activate: true },
    })
  } catch (e) {
    if (!AtriumError.is(e, 'name_taken')) throw e // it is there already
  }
  const here = site.replace('localhost', '127.0.0.1')
  const connection = (await atrium.connections.create({
    kind: 'reply_endpoint',
    name: 'Support desk',
    credential: { url: `${here}/reply`, signing_secret: desk.replySecret },
  })) as Connection // without dry_run, it is one
  const chat = await atrium.chatTemplates.create({
    name: 'Support desk',
    status: 'published',
    greeting: 'Hello! Ask us about your order.',
    conversation_starters: ['Where is my order?', 'How do I send something back?'],
    instructions: 'You answer the customers of a small shop. Be brief and friendly.',
    reply: { kind: 'http', connection_id: connection.id },
  })
  const embed = await atrium.chatTemplates.embedTokens.create(chat.id, { name: 'The shop', allowed_origins: [site] })
  const hook = await atrium.webhooks.create({
    url: `${here}/hook`,
    description: 'What happens, for the desk',
    events: ['prompt_template.*', 'chat_template.*'],
  })
  desk.chat = chat.id
  desk.embedToken = embed.token
  desk.visitorSecret = embed.visitor_secret
  desk.hookSecret = hook.secret
  await writeFile(file, JSON.stringify(desk), { mode: 0o600 })
}

async function exists(atrium: Atrium, chat: string): Promise<boolean> {
  return atrium.chatTemplates.get(chat).then(
    () => true,
    (e) => {
      if (AtriumError.is(e, 'chat_template_not_found')) return false
      throw e
    },
  )
}
