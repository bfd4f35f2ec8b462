import { useQuery } from '@tanstack/react-query'
import { useState, useSyncExternalStore } from 'react'
import { base, calls, type Made } from '../api'
import { t } from '../text'
import { Button, Copy } from '../ui/basics'
import { InlineSelect } from '../ui/form'
import { CodeIcon } from '../ui/icons'

type Language = 'curl' | 'typescript' | 'go' | 'python'
type Samples = Record<string, Record<Language | 'call', string>>

const languages: { value: Language; label: string }[] = [
  { value: 'curl', label: t.curl }, { value: 'typescript', label: t.typescript }, { value: 'go', label: t.go },
  { value: 'python', label: t.python },
]

/** What the page has just called, as an application would write it. */
export function Calls() {
  const made = useSyncExternalStore(calls.subscribe, calls.made)
  const [open, setOpen] = useState(false)
  const [language, setLanguage] = useState<Language>('curl')
  const samples = useQuery({
    queryKey: ['samples'], enabled: open, staleTime: Infinity,
    queryFn: async () => {
      const all = Object.values((await (await fetch(new URL('api/docs/samples.json', base))).json()) as Samples)
      return new Map(all.map((s) => [s.call, s]))
    },
  })
  return (
    <footer className="mt-12 border-t border-line pt-3">
      <Button tone="quiet" className="-ms-3 text-soft" aria-expanded={open} onClick={() => setOpen(!open)}>
        <CodeIcon size={15} aria-hidden="true" />{t.api}
      </Button>
      {open && (
        <div className="mt-2">
          <div className="mb-2 flex flex-wrap items-center gap-2">
            <p className="m-0 me-auto text-soft">{made.length ? t.apiAbout : t.apiNone}</p>
            <InlineSelect
              label={t.language} value={language} choices={languages}
              onChange={(e) => setLanguage(e.target.value as Language)}
            />
          </div>
          {made.map((call) => {
            const sample = samples.data?.get(call.name)
            const text = sample && filled(sample, call, language)
            return (
              <div key={call.name + call.path} className="mb-2 rounded-md border border-line bg-card px-3 py-2">
                <div className="flex items-center gap-2">
                  <code className="me-auto min-w-0 text-xs break-all"><b>{call.method}</b> {call.path} <span className="text-soft">{call.status || '–'}</span></code>
                  {text && <Copy text={text} />}
                </div>
                {text && <pre tabIndex={0} className="m-0 mt-1 overflow-x-auto text-xs">{text}</pre>}
              </div>
            )
          })}
        </div>
      )}
    </footer>
  )
}

/** A sample with the ids of a call in place of its placeholders. */
function filled(sample: Samples[string], call: Made, language: Language): string {
  const shown = /\$ATRIUM_URL([^"?]*)"/.exec(sample.curl)?.[1]?.split('/') ?? []
  const actual = call.path.split('/').slice(-shown.length)
  let text = sample[language]
  shown.forEach((part, i) => {
    const value = actual[i]
    if (value && /^([A-Z_]+|v2)$/.test(part) && value !== part) text = text.replaceAll(part, decodeURIComponent(value))
  })
  return text
}
