import { Resources } from './api.gen.js'
import { Core, logged, type Settings } from './core.js'
import { Prompts } from './prompts.js'

export * from './api.gen.js'
export {
  type Attempt,
  type Logger,
  type Options,
  type Outcome,
  type Page,
  type ResponseInfo,
  responseOf,
  type ServerEvent,
  type Settings,
  version,
} from './core.js'
export { AtriumConnectionError, AtriumError, NotModifiedError } from './errors.js'
export { type Fallback, type Prompt, type PromptMessages, type PromptOptions, Prompts, type PromptText } from './prompts.js'
export { type Heartbeats, keepPresence, type PresenceSettings } from './presence.js'
export { render, type RenderableVersion, RenderError, type RenderedPrompt } from './render.js'
export { SecretError } from './secret.js'
export { signVisitor } from './visitor.js'
export { verifyWebhook, WebhookError } from './webhook.js'

/**
 * Calls one Atrium server with one credential.
 *
 *     const atrium = new Atrium({ baseURL: 'https://atrium.example.com', token: process.env.ATRIUM_KEY })
 *     const template = await atrium.promptTemplates.get(id)
 *     for await (const event of atrium.events.list()) console.log(event.type)
 *
 * Every method of a resource is one operation of the API. Calls that may be repeated are repeated: a call that creates
 * or changes something has an Idempotency-Key, the same for each attempt, so that it takes effect once.
 */
export class Atrium extends Resources {
  /** Prompts from memory, as applications need them. */
  readonly prompts: Prompts

  constructor(settings: Settings = {}) {
    const { logger = console } = settings
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
    super(new Core(process?.env?.['ATRIUM_CLIENT_LOG'] === 'debug' ? logged(settings, logger) : settings))
    this.prompts = new Prompts(this.promptTemplates, (text) => logger.warn(text))
  }
}
