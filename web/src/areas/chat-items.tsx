import { AtriumError, type ChatItem, type ChatTemplate, type RegistryItem } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { atrium, queries } from '../api'
import { useMutation } from '../app/mutation'
import { useWorkspace } from '../app/workspace'
import { words } from '../text/chats'
import { Pill, Problem } from '../ui/basics'
import { check, fresh, isObject, part, plain, same, type Schema, textOf, type Wrong } from '../ui/schema'
import { SchemaForm } from '../ui/schema-form'

/** What the server has refused, by the id of an item. */
export type Refused = Record<string, { item?: string; config: Wrong }>

/** Finds the items that an error is about, unless what was sent has been changed since. */
export function refusals(kind: string, error: unknown, sent: ChatItem[], now: ChatItem[]): Refused {
  const found: Refused = {}
  for (const e of AtriumError.is(error) ? error.errors : []) {
    const [, list, index, what, rest = ''] = /^\/(\w+)\/(\d+)(\/id|\/config)?(\/.*)?$/.exec(e.pointer) ?? []
    const item = list === kind ? sent[Number(index)] : undefined
    const current = now.find((x) => x.id === item?.id)
    if (!item || !current || (what === '/config' && !same(part(item.config, rest), part(current.config, rest)))) continue
    const of = found[item.id] ??= { config: {} }
    if (what === '/config') of.config[rest] ??= e.detail
    else of.item = e.detail
  }
  return found
}

/** The items of one kind that a chat can have, each with its configuration if the chat has it. */
export function Items({ title, offered, picked, onChange, disabled, configured, all, refused }: {
  title: string
  offered: RegistryItem[] | undefined
  picked: ChatItem[]
  onChange: (picked: ChatItem[]) => void
  disabled: boolean
  /** Whether items of the kind have a configuration. */
  configured: boolean
  all: boolean
  refused: Refused
}) {
  const gone = offered ? picked.filter((p) => !offered.some((item) => item.id === p.id)) : []
  if (!offered || offered.length + gone.length === 0) return null
  const pick = (id: string, on: boolean) => {
    const schema = offered.find((item) => item.id === id)?.config_schema as Schema | null | undefined
    const config = configured && schema ? fresh(schema, schema) as Record<string, unknown> : {}
    const item = { id, ...(isObject(config) && Object.keys(config).length > 0 && textOf(config) === undefined && { config }) }
    onChange(on ? [...picked, item] : picked.filter((p) => p.id !== id))
  }
  const named = (id: string) => offered.find((x) => x.id === id)?.name ?? id
  return (
    <fieldset className="m-0 mb-4 min-w-0 rounded-lg border border-line p-3" disabled={disabled}>
      <legend className="px-1 font-medium">{title}</legend>
      {offered.map((item) => {
        const mine = picked.find((p) => p.id === item.id)
        return (
          <div key={item.id} className="mb-2 last:mb-0">
            <label className="flex gap-2">
              <input
                type="checkbox" className="mt-1 self-start" checked={!!mine} disabled={item.status === 'disabled' && !mine}
                onChange={(e) => pick(item.id, e.target.checked)}
              />
              <span className="min-w-0">
                {item.name} {item.status !== 'available' && <Pill tone="warn">{item.status}</Pill>}
                {item.description && <span className="block text-xs text-soft">{item.description}</span>}
                {item.requires.length > 0 && <span className="block text-xs text-soft">{words.needs(item.requires.map(named).join(', '))}</span>}
              </span>
            </label>
            {refused[item.id]?.item && <p data-wrong tabIndex={-1} className="m-0 ms-6 text-xs text-bad">{refused[item.id]?.item}</p>}
            {mine && configured && !disabled && (
              <Configuration
                item={item} value={mine.config} all={all} errors={refused[item.id]?.config ?? {}}
                onChange={(config) => onChange(picked.map((p) => p.id !== item.id ? p
                  : config === undefined ? { id: p.id } : { ...p, config: config as Record<string, unknown> }))}
              />
            )}
          </div>
        )
      })}
      {gone.map((p) => (
        <label key={p.id} className="mb-1 flex gap-2">
          <input type="checkbox" aria-label={p.id} checked onChange={() => pick(p.id, false)} />
          <span className="min-w-0"><code>{p.id}</code> <Pill tone="bad">{words.gone}</Pill></span>
        </label>
      ))}
    </fieldset>
  )
}

/** What an item does in this chat. The API shows it to those who may change it. */
function Configuration({ item, value, onChange, all, errors }: {
  item: RegistryItem
  value: unknown
  onChange: (config: unknown) => void
  all: boolean
  errors: Wrong
}) {
  const schema = item.config_schema as Schema | null
  const broken = Object.keys(check(schema ?? {}, value ?? {}, schema ?? {})).length > 0
  const wrong = Object.keys(errors).length > 0 || (all && broken)
  const [open, setOpen] = useState(broken)
  useEffect(() => { if (wrong) setOpen(true) }, [wrong])
  const members = Object.entries((value ?? {}) as Record<string, unknown>)
  return (
    <details open={open || wrong} onToggle={(e) => setOpen(e.currentTarget.open)} className="ms-6 mt-1 min-w-0" data-item={item.id}>
      <summary className="text-xs break-words">
        {words.configuration}
        {!(open || wrong) && (
          <span className="text-soft">
            {': '}{members.length === 0 ? words.nothingSet : members.map(([name, v]) => `${name}: ${short(v)}`).join(' · ')}
          </span>
        )}
      </summary>
      <div className="mt-2 border-s-2 border-line ps-3">
        <SchemaForm
          schema={schema} label={words.configurationOf(item.name)} value={value} onChange={onChange} errors={errors} all={all}
        />
      </div>
    </details>
  )
}

const short = (value: unknown) => {
  const text = textOf(value) ?? plain(value)
  return text.length > 40 ? text.slice(0, 40) + '…' : text
}

/** The key of changes of a chat's workflows. */
export const attaching = (chat: string) => ['attaching', chat]

/** The workflows of a chat. Each is attached and detached at once. */
export function Workflows({ chat, mayEdit, onChanged }: { chat: ChatTemplate; mayEdit: boolean; onChanged: (chat: ChatTemplate) => void }) {
  const workspace = useWorkspace()
  const o = { workspace }
  const registry = useQuery({ queryKey: ['registry', workspace], queryFn: () => atrium.chatTemplates.getRegistry(o) })
  const set = useMutation({
    mutationKey: attaching(chat.id),
    mutationFn: async ({ id, on }: { id: string; on: boolean }) => {
      await (on ? atrium.chatTemplates.workflows.attach(chat.id, id, o) : atrium.chatTemplates.workflows.detach(chat.id, id, o))
      return atrium.chatTemplates.get(chat.id, o)
    },
    onSuccess: (now) => {
      onChanged(now)
      queries.setQueryData(['chat', chat.id], now)
    },
  })
  const all = registry.data?.workflows ?? []
  const gone = registry.data ? chat.workflows.filter((w) => !all.some((item) => item.id === w.workflow_id)) : []
  if (all.length + gone.length === 0) return null
  const attached = (id: string) => chat.workflows.some((w) => w.workflow_id === id)
  const box = (id: string, disabled: boolean) => (
    <input
      type="checkbox" className="mt-1 self-start" checked={attached(id)} disabled={disabled || !mayEdit || set.isPending}
      onChange={(e) => set.mutate({ id, on: e.target.checked })}
    />
  )
  return (
    <fieldset className="m-0 mt-6 min-w-0 rounded-lg border border-line p-3">
      <legend className="px-1 font-medium">{words.workflows}</legend>
      <p className="m-0 mb-2 text-xs text-soft">{words.workflowsAtOnce}</p>
      {all.map((item) => (
        <label key={item.id} className="mb-1 flex gap-2">
          {box(item.id, item.status === 'disabled' && !attached(item.id))}
          <span className="min-w-0">
            {item.name} {item.status !== 'available' && <Pill tone="warn">{item.status}</Pill>}
            {item.description && <span className="block text-xs text-soft">{item.description}</span>}
          </span>
        </label>
      ))}
      {gone.map((w) => (
        <label key={w.workflow_id} className="mb-1 flex gap-2">
          {box(w.workflow_id, false)}
          <span className="min-w-0"><code>{w.workflow_id}</code> <Pill tone="bad">{words.gone}</Pill></span>
        </label>
      ))}
      <Problem error={set.error} />
    </fieldset>
  )
}
