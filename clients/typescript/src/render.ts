import type { FieldError, PromptMessage, PromptVariable, RenderMode } from './api.gen.js'
import { MustacheError, type Node, parse } from './mustache.js'

/** What a prompt consists of: a version of the API has all of it. */
export interface RenderableVersion {
  text?: string
  messages?: PromptMessage[]
  format?: string
  variables?: PromptVariable[]
}

export interface RenderedPrompt {
  /** Of a text prompt. */
  text?: string
  /** Of a chat prompt. */
  messages?: PromptMessage[]
  /** Required variables without a value. */
  missing: string[]
  /** Names of values that the version does not use. */
  unused: string[]
}

/** A prompt that cannot be rendered with these values. The codes are those of `promptTemplates.render`. */
export class RenderError extends Error {
  override readonly name = 'RenderError'
  readonly code: 'missing_variables' | 'invalid_variables' | 'unsupported_syntax' | 'render_too_large'
  readonly errors: FieldError[]
  constructor(code: RenderError['code'], errors: FieldError[] = []) {
    super(`${code}${errors.map((e) => `; ${e.pointer}: ${e.detail}`).join('')}`)
    this.code = code
    this.errors = errors
  }
}

type Value = null | boolean | number | string | Value[] | { [name: string]: Value }
type Values = Map<string, Value>

const maxBytes = 1 << 20
const maxWork = 64 << 20 // as on the server: see domain/prompt/render.go
const bytes = (text: string) => new TextEncoder().encode(text).length
const roles = ['system', 'developer', 'user', 'assistant', 'tool']

interface Part {
  text: string
  nodes: Node[]
}

const parsed = new WeakMap<RenderableVersion, Part[]>()

function partsOf(version: RenderableVersion): Part[] {
  let parts = parsed.get(version)
  if (parts) return parts
  const texts = [...(version.text ? [version.text] : []), ...(version.messages ?? []).map((m) => m.content ?? '')]
  try {
    parts = texts.map((text) => ({
      text,
      nodes: version.format === 'none' ? [{ kind: 'literal', name: '', start: 0, end: text.length, nodes: [] }] : parse(text),
    }))
  } catch (e) {
    if (!(e instanceof MustacheError)) throw e
    throw new RenderError('unsupported_syntax', [{ pointer: '/text', code: 'unsupported_syntax', detail: e.message }])
  }
  parsed.set(version, parts)
  return parts
}

/** The declared variables, and those of placeholders. */
function variablesOf(version: RenderableVersion): (PromptVariable & { type: string })[] {
  const all = (version.variables ?? []).map((v) => ({ ...v, type: v.type ?? 'string', required: v.required ?? true }))
  for (const m of version.messages ?? []) {
    if (!m.placeholder) continue
    let v = all.find((v) => v.name === m.placeholder)
    if (!v) all.push((v = { name: m.placeholder, type: 'array', required: false }))
    v.required ||= m.required ?? false
  }
  return all
}

/**
 * Fills in the variables of a version, with the same result as the server, byte for byte. Values are inserted
 * unchanged: they are not escaped or expanded. In mode partial, the tags of required variables without a value are
 * kept. Throws RenderError.
 */
export function render(version: RenderableVersion, values: Record<string, unknown> = {}, mode: RenderMode = 'strict'): RenderedPrompt {
  const parts = partsOf(version)
  const variables = variablesOf(version)
  const given = JSON.parse(JSON.stringify(values)) as Record<string, Value>
  const errors: FieldError[] = []
  const wrong = (pointer: string, code: string, detail: string) => errors.push({ pointer: `/variables/${pointer}`, code, detail })
  const bound: Values = new Map()
  for (const [name, value] of Object.entries(given)) {
    if (value !== null && (variables.some((v) => v.name === name) || !name.includes('.'))) bound.set(name, value)
  }
  for (const v of variables) {
    const value = bound.get(v.name)
    if (value === undefined) {
      if (v.default !== undefined) bound.set(v.name, v.default as Value)
    } else if (typeOf(value) !== v.type) wrong(v.name, 'wrong_type', `Must be of type ${v.type}.`)
    else if (v.enum?.length && !v.enum.some((allowed) => encode(allowed as Value) === encode(value))) {
      wrong(v.name, 'not_allowed_value', 'Must be one of the values that the version allows.')
    }
  }
  const messages = version.messages ?? []
  const inserted = new Map<string, PromptMessage[]>()
  for (const { placeholder } of messages) {
    const list = placeholder ? bound.get(placeholder) : undefined
    if (placeholder && Array.isArray(list) && !inserted.has(placeholder)) {
      inserted.set(placeholder, list.map((item, i) => messageOf(item, `${placeholder}/${i}`, wrong)))
    }
  }
  const missing = variables.filter((v) => v.required && !bound.has(v.name)).map((v) => v.name)
  const invalid = errors.length > 0
  if (mode !== 'partial') for (const name of missing) wrong(name, 'required', 'Must be given.')
  if (errors.length > 0) throw new RenderError(invalid ? 'invalid_variables' : 'missing_variables', errors)

  const r = new Renderer(bound, new Set(missing))
  const out: RenderedPrompt = { missing, unused: unused(given, bound, version, parts) }
  if (parts.length > messages.length) out.text = r.render(parts[0] as Part)
  if (version.messages) out.messages = []
  messages.forEach((m, i) => {
    if (!m.placeholder) {
      out.messages?.push({ ...m, content: r.render(parts[parts.length - messages.length + i] as Part) })
    } else if (missing.includes(m.placeholder)) out.messages?.push(m)
    else {
      for (const message of inserted.get(m.placeholder) ?? []) {
        r.write((message.role ?? '') + (message.content ?? ''), false)
        r.spend(1024)
        out.messages?.push(message)
      }
    }
  })
  return out
}

function messageOf(item: Value, pointer: string, wrong: (pointer: string, code: string, detail: string) => void): PromptMessage {
  if (typeOf(item) !== 'object') {
    wrong(pointer, 'wrong_type', 'Must be an object with role and content.')
    return {}
  }
  const { role, content, ...rest } = item as { [name: string]: Value }
  if (role !== undefined && typeof role !== 'string') wrong(`${pointer}/role`, 'wrong_type', 'Must be a string.')
  else if (!role) wrong(`${pointer}/role`, 'required', 'Must be given with content.')
  else if (!roles.includes(role)) wrong(`${pointer}/role`, 'not_allowed_value', `Must be one of ${roles.join(', ')}.`)
  if (content !== undefined && typeof content !== 'string') wrong(`${pointer}/content`, 'wrong_type', 'Must be a string.')
  else if (!content) wrong(`${pointer}/content`, 'required', 'Must not be empty.')
  else if (content.includes('\0')) wrong(`${pointer}/content`, 'invalid_characters', 'Must not contain NUL.')
  if (Object.keys(rest).length > 0) wrong(pointer, 'unknown_field', 'Must have only role and content.')
  return { role: role as string, content: content as string }
}

function typeOf(value: Value): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

/** Compact JSON with sorted keys, as the server writes it. */
function encode(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(encode).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const keys = Object.keys(value).sort(byCodePoints)
    return `{${keys.map((k) => `${encode(k)}:${encode(value[k] as Value)}`).join(',')}}`
  }
  return JSON.stringify(value).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`)
}

/** The order of UTF-8. That of UTF-16, which sort uses, differs beyond U+FFFF. */
function byCodePoints(a: string, b: string): number {
  const [x, y] = [Array.from(a), Array.from(b)]
  for (let i = 0; i < x.length && i < y.length; i++) {
    const d = (x[i]?.codePointAt(0) ?? 0) - (y[i]?.codePointAt(0) ?? 0)
    if (d !== 0) return d
  }
  return x.length - y.length
}

/** A dotted name, and then the name without its last part, one part after another. */
function* prefixes(name: string): Generator<string> {
  for (let i = name.length; i >= 0; i = i > 0 ? name.lastIndexOf('.', i - 1) : -1) yield name.slice(0, i)
}

function unused(given: Record<string, Value>, bound: Values, version: RenderableVersion, parts: Part[]): string[] {
  const used = new Set((version.messages ?? []).map((m) => m.placeholder))
  const visit = (nodes: Node[]) => {
    for (const n of nodes) {
      for (const p of prefixes(n.name)) if (p !== '' && p in given) used.add(p)
      visit(n.nodes)
    }
  }
  for (const p of parts) visit(p.nodes)
  return Object.entries(given)
    .filter(([name, value]) => !used.has(name) || (value !== null && !bound.has(name)))
    .map(([name]) => name)
    .sort(byCodePoints)
}

class Renderer {
  private out: string[] = []
  private text = ''
  private items: Value[] = []
  private left = maxBytes
  private work = maxWork
  private readonly values: Values
  private readonly missing: Set<string>

  constructor(values: Values, missing: Set<string>) {
    this.values = values
    this.missing = missing
  }

  render(part: Part): string {
    this.text = part.text
    this.out = []
    this.nodes(part.nodes)
    return this.out.join('')
  }

  spend(work: number): void {
    this.work -= work
    if (this.work < 0) throw new RenderError('render_too_large')
  }

  write(text: string, keep = true): void {
    this.left -= bytes(text)
    if (this.left < 0) throw new RenderError('render_too_large')
    if (keep) this.out.push(text)
  }

  private nodes(nodes: Node[]): void {
    for (const n of nodes) this.node(n)
  }

  private node(n: Node): void {
    this.spend(32)
    const written = this.text.slice(n.start, n.end)
    if (n.kind === 'literal') return this.write(written)
    const found = this.lookup(n.name)
    if (found === undefined) return this.write(written) // a missing variable: its tag stays
    const { value } = found
    if (n.kind === 'value') this.print(value)
    else if (n.kind === 'inverted') {
      if (!truthy(value)) this.nodes(n.nodes)
    } else if (truthy(value)) {
      const outer = this.items
      for (const item of Array.isArray(value) ? value : [value]) {
        this.spend(16)
        this.items = [...outer, item]
        this.nodes(n.nodes)
      }
      this.items = outer
    }
  }

  /** Finds a name in the items of the sections, from the inside out, then among the variables. */
  private lookup(name: string): { value: Value } | undefined {
    if (name === '.') return { value: this.items.at(-1) ?? null }
    const [first = '', ...rest] = name.split('.')
    for (const item of [...this.items].reverse()) {
      this.work -= 16
      if (isObject(item)) {
        this.work -= 48 + first.length
        if (Object.hasOwn(item, first)) return { value: this.member(item[first] as Value, rest) }
      }
    }
    for (const p of prefixes(name)) {
      this.work -= 2 * (48 + p.length)
      if (this.missing.has(p)) return undefined
      const value = this.values.get(p)
      if (value !== undefined) {
        const path = name.slice(p.length + 1)
        return { value: this.member(value, path === '' ? [] : path.split('.')) }
      }
    }
    return { value: null }
  }

  private member(value: Value, path: string[]): Value {
    for (const name of path) {
      if (!isObject(value)) return null
      this.work -= 48 + name.length
      value = Object.hasOwn(value, name) ? (value[name] as Value) : null
    }
    return value
  }

  private print(value: Value): void {
    if (value === null) return
    if (typeof value === 'string') return this.write(value)
    const text = encode(value)
    if (typeof value !== 'number') this.spend(512 + 16 * bytes(text))
    this.write(text)
  }
}

const isObject = (value: Value): value is { [name: string]: Value } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

const truthy = (value: Value) => (Array.isArray(value) ? value.length > 0 : isObject(value) || Boolean(value))
