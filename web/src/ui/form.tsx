import { type ComponentProps, type FormEvent, type ReactNode, useId } from 'react'
import { t } from '../text'
import { Button } from './basics'
import { SearchIcon } from './icons'

const box = `block w-full rounded-md border border-edge bg-field px-2.5 py-1.5 text-ink shadow-xs aria-invalid:border-bad
  placeholder:text-soft disabled:bg-hover disabled:text-soft [&[readonly]]:bg-hover`

interface Named { label: ReactNode; hint?: ReactNode; error?: string | undefined }

/** What follows the label of a field or a group that must be filled in. */
export function Required() {
  return <span className="ms-1.5 text-xs font-normal text-soft">{t.required}</span>
}

function Labelled({ id, label, hint, error, required, children }: Named & { id: string; required: boolean; children: ReactNode }) {
  return (
    <div className="mb-3">
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
        {required && <span aria-hidden="true"><Required /></span>}{/* screen readers say so of the field */}
      </label>
      {children}
      {hint && <p id={id + 'hint'} className="m-0 mt-1 text-xs text-soft">{hint}</p>}
      {error && <p id={id + 'error'} className="m-0 mt-1 text-xs text-bad">{error}</p>}
    </div>
  )
}

/** Whether a field must be filled in: the browser checks that, or only the page and the server do. */
const isRequired = (rest: Pick<ComponentProps<'input'>, 'required' | 'aria-required'>) => !!rest.required || rest['aria-required'] === true

function about(id: string, { hint, error }: Named) {
  const ids = [hint && id + 'hint', error && id + 'error'].filter(Boolean).join(' ')
  return { id, 'aria-describedby': ids || undefined, 'aria-invalid': error ? true : undefined }
}

export function Input({ label, hint, error, ...rest }: Named & ComponentProps<'input'>) {
  const id = useId()
  return (
    <Labelled {...{ id, label, hint, error }} required={isRequired(rest)}>
      <input {...rest} {...about(id, { label, hint, error })} className={box} />
    </Labelled>
  )
}

export function TextArea({ label, hint, error, ...rest }: Named & ComponentProps<'textarea'>) {
  const id = useId()
  return (
    <Labelled {...{ id, label, hint, error }} required={isRequired(rest)}>
      <textarea rows={4} {...rest} {...about(id, { label, hint, error })} className={box} />
    </Labelled>
  )
}

export interface Choice { value: string; label: string }

/** A native select: it works with every keyboard, screen reader and phone. */
export function Select({ label, hint, error, choices, ...rest }: Named & ComponentProps<'select'> & { choices: Choice[] }) {
  const id = useId()
  const open = choices.some((c) => c.value === '') // otherwise it always has a value
  return (
    <Labelled {...{ id, label, hint, error }} required={open && isRequired(rest)}>
      <select {...rest} {...about(id, { label, hint, error })} className={box}>
        {choices.map((c) => <option key={c.value} value={c.value}>{c.label}</option>)}
      </select>
    </Labelled>
  )
}

/** A select within a line, whose label only screen readers need. */
export function InlineSelect({ label, choices, ...rest }: { label: string; choices: Choice[] } & ComponentProps<'select'>) {
  return (
    <select
      aria-label={label} {...rest}
      className="max-w-full cursor-pointer rounded-md border border-line bg-card px-2 py-1.5 text-sm text-ink shadow-xs hover:bg-hover"
    >
      {choices.map((c) => <option key={c.value} value={c.value}>{c.label}</option>)}
    </select>
  )
}

/** A field that searches a list while people type. */
export function SearchBox({ value, onChange }: { value: string; onChange: (typed: string) => void }) {
  return (
    <div className="relative max-sm:w-full">
      <SearchIcon size={15} aria-hidden="true" className="pointer-events-none absolute top-1/2 start-2.5 -translate-y-1/2 text-soft" />
      <input
        type="search" aria-label={t.search} placeholder={t.search} value={value} maxLength={100}
        onChange={(e) => onChange(e.target.value)}
        className="w-full rounded-md border border-line bg-card py-1.5 pe-2.5 ps-8 text-ink shadow-xs placeholder:text-soft sm:w-56"
      />
    </div>
  )
}

/** A form whose values are read when it is sent. */
export function Form({ onSend, children, send, busy, more, saves }: {
  onSend: (values: Record<string, string>) => void
  children: ReactNode
  send: string
  busy?: boolean
  more?: ReactNode
  /** Whether it saves what the page is about, as the key for that does. */
  saves?: boolean
}) {
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault()
    const values: Record<string, string> = {}
    for (const [name, value] of new FormData(e.currentTarget)) if (typeof value === 'string') values[name] = value
    onSend(values)
  }
  return (
    <form onSubmit={submit} data-saves={saves || undefined}>
      {children}
      <div className="mt-4 flex flex-wrap gap-2">
        <Button type="submit" tone="act" disabled={busy}>{send}</Button>
        {more}
      </div>
    </form>
  )
}
