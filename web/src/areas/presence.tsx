import { AtriumError, type Presence as Data } from '@atrium-hq/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { atrium } from '../api'
import { useMutation } from '../app/mutation'
import { firstPage, useMe, useWorkspace } from '../app/workspace'
import { t } from '../text'
import { words } from '../text/presence'
import { Card, Empty, Heading, Pill, Problem, When } from '../ui/basics'
import { Form, Input, Select } from '../ui/form'

const tones = { online: 'ok', away: 'warn', busy: 'bad', offline: 'plain' } as Record<string, 'ok' | 'warn' | 'bad' | 'plain'>

/** The presences of the workspace, as they change. */
function usePresences() {
  const workspace = useWorkspace()
  const [people, setPeople] = useState<Map<string, Data>>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const stop = new AbortController()
    const follow = async () => {
      for await (const { name, data } of atrium.presence.stream({}, { workspace, signal: stop.signal })) {
        setPeople((before) => {
          const next = name === 'snapshot' ? new Map<string, Data>() : new Map(before)
          if (!data) return before
          for (const p of data.data ?? []) next.set(p.id, p)
          for (const id of data.gone ?? []) next.delete(id)
          return next
        })
      }
    }
    follow().catch((e: unknown) => { if (!stop.signal.aborted) setError(e) })
    return () => stop.abort()
  }, [workspace])
  return { people, error }
}

export function Presence() {
  const workspace = useWorkspace()
  const me = useMe()
  const { people, error } = usePresences()
  const members = useQuery({
    queryKey: ['members', workspace], queryFn: () => firstPage(atrium.workspaces.members.list(workspace, { limit: 100 })).then((p) => p.data),
  })
  const claim = useMutation({
    mutationFn: (v: Record<string, string>) => atrium.presence.heartbeat({
      device_id: 'console', status: v.status ?? 'online', text: v.text ?? '',
    }, { workspace }),
  })
  const shown = [...(people?.values() ?? [])]
  const name = (id: string) => {
    const m = members.data?.find((x) => x.user_id === id)
    return m ? m.name || m.email || id : id
  }
  return (
    <>
      <Heading title={t.presence} />
      {!AtriumError.is(error, 'unauthenticated') && <Problem error={error} />}
      {people && shown.length === 0 && <Empty title={words.nobodyIsHereNow}>{words.applicationsReportPeopleWith}</Empty>}
      <ul className="m-0 mb-6 grid list-none gap-3 p-0 sm:grid-cols-2 xl:grid-cols-3" aria-live="polite">
        {shown.map((p) => (
          <li key={p.id} className="rounded-lg border border-line bg-card p-3" data-presence={p.user_id}>
            <span className="font-medium break-words">{name(p.user_id)}</span> <Pill tone={tones[p.status] ?? 'plain'}>{p.status}</Pill>
            {p.user_id === me.data?.user.id && <> <Pill tone="mark">{words.you}</Pill></>}
            <p className="m-0 break-words">{p.emoji} {p.text}</p>
            <p className="m-0 text-xs text-soft">{t.active} <When at={p.last_active_at} /></p>
          </li>
        ))}
      </ul>
      <div className="max-w-lg">
        <Card title={words.sayThatYouAre}>
          <Form send={words.update} busy={claim.isPending} onSend={(v) => claim.mutate(v)}>
            <Select name="status" label={t.status} choices={['online', 'away', 'busy'].map((s) => ({ value: s, label: s }))} />
            <Input name="text" label={words.whatYouAreDoing} maxLength={100} />
            <Problem error={claim.error} />
          </Form>
        </Card>
      </div>
    </>
  )
}
