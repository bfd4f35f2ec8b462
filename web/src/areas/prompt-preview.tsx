import { type PromptMessage, type PromptVariable, type PromptVersion, render, type RenderedMessage, RenderError, type RenderedPrompt } from '@atrium-hq/client'
import { useDeferredValue, useMemo, useState } from 'react'
import { t } from '../text'
import { words } from '../text/prompts'
import { LongText } from '../ui/basics'
import { Input } from '../ui/form'

/** What a version says. */
export type Content = { text: string } | { messages: PromptMessage[] }

/** The texts of a message. */
export const textsOf = ({ content }: PromptMessage): string[] => typeof content === 'string'
  ? [content]
  : (content ?? []).flatMap((part) => part.type === 'text' ? [part.text ?? ''] : [])

/** What a message has besides its role and texts, as JSON: other parts, a name, tool calls. Empty if there is nothing. */
export function restOf(message: RenderedMessage): string {
  const { content } = message
  const rest = Object.fromEntries(Object.entries(message).filter(([name]) => name !== 'role' && name !== 'content'))
  const parts = Array.isArray(content) ? (content as unknown[]).filter((part) => (part as { type?: unknown } | null)?.type !== 'text') : []
  return [...parts, ...(Object.keys(rest).length > 0 ? [rest] : [])].map((value) => JSON.stringify(value, null, 2)).join('\n')
}

/** A message as people read it. */
export const readableOf = (m: RenderedMessage): string => m.placeholder !== undefined && m.role === undefined
  ? ''
  : [...(m.content !== undefined ? textsOf(m as PromptMessage) : []), restOf(m)].filter((text) => text !== '').join('\n')

/** A text that is JSON where the variable wants that. */
function valueOf(text: string, type: string | undefined): unknown {
  if (type === 'string') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/**
 * The declared variables, and those that only the draft uses. Names within a section can be those of its items, and need
 * no declaration.
 */
export function variablesOf(version: PromptVersion, draft: Content | undefined): PromptVariable[] {
  if (!draft || version.format === 'none') return version.variables
  const found = new Set<string>()
  for (const text of 'text' in draft ? [draft.text] : draft.messages.flatMap(textsOf)) {
    let depth = 0
    for (const [, sign, name] of text.matchAll(/\{\{\s*([#^/&]?)\s*([A-Za-z_][\w.]*)\s*\}\}/g)) {
      if (sign === '/') depth--
      else if (depth === 0) found.add(name!.split('.')[0]!)
      if (sign === '#' || sign === '^') depth++
    }
  }
  const added = [...found].filter((name) => !version.variables.some((v) => v.name.split('.')[0] === name))
  return [...version.variables, ...added.map((name) => ({ name, type: 'any', required: true }))]
}

/** Whether somebody has declared the variables: otherwise the server finds them in each new text. */
export const declared = (version: PromptVersion) =>
  version.variables.some((v) => v.type !== 'any' || v.description || v.default !== undefined || v.enum?.length)

/** A text or messages, as applications get them. */
export function Said({ text, messages }: { text: string | undefined; messages: RenderedMessage[] | undefined }) {
  return (
    <div className="rounded-md border border-line bg-card p-3">
      {text === undefined
        ? messages?.map((m, i) => (
          <div key={i} className="mb-2 last:mb-0"><b>{m.role ?? String(m.placeholder ?? '')}</b><LongText text={readableOf(m)} /></div>
        ))
        : <LongText text={text} />}
    </div>
  )
}

/** What applications get, as the page renders it itself: of the draft, if there is one. */
export function Preview({ version, draft }: { version: PromptVersion; draft?: Content }) {
  const [values, setValues] = useState<Record<string, string>>({})
  const settled = useDeferredValue(values) // a long text takes longer to render than the next key takes to come
  const variables = useMemo(() => variablesOf(version, draft), [version, draft])
  const whole = useMemo(() => ({ ...(draft ?? version), format: version.format, variables }), [version, draft, variables])
  const shown = useMemo((): RenderedPrompt | RenderError => {
    const given = Object.entries(settled).filter(([name, v]) => v !== '' && variables.some((x) => x.name === name))
    try {
      return render(
        whole, Object.fromEntries(given.map(([name, v]) => [name, valueOf(v, variables.find((x) => x.name === name)?.type)])),
        'partial',
      )
    } catch (e) {
      if (e instanceof RenderError) return e
      throw e
    }
  }, [whole, variables, settled])
  return (
    <section className="min-w-0" aria-label={words.preview}>
      <h2 className="m-0 mb-2 flex min-h-8 items-center text-base font-semibold">{draft ? t.previewOfDraft : words.previewOfVersion(version.number)}</h2>
      {variables.map((v) => (
        <Input
          key={v.name} label={v.name} aria-required={v.required} hint={v.description}
          value={values[v.name] ?? ''} placeholder={v.type === 'any' ? undefined : v.type}
          onChange={(e) => setValues({ ...values, [v.name]: e.target.value })}
        />
      ))}
      {shown instanceof RenderError
        ? (
          <ul role="alert" className="m-0 list-none p-0 text-bad">
            {shown.errors.map((e) => <li key={e.pointer + e.detail}>{e.pointer.split('/').pop()}: {e.detail}</li>)}
            {shown.errors.length === 0 && <li>{t.notRendered}</li>}
          </ul>
        )
        : (
          <>
            <Said text={shown.text} messages={shown.messages} />
            {shown.missing.length > 0 && <p className="text-warn">{words.missingMissingMissing(shown.missing.join(', '))}</p>}
          </>
        )}
    </section>
  )
}
