import type { PersonAccess, HeldRole, WorkspaceAccess } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { t } from '../text'
import { words } from '../text/people'
import { Button, Loading, Pill, Problem, When } from '../ui/basics'
import { Dialog } from '../ui/overlays'
import { browserOf } from './browser'

type Shown = Pick<PersonAccess, 'workspaces' | 'truncated'> & Partial<PersonAccess>

/** A button that shows every power of a person. */
export function Access({ label, name, id, load }: { label: string; name: string; id: string; load: () => PromiseLike<Shown> }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button tone="quiet" onClick={() => setOpen(true)}>{label}</Button>
      {open && <Dialog open wide onClose={() => setOpen(false)} title={words.accessOf(name)}><Powers id={id} load={load} /></Dialog>}
    </>
  )
}

function Powers({ id, load }: { id: string; load: () => PromiseLike<Shown> }) {
  const access = useQuery({ queryKey: ['access', id], queryFn: async () => load() })
  const a = access.data
  return (
    <>
      <Problem error={access.error} />
      {access.isPending && <Loading />}
      {a?.truncated && <p className="text-soft">{words.truncated}</p>}
      {a?.operator && <p><Pill tone="mark">{words.operator}</Pill> {a.operator_sources?.map(sourceText).join(', ')}</p>}
      {a?.workspaces.map((w) => <OneWorkspace key={w.workspace_id} access={w} />)}
      {a && a.workspaces.length === 0 && <p>{words.noWorkspace}</p>}
      <Items title={words.sessions} items={a?.sessions} item={(s) => <><span title={s.user_agent}>{browserOf(s.user_agent)}</span> <Pill>{s.source}</Pill> <When at={s.last_seen_at} /></>} />
      <Items title={words.passkeys} items={a?.passkeys} item={(k) => <>{k.host} <When at={k.created_at} /></>} />
    </>
  )
}

function OneWorkspace({ access: w }: { access: WorkspaceAccess }) {
  return (
    <section className="mb-4">
      <h3 className="mb-1 text-sm font-semibold">{w.name || w.slug} <Pill>{w.role}</Pill></h3>
      <p className="m-0 text-xs text-soft">{w.sources.map(sourceText).join(', ')}</p>
      <Items title={t.apiKeys} items={w.api_keys} item={(k) => <>{k.name} <Pill>{k.kind}</Pill> {k.role_ceiling} …{k.hint}</>} />
      <Items title={words.webhooks} items={w.webhooks} item={(h) => h.name} />
      <Items title={words.replyEndpoints} items={w.reply_endpoints} item={(c) => c.name} />
      <Items title={words.shares} items={w.shares} item={(s) => <>{s.name} <Pill>{s.role}</Pill></>} />
    </section>
  )
}

function Items<T extends { id: string }>({ title, items, item }: { title: string; items: readonly T[] | undefined; item: (one: T) => ReactNode }) {
  if (!items?.length) return null
  return (
    <>
      <h4 className="mt-2 mb-0 text-xs font-medium">{title}</h4>
      <ul className="m-0 ps-5">{items.map((one, i) => <li key={one.id + String(i)} className="mt-1 break-words">{item(one)}</li>)}</ul>
    </>
  )
}

/** Where a role comes from, in words. */
export function sourceText(s: HeldRole): string {
  const names: Record<string, string> = {
    direct: words.direct, group: words.group(s.name ?? s.group_id ?? ''), claim: words.claim(s.issuer ?? ''), directory: words.directory,
  }
  const from = names[s.kind] ?? s.kind
  return s.role ? `${s.role}: ${from}` : from
}
