import type { PromptMessage, PromptRolloutArm, PromptTemplatesResource, PromptVersion, RenderMode, ResolveRef } from './api.gen.js'
import { AtriumConnectionError, AtriumError } from './errors.js'
import { type RenderableVersion, type RenderedPrompt, render } from './render.js'

export type PromptText = string
export type PromptMessages = PromptMessage[]

export type Fallback = PromptText | PromptMessages | RenderableVersion

export interface PromptOptions {
  /** The id of a version, a label, active (the default), latest, or a number such as v12. */
  ref?: string
  /** Who reads, such as the id of your user: while a rollout of the label runs, the same key gets the same version. */
  key?: string
  /** The prompt if there is no other: a text, messages, a version, or a function that returns one of these. */
  fallback?: Fallback | (() => Fallback | Promise<Fallback>)
  /** Milliseconds after which the fallback is used if the server has not answered: 2000 by default. */
  fallbackAfter?: number
  /** Seconds for which a prompt is used without asking the server again: 60 by default. */
  ttl?: number
  /** Seconds for which a prompt is used although the server cannot confirm it: 86400 by default. */
  maxStale?: number
  workspace?: string
}

/** A prompt, ready to be rendered. */
export interface Prompt {
  readonly name: string
  readonly ref: string
  /** undefined for the fallback. */
  readonly version: PromptVersion | undefined
  readonly isFallback: boolean
  /** Why the server did not confirm this prompt, if it did not. */
  readonly error: unknown
  /** Fills in variables on this machine, with the same result as the server. Throws RenderError. */
  render(variables?: Record<string, unknown>, mode?: RenderMode): RenderedPrompt
}

interface Answer {
  etag: string
  version: PromptVersion
  /** While a rollout of the label runs. */
  rollout: { seed: string; arms: (PromptRolloutArm & { version: PromptVersion })[] } | undefined
}

interface Entry extends Answer {
  confirmed: number // when the server last confirmed it
  asked: number // when the server was last asked
  error: unknown
  refreshing: Promise<void> | undefined
}

/** How long a failed question is not repeated, in milliseconds. */
const pause = 5000

/** The version that the server chooses for the same key. */
async function chosen({ version, rollout }: Answer, key = ''): Promise<PromptVersion> {
  if (!rollout || key === '') return version
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${rollout.seed}\0${key}`))
  const slot = Number(new DataView(sum).getBigUint64(0) % 100n)
  return (rollout.arms.find((arm) => arm.slots.includes(slot)) ?? rollout.arms[0])?.version ?? version
}

/** Prompts, kept in memory. */
export class Prompts {
  readonly #templates: PromptTemplatesResource
  readonly #entries = new Map<string, Entry>()
  readonly #loading = new Map<string, Promise<Entry>>()
  readonly #failures = new Map<string, { error: unknown; time: number }>() // of calls with a fallback

  readonly #warn: (text: string) => void
  #warned = false // in this outage

  constructor(templates: PromptTemplatesResource, warn: (text: string) => void) {
    this.#templates = templates
    this.#warn = warn
  }

  /**
   * Returns a prompt by its name. The first call asks the server. Later calls return the prompt in memory: at once, and
   * after `ttl` seconds while it is refreshed in the background. In an outage, the prompt in memory is used for up to
   * `maxStale` seconds, then `fallback`: after `fallbackAfter` milliseconds, and at once for 5 seconds after that. A
   * prompt that was deleted, or that the credential may no longer read, is removed from memory. Without a fallback, throws
   * what promptTemplates.resolve throws. The versions of a rollout are in memory too, so that no `key` needs the server.
   */
  async get(name: string, options: PromptOptions = {}): Promise<Prompt> {
    const ref = options.ref ?? 'active'
    const key = JSON.stringify([options.workspace ?? '', name, ref])
    const ttl = (options.ttl ?? 60) * 1000
    const limit = ttl + (options.maxStale ?? 86_400) * 1000
    let entry = this.#entries.get(key)
    const age = entry ? Date.now() - entry.confirmed : limit
    if (entry && age >= ttl && age < limit && Date.now() - entry.asked >= Math.min(ttl, pause)) {
      void this.#refresh(key, entry, name, ref, options)
    }
    try {
      if (!entry || age >= limit) entry = await this.#loadInTime(key, name, ref, options)
    } catch (e) {
      return this.#fallback(name, ref, options, e)
    }
    const { error } = entry
    const version = await chosen(entry, options.key)
    return { name, ref, version, isFallback: false, error, render: (v, mode) => render(version, v, mode) }
  }

  /** Forgets the prompts in memory, so that the next get asks the server: for a webhook that tells of a change. */
  clear(): void {
    this.#entries.clear()
    this.#failures.clear()
  }

  async #fallback(name: string, ref: string, options: PromptOptions, error: unknown): Promise<Prompt> {
    if (options.fallback === undefined) throw error
    const fallback = typeof options.fallback === 'function' ? await options.fallback() : options.fallback
    const version: RenderableVersion =
      typeof fallback === 'string' ? { text: fallback } : Array.isArray(fallback) ? { messages: fallback } : fallback
    if (!this.#warned) this.#warn(`Atrium: the prompt ${name} is replaced by its fallback: ${error}`)
    this.#warned = true
    return { name, ref, version: undefined, isFallback: true, error, render: (v, mode) => render(version, v, mode) }
  }

  /** Loads a prompt. With a fallback, it gives up soon, and at once if it has just failed. */
  async #loadInTime(key: string, name: string, ref: string, options: PromptOptions): Promise<Entry> {
    const loading = () => this.#load(key, name, ref, options)
    if (options.fallback === undefined) return loading()
    const failure = this.#failures.get(key)
    if (failure && Date.now() - failure.time < pause) throw failure.error
    let timer: ReturnType<typeof setTimeout> | undefined
    const limit = options.fallbackAfter ?? 2000
    const late = new Promise<never>((_, reject) => {
      const error = new AtriumConnectionError('prompts.get', `no answer within ${limit} ms`)
      timer = setTimeout(() => reject(error), limit)
    })
    try {
      return await Promise.race([loading(), late])
    } catch (error) {
      for (const [k, { time }] of this.#failures) if (Date.now() - time >= pause) this.#failures.delete(k)
      this.#failures.set(key, { error, time: Date.now() })
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async #load(key: string, name: string, ref: string, options: PromptOptions): Promise<Entry> {
    let loading = this.#loading.get(key)
    if (!loading) {
      loading = this.#resolve(name, ref, options)
        .then((answer) => {
          const entry = { ...answer, confirmed: Date.now(), asked: Date.now(), error: undefined, refreshing: undefined }
          this.#entries.set(key, entry)
          this.#failures.delete(key)
          this.#warned = false
          return entry
        })
        .catch((e) => {
          this.#forget(key, e)
          throw e
        })
        .finally(() => this.#loading.delete(key))
      this.#loading.set(key, loading)
    }
    return loading
  }

  /** Asks the server whether entry is still right. Never throws. */
  #refresh(key: string, entry: Entry, name: string, ref: string, options: PromptOptions): Promise<void> {
    entry.asked = Date.now()
    entry.refreshing ??= this.#resolve(name, ref, options)
      .then(({ etag, version, rollout }) => {
        if (etag !== entry.etag) Object.assign(entry, { etag, version })
        entry.rollout = rollout
        entry.confirmed = Date.now()
        entry.error = undefined
      })
      .catch((e) => {
        entry.error = e
        this.#forget(key, e)
      })
      .finally(() => {
        entry.refreshing = undefined
      })
    return entry.refreshing
  }

  #forget(key: string, e: unknown): void {
    if (e instanceof AtriumError && [401, 403, 404].includes(e.status)) this.#entries.delete(key)
  }

  async #resolve(name: string, ref: string, { workspace }: PromptOptions): Promise<Answer> {
    const resolve = async (refs: ResolveRef[]) => (await this.#templates.resolve({ refs }, { workspace })).data
    const { prompt_template_id, version, etag, error, rollout } = (await resolve([{ name, ref }]))[0] ?? {}
    if (version && etag) {
      if (!rollout) return { version, etag, rollout }
      const others = rollout.versions.filter((arm) => arm.version_id !== version.id)
      const found = others.length > 0 ? await resolve(others.map((arm) => ({ prompt_template_id, ref: arm.version_id }))) : []
      // A version that was deleted since, with the end of the rollout, is replaced by the one that has the label.
      const versionOf = (id: string) => found.find((item) => item.version?.id === id)?.version ?? version
      const arms = rollout.versions.map((arm) => ({
        ...arm,
        version: { ...versionOf(arm.version_id), rollout: { label: ref, weight: arm.weight } },
      }))
      return { version, etag, rollout: { seed: rollout.seed, arms } }
    }
    const code = error?.code ?? 'unexpected_response'
    throw new AtriumError('prompts.get', {
      type: `/problems/${code}`,
      title: 'The prompt cannot be used',
      status: 404,
      detail: error?.detail ?? 'The response has no version.',
      code,
      request_id: '',
    })
  }
}
