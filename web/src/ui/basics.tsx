import { AtriumError, type FieldError } from '@atrium-hq/client'
import { type ComponentProps, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { signInAgain } from '../api'
import { t } from '../text'
import { CopyIcon, DoneIcon } from './icons'
import { ShownError } from './shown-error'
import { useTitle } from './title'

const tones = {
  plain: 'border border-line bg-card text-ink shadow-xs hover:bg-hover',
  act: 'border border-act bg-act text-on shadow-xs hover:opacity-90',
  danger: 'border border-bad bg-bad text-card shadow-xs hover:opacity-90',
  quiet: 'border border-transparent text-act hover:bg-hover',
}

export type Tone = keyof typeof tones

export function Button({ tone = 'plain', className = '', ...rest }: ComponentProps<'button'> & { tone?: Tone }) {
  return (
    <button
      type="button"
      {...rest}
      className={`inline-flex cursor-pointer items-center justify-center gap-1.5 rounded-md px-3 py-1.5 text-sm font-medium
        whitespace-nowrap disabled:cursor-default disabled:opacity-50 ${tones[tone]} ${className}`}
    />
  )
}

/** A button that is a picture. Its label is what screen readers say, and people see when they point at it. */
export function IconButton({ label, className = '', ...rest }: ComponentProps<'button'> & { label: string }) {
  return (
    <button
      type="button" aria-label={label} title={label} {...rest}
      className={`inline-flex size-8 shrink-0 cursor-pointer items-center justify-center rounded-md text-soft
        hover:bg-hover hover:text-ink ${className}`}
    />
  )
}

const pills = {
  plain: 'bg-hover text-soft', ok: 'bg-okbg text-ok', warn: 'bg-warnbg text-warn', bad: 'bg-badbg text-bad',
  mark: 'bg-markbg text-act',
}

export function Pill({ tone = 'plain', children }: { tone?: keyof typeof pills; children: ReactNode }) {
  return <span className={`inline-block rounded-full px-2 py-0.5 text-xs whitespace-nowrap ${pills[tone]}`}>{children}</span>
}

/** What went wrong, in words, with the page of the error. What a field on the screen says of itself is not repeated. */
export function Problem({ error }: { error: unknown }) {
  const box = useRef<HTMLDivElement>(null)
  const [beside, setBeside] = useState('') // the places of the errors that fields show
  const errors = AtriumError.is(error) ? error.errors : []
  // Fields get their errors in the same step: before it is painted, the page tells which of them it has.
  const look = () => setBeside(shownBeside(box.current, errors).join())
  useLayoutEffect(look)
  if (!error) return null
  const known = AtriumError.is(error)
  const shown = beside.split(',')
  const others = errors.filter((_, i) => !shown.includes(String(i)))
  return (
    <div ref={box} role="alert" className="my-3 rounded-md border border-bad bg-badbg px-3 py-2 text-sm text-bad">
      <p className="m-0">{error instanceof ShownError ? error.message : !known ? t.unreachable : others.length < errors.length ? t.correctFields : error.detail}</p>
      {known && others.length > 0 && (
        <ul className="m-0 mt-1 list-disc ps-5">
          {others.map((e) => <li key={e.pointer + e.code}>{e.pointer && <>{inWords(e.pointer)}: </>}{e.detail}</li>)}
        </ul>
      )}
      {known && (
        <p className="m-0 mt-1 text-xs">
          <a className="text-bad" href={new URL('../problems/' + error.code, document.baseURI).href} target="_blank" rel="noopener">
            {error.code}
          </a>{' '}
          · {error.requestId}
        </p>
      )}
      {known && (error.code === 'step_up_required' || error.code === 'second_factor_required') && (
        <Button className="mt-2" onClick={signInAgain}>{t.signInAgain}</Button>
      )}
    </div>
  )
}

/** A JSON Pointer as people read it: /allowed_origins/0 is "allowed origins 1". */
function inWords(pointer: string) {
  return pointer.split('/').slice(1).map((part) => /^\d+$/.test(part) ? String(Number(part) + 1) : part.replaceAll('_', ' ')).join(' ')
}

/** The member of the body that an error is about, without its place in a list. */
const memberOf = (pointer: string) => pointer.split('/').findLast((part) => !/^\d+$/.test(part)) ?? ''

/** The places of the errors that visible fields show. A field without the name of a member can show those that no named field has. */
function shownBeside(box: HTMLElement | null, errors: readonly FieldError[]): number[] {
  if (errors.length === 0) return []
  const scope = box?.closest('[role=dialog]') ?? box?.closest('main') ?? document
  const fields = [...scope.querySelectorAll<HTMLElement>('[aria-invalid=true], [data-wrong]')].filter((e) => e.checkVisibility()).map((e) => ({
    name: e.getAttribute('name')?.split('.').at(-1),
    says: [e, ...(e.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id))].map((x) => x?.textContent).join(' '),
  }))
  const members = new Set(errors.map((e) => memberOf(e.pointer)))
  const others = fields.filter((f) => f.name === undefined || !members.has(f.name))
  return errors.flatMap((e, i) => {
    const own = fields.filter((f) => f.name === memberOf(e.pointer))
    return (own.length > 0 ? own : others).some((f) => f.says.includes(e.detail)) ? [i] : []
  })
}

/** The errors of a call by the member of the body that they are about, of those pointers that have fields of that name. */
export function fieldErrors(error: unknown, has: (pointer: string) => boolean = () => true): Record<string, string> {
  const found: Record<string, string> = {}
  if (!AtriumError.is(error)) return found
  for (const { pointer, detail } of error.errors.filter((e) => has(e.pointer))) {
    const before = found[memberOf(pointer)]
    if (!before?.includes(detail)) found[memberOf(pointer)] = before ? `${before} ${detail}` : detail
  }
  return found
}

/**
 * The title of a screen, also of the browser's tab, with what can be done there. Above it stands what it is a part of, and
 * part names the part of it that is shown.
 */
export function Heading({ title, up, part, children }: { title: string; up?: ReactNode; part?: string | undefined; children?: ReactNode }) {
  useTitle(part, title)
  return (
    <header className="mb-5">
      {up && <p className="m-0 mb-1 text-[0.8125rem] text-soft [&_a]:text-soft [&_a]:no-underline [&_a]:hover:underline">{up}</p>}
      <div className="flex flex-wrap items-center gap-2">
        <h1 className="m-0 me-auto min-w-0 text-xl font-semibold tracking-tight break-words">{title}</h1>
        {children && <div className="flex min-w-0 flex-wrap items-center gap-2">{children}</div>}
      </div>
    </header>
  )
}

/** Says why something is not shown, and leads back to where it should be. */
export function Missing({ title, up, error }: { title: string; up: ReactNode; error: unknown }) {
  return <><Heading title={title} up={up} /><Problem error={error} /></>
}

/** What a list is about, with what can be done there. */
export function About({ children, actions }: { children: ReactNode; actions?: ReactNode }) {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-3">
      <p className="m-0 me-auto max-w-prose text-soft">{children}</p>
      {actions}
    </div>
  )
}

export function Card({ title, children, actions }: { title?: ReactNode; children: ReactNode; actions?: ReactNode }) {
  return (
    <section className="mb-4 rounded-lg border border-line bg-card p-4 shadow-xs sm:p-5">
      {(title || actions) && (
        <div className="mb-3 flex flex-wrap items-center gap-2">
          <h2 className="m-0 me-auto text-base font-semibold">{title}</h2>
          <div className="flex flex-wrap items-center gap-2">{actions}</div>
        </div>
      )}
      {children}
    </section>
  )
}

/** What a list says while it has nothing, and the way to have something. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <div className="mb-4 rounded-lg border border-dashed border-soft/50 bg-card px-6 py-12 text-center">
      <p className="m-0 font-medium">{title}</p>
      {children && <div className="mx-auto mt-1.5 max-w-prose text-soft">{children}</div>}
      {action && <div className="mt-4">{action}</div>}
    </div>
  )
}

/** Arrows from what is before to what is after, in the direction in which people read. */
export function Forth() {
  return <span aria-hidden="true" className="inline-block rtl:-scale-x-100">→</span>
}

export function Back() {
  return <span aria-hidden="true" className="inline-block rtl:-scale-x-100">←</span>
}

export function Loading() {
  return <p role="status" className="fade-in text-soft">{t.loading}</p>
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const units = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60]] as const

/** A time as people say it, with the exact one on hover. */
export function When({ at }: { at: string | null | undefined }) {
  if (!at) return <span className="text-soft">{t.never}</span>
  const seconds = (Date.parse(at) - Date.now()) / 1000
  const unit = units.find(([, size]) => Math.abs(seconds) >= size)
  const text = unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : seconds > 0 ? t.soon : t.justNow
  return <time dateTime={at} title={new Date(at).toLocaleString()}>{text}</time>
}

export function Copy({ text, label = t.copy }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <Button
      onClick={() => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false))}
      onBlur={() => setCopied(false)}
    >
      {copied ? <DoneIcon size={14} aria-hidden="true" /> : <CopyIcon size={14} aria-hidden="true" />}
      {copied ? t.copied : label}
    </Button>
  )
}

/** A secret that is shown once. */
export function Secret({ value, hint }: { value: string; hint: string }) {
  return (
    <div className="rounded-md border border-warn bg-warnbg p-3">
      <p className="m-0 mb-2 text-warn">{hint}</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 grow break-all rounded bg-card px-2 py-1">{value}</code>
        <Copy text={value} />
      </div>
    </div>
  )
}

/** After how many characters a piece of a long text ends with the line. */
const pieceLength = 4096

/**
 * A text as people have written it. A long one consists of pieces: the browser lays out those that are on the screen, and
 * React replaces those that change.
 */
export function LongText({ text }: { text: string }) {
  const pieces: string[] = []
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start + pieceLength)
    const next = end < 0 ? text.length : end + 1
    pieces.push(text.slice(start, next))
    start = next
  }
  const isLong = pieces.length > 1
  return pieces.map((piece, i) => (
    <div
      key={i} className={'break-words whitespace-pre-wrap' + (isLong ? ' [content-visibility:auto] [contain-intrinsic-block-size:auto_50lh]' : '')}
    >
      {piece}
    </div>
  ))
}
